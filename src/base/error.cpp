// Errors: capturing frames, showing them.
#include "lockstep/base/error.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <set>

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
    case Category::interrupted: return "interrupted";
  }
  return "unknown";
}

Category errno_category(int code) {
  const bool callers = code == ENOENT || code == EACCES || code == ENOTDIR || code == EISDIR || code == EPERM ||
                       code == EEXIST || code == ENOTEMPTY || code == ELOOP || code == ENAMETOOLONG;
  return callers ? Category::data : Category::resource;
}

std::string Frame::text() const { return render_ != nullptr ? render_(context_) : std::string(what_); }

namespace {

// The compiler may have been told a path relative to the build folder; what counts is the path in the checkout.
Site in_checkout(Site site) {
  while (std::string_view(site.file).starts_with("../")) site.file += 3;
  return site;
}

}  // namespace

void note_error_site(const Site& where) {
  static const char* const path = std::getenv("LOCKSTEP_ERROR_LOG");
  if (path == nullptr || *path == '\0') return;
  const Site site = in_checkout(where);
  static std::mutex mutex;
  static std::set<std::string> seen;
  std::string entry = fmt::format("{}:{}\n", site.file, site.line);
  const std::lock_guard lock(mutex);
  if (!seen.insert(entry).second) return;
  // Processes share the file: one write each is whole. A log that cannot be written must not hide the error itself.
  const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  if (::write(file, entry.data(), entry.size()) < 0) seen.erase(entry);
  ::close(file);
}

Error::Error(Category category_, std::string message_, Site site_)
    : category(category_), message(std::move(message_)), site(in_checkout(site_)) {
  note_error_site(site);
  for (const Frame* frame = Frame::top(); frame != nullptr; frame = frame->below()) frames.push_back(frame->text());
}

std::string text(const Error& error) {
  std::string out = error.message;
  for (const std::string& frame : error.frames) out += "\n  " + frame;
  return out;
}

void fail(Category category, std::string message, Site site) { throw Error(category, std::move(message), site); }

}  // namespace lockstep
