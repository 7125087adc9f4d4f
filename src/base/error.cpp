// Errors: capturing frames, showing them.
#include "lockstep/base/error.h"

namespace lockstep {

constinit thread_local const Frame* Frame::top_ = nullptr;

std::string_view text(Category category) {
  switch (category) {
    case Category::internal: return "internal";
    case Category::usage: return "usage";
    case Category::data: return "data";
    case Category::numeric: return "numeric";
    case Category::resource: return "resource";
    case Category::mismatch: return "mismatch";
  }
  return "unknown";
}

std::string Frame::text() const { return render_ != nullptr ? render_(context_) : std::string(what_); }

Error::Error(Category category_, std::string message_) : category(category_), message(std::move(message_)) {
  for (const Frame* frame = Frame::top(); frame != nullptr; frame = frame->below()) frames.push_back(frame->text());
}

std::string text(const Error& error) {
  std::string out = error.message;
  for (const std::string& frame : error.frames) out += "\n  " + frame;
  return out;
}

void fail(Category category, std::string message) { throw Error(category, std::move(message)); }

}  // namespace lockstep
