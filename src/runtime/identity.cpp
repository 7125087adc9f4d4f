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
    for (const double v : t.to_doubles()) list.push(bits_text(v));
    out.set(full(name), std::move(list));
  }
  void integer(std::string_view name, std::int64_t& v) override { out.set(full(name), v); }
  void real(std::string_view name, double& v) override { out.set(full(name), bits_text(v)); }
  void string(std::string_view name, std::string& v) override { out.set(full(name), v); }
  void integers(std::string_view name, std::vector<std::int64_t>& v) override {
    Json list = Json::array();
    for (const auto x : v) list.push(x);
    out.set(full(name), std::move(list));
  }
  void reals(std::string_view name, std::vector<double>& v) override {
    Json list = Json::array();
    for (const double x : v) list.push(bits_text(x));
    out.set(full(name), std::move(list));
  }
  [[nodiscard]] bool loading() const override { return false; }
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

Json base_identity(Experiment& e, const Json& parent) {
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
  out.set("parent", parent);
  return out;
}

Json parent_identity(const Digest& identity, std::int64_t step) {
  return Json::object().set("identity", hex(identity)).set("step", step);
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

std::vector<IdentityDifference> run_differences(Experiment& e, const Json& record) {
  const Json& recorded = record.at("identity");
  std::vector<IdentityDifference> d = compare_identities(recorded, base_identity(e, recorded.at("parent")));
  const Json now = data_manifests(e);
  for (const auto& [split, manifest] : record.at("data").members()) {
    const Json* other = now.find(split);
    if (other == nullptr) continue;   // already a difference of the config
    for (auto& x : compare_identities(manifest.at("files"), other->at("files"))) d.push_back({"data." + split + ".files." + x.path, x.a, x.b});
  }
  return d;
}

std::string text(const std::vector<IdentityDifference>& d) {
  std::string out;
  for (const auto& x : d) out += fmt::format("\n  {}: {} there, {} now", x.path, x.a, x.b);
  return out;
}

void require_identity(const Json& base, const Json& digests, const Digest& expected, std::string_view run) {
  const std::string digits = identity_digest(full_identity(base, digests));
  if (digits == hex(expected)) return;
  failf(Category::data, "run {}: the data files are no longer those that the run began with (with them the identity is {}, and the checkpoint says {}; the config is the same). Put the old files back, or start a new run with --new",
        run, digits.substr(0, 12), hex(expected).substr(0, 12));
}

}  // namespace lockstep
