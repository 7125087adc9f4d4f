// Saving, loading and collecting state.
#include "lockstep/state/save_load.h"

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"

namespace lockstep {
namespace {

double bits_value(const std::string& digits) {
  const auto value = parse_bits(digits);
  if (!value) failf(Category::data, "{} is not 16 hexadecimal digits", quote(digits));
  return *value;
}

// Up to eight names, then a count.
std::string some(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) out += "\n    " + names[i];
  if (names.size() > kMost) out += fmt::format("\n    and {} more", names.size() - kMost);
  return out;
}

}  // namespace

std::string_view text(StateKind k) {
  constexpr std::array<std::string_view, 3> kWords = {"parameter", "buffer", "slot"};
  return kWords[static_cast<std::size_t>(k)];
}

std::vector<TensorEntry> state_dict(const Checkpoint& c) {
  const std::string section = std::string(kModelSection) + ".";
  std::vector<TensorEntry> out;
  for (const CheckpointTensor& t : c.tensors) {
    if (t.kind != text(StateKind::slot) && t.name.starts_with(section)) out.push_back({t.name.substr(section.size()), t.tensor});
  }
  return out;
}

const std::string& StateSaver::once(std::string name) {
  const auto [at, fresh] = names_.insert(std::move(name));
  if (!fresh) failf(Category::internal, "two items of the state are called {}", quote(*at));
  return *at;
}
void StateSaver::add(std::string_view name, std::string_view type, Json value) {
  const std::string& key = once(full(name));
  Json pair = Json::array();
  pair.push(type).push(std::move(value));
  out_.scalars.set(key, std::move(pair));
}
void StateSaver::tensor(std::string_view name, Tensor& t, StateKind kind) {
  out_.tensors.push_back({once(full(name)), std::string(text(kind)), t});
}
void StateSaver::integer(std::string_view name, std::int64_t& v) { add(name, "integer", v); }
void StateSaver::real(std::string_view name, double& v) { add(name, "real", bits_text(v)); }
void StateSaver::string(std::string_view name, std::string& v) { add(name, "string", v); }
void StateSaver::integers(std::string_view name, std::vector<std::int64_t>& v) {
  add(name, "integers", Json::Array(v.begin(), v.end()));
}
void StateSaver::reals(std::string_view name, std::vector<double>& v) {
  Json::Array items;
  for (const double x : v) items.emplace_back(bits_text(x));
  add(name, "reals", std::move(items));
}

StateLoader::StateLoader(const Checkpoint& from, std::string where) : where_(std::move(where)) {
  for (const CheckpointTensor& t : from.tensors) saved_[t.name].tensor = &t;
  for (const auto& [name, value] : from.scalars.members()) saved_[name].scalar = &value;
}

StateLoader::Saved* StateLoader::find(std::string_view name) {
  const std::string key = full(name);
  const auto at = saved_.find(key);
  if (at == saved_.end()) {
    missing_.push_back(key);
    return nullptr;
  }
  at->second.used = true;
  return &at->second;
}

void StateLoader::tensor(std::string_view name, Tensor& t, StateKind kind) {
  const Saved* s = find(name);
  if (s == nullptr) return;
  if (s->tensor == nullptr) {
    mismatched_.push_back(fmt::format("{}: a tensor here, a number or text in the checkpoint", full(name)));
    return;
  }
  const Tensor& saved = s->tensor->tensor;
  if (saved.shape() != t.shape() || saved.dtype() != t.dtype() || s->tensor->kind != text(kind)) {
    mismatched_.push_back(fmt::format("{}: {} {} {} here, {} {} {} in the checkpoint", full(name), text(kind),
                                      text(t.dtype()), text(t.shape()), s->tensor->kind, text(saved.dtype()),
                                      text(saved.shape())));
    return;
  }
  if (saved.contiguous()) {
    assign_bytes(t, {static_cast<const std::byte*>(saved.raw()), tensor_bytes(saved)});
  } else {
    const std::string bytes = bytes_of(saved);
    assign_bytes(t, std::as_bytes(std::span(bytes)));
  }
  ++loaded_;
}

template <class Read>
void StateLoader::scalar(std::string_view name, std::string_view type, Read&& read) {
  const Saved* s = find(name);
  if (s == nullptr) return;
  const bool fits = s->scalar != nullptr && s->scalar->size() == 2 && s->scalar->items()[0] == Json(type);
  if (!fits) {
    mismatched_.push_back(fmt::format("{}: of type {} here, {} in the checkpoint", full(name), type,
                                      s->scalar != nullptr ? s->scalar->dump() : "a tensor"));
    return;
  }
  read(s->scalar->items()[1]);
  ++loaded_;
}
void StateLoader::integer(std::string_view name, std::int64_t& v) {
  scalar(name, "integer", [&](const Json& j) { v = j.integer(); });
}
void StateLoader::real(std::string_view name, double& v) {
  scalar(name, "real", [&](const Json& j) { v = bits_value(j.string()); });
}
void StateLoader::string(std::string_view name, std::string& v) {
  scalar(name, "string", [&](const Json& j) { v = j.string(); });
}
void StateLoader::integers(std::string_view name, std::vector<std::int64_t>& v) {
  scalar(name, "integers", [&](const Json& j) {
    v.clear();
    for (const Json& x : j.items()) v.push_back(x.integer());
  });
}
void StateLoader::reals(std::string_view name, std::vector<double>& v) {
  scalar(name, "reals", [&](const Json& j) {
    v.clear();
    for (const Json& x : j.items()) v.push_back(bits_value(x.string()));
  });
}

std::vector<std::string> StateLoader::unexpected() const {
  std::vector<std::string> names;
  for (const auto& [name, s] : saved_) {
    if (!s.used) names.push_back(name);
  }
  return names;
}

void StateLoader::finish() const {
  const std::vector<std::string> extra = unexpected();
  if (missing_.empty() && mismatched_.empty() && extra.empty()) return;
  std::string message = fmt::format("{} does not fit this configuration: {} items loaded, {} missing, {} unexpected, "
                                    "{} mismatched",
                                    where_, loaded_, missing_.size(), extra.size(), mismatched_.size());
  if (!missing_.empty()) message += "\n  missing (needed here, not in the checkpoint):" + some(missing_);
  if (!extra.empty()) message += "\n  unexpected (in the checkpoint, not needed here):" + some(extra);
  if (!mismatched_.empty()) message += "\n  mismatched:" + some(mismatched_);
  fail(Category::usage, message + "\n  Every name, shape and type must agree: use the configuration of the run that "
                                  "wrote the checkpoint");
}

void StateCollector::tensor(std::string_view name, Tensor& t, StateKind kind) {
  const auto bytes = static_cast<std::int64_t>(tensor_bytes(t));
  switch (kind) {
    case StateKind::parameter:
      parameters.push_back({full(name), t});
      parameter_count += t.numel();
      parameter_bytes += bytes;
      break;
    case StateKind::buffer:
      buffers.push_back({full(name), t});
      buffer_bytes += bytes;
      break;
    case StateKind::slot:
      slots.push_back({full(name), t});
      slot_bytes += bytes;
      break;
  }
}

std::vector<TensorEntry> StateCollector::state_dict() const {
  std::vector<TensorEntry> all = parameters;
  all.insert(all.end(), buffers.begin(), buffers.end());
  std::ranges::sort(all, {}, &TensorEntry::name);
  return all;
}

}  // namespace lockstep
