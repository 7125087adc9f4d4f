// Identity as JSON: built from the experiment, hashed, compared.
#include "lockstep/runtime/identity.h"

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/component/canonical.h"

namespace lockstep {
namespace {

/// Writes state as JSON: the fitted statistics of transforms, doubles by their bits.
class JsonState final : public StateVisitor {
 public:
  Json out = Json::object();
  void tensor(std::string_view name, Tensor& t, StateKind) override {
    Json list = Json::array();
    for (const double v : t.to_doubles()) list.push(bits(v));
    out.set(full(name), std::move(list));
  }
  void integer(std::string_view name, std::int64_t& v) override { out.set(full(name), v); }
  void real(std::string_view name, double& v) override { out.set(full(name), bits(v)); }
  void string(std::string_view name, std::string& v) override { out.set(full(name), v); }
  void integers(std::string_view name, std::vector<std::int64_t>& v) override {
    Json list = Json::array();
    for (const auto x : v) list.push(x);
    out.set(full(name), std::move(list));
  }
  void reals(std::string_view name, std::vector<double>& v) override {
    Json list = Json::array();
    for (const double x : v) list.push(bits(x));
    out.set(full(name), std::move(list));
  }
  [[nodiscard]] bool loading() const override { return false; }

 private:
  static std::string bits(double v) { return hex(std::bit_cast<std::uint64_t>(v)); }
};

Json class_map(const SampleSpec& spec) {
  Json out = Json::object();
  for (const auto& f : spec.fields) {
    if (f.role != FieldRole::target || f.num_classes == 0) continue;
    Json names = Json::array();
    for (const auto& n : f.class_names) names.push(n);
    out.set(f.name, Json::object().set("num_classes", f.num_classes).set("names", std::move(names)));
  }
  return out;
}

Json sorted(const Json& v) {
  if (v.is_array()) {
    Json out = Json::array();
    for (const auto& i : v.items()) out.push(sorted(i));
    return out;
  }
  if (!v.is_object()) return v;
  auto members = v.members();
  std::ranges::sort(members, {}, [](const auto& m) { return m.first; });
  Json out = Json::object();
  for (const auto& [key, value] : members) out.set(key, sorted(value));
  return out;
}

template <class F>
void each_split(const Experiment& e, F&& f) {
  f(e.train);
  for (const auto& s : e.evals) f(s);
}

}  // namespace

Json base_identity(Experiment& e, const std::optional<ParentRef>& parent) {
  JsonState fitted;
  const auto visit = [&](Split& s) {
    for (std::size_t i = 0; i < s.transforms.size(); ++i) {
      const StateVisitor::Section section(fitted, s.id + "." + text(i));
      s.transforms[i]->state(fitted);
    }
  };
  visit(e.train);
  for (auto& s : e.evals) visit(s);
  Json out = Json::object();
  out.set("numeric_spec", kNumericSpec).set("config", identity(e.config)).set("classes", class_map(e.train.spec)).set("fitted", fitted.out);
  out.set("parent", parent ? Json::object().set("run", parent->run).set("step", parent->step).set("hash", parent->hash) : Json());
  return out;
}

Json full_identity(Json base, const Json& digests) {
  base.set("data", digests);
  return base;
}

std::string identity_digest(const Json& identity) { return hex(sha256(sorted(identity).dump())); }

Json data_manifests(const Experiment& e) {
  Json out = Json::object();
  each_split(e, [&](const Split& s) {
    const Manifest m = s.dataset->manifest();
    Json files = Json::array();
    for (const auto& f : m.files) files.push(Json::object().set("path", f.path).set("size", f.size));
    out.set(s.id, Json::object().set("root", m.root.string()).set("files", std::move(files)).set("generated", m.generated));
  });
  return out;
}

std::unique_ptr<ManifestHasher> hash_data(const Experiment& e, std::string cache) {
  std::map<std::string, Manifest> splits;
  each_split(e, [&](const Split& s) { splits.emplace(s.id, s.dataset->manifest()); });
  return std::make_unique<ManifestHasher>(std::move(splits), std::move(cache));
}

Json data_digests(ManifestHasher& hasher) {
  Json out = Json::object();
  for (const auto& [split, digest] : hasher.digests()) out.set(split, hex(digest));
  return out;
}

namespace {

void compare(const Json& a, const Json& b, const std::string& path, std::vector<IdentityDifference>& out) {
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.members()) {
      const Json* other = b.find(key);
      const std::string at = path.empty() ? key : path + "." + key;
      if (other != nullptr) compare(value, *other, at, out);
      else out.push_back({at, value.dump(), "absent"});
    }
    for (const auto& [key, value] : b.members())
      if (a.find(key) == nullptr) out.push_back({path.empty() ? key : path + "." + key, "absent", value.dump()});
    return;
  }
  if (a.is_array() && b.is_array() && a.size() == b.size()) {
    for (std::size_t i = 0; i < a.size(); ++i) compare(a.items()[i], b.items()[i], path + "." + text(i), out);
    return;
  }
  if (!(a == b)) out.push_back({path, a.dump(), b.dump()});
}

}  // namespace

std::vector<IdentityDifference> compare_identities(const Json& a, const Json& b) {
  std::vector<IdentityDifference> out;
  compare(a, b, "", out);
  return out;
}

}  // namespace lockstep
