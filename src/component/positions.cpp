// Merge rules of a root struct: walks types along a path to see what stands there.
#include <algorithm>

#include "component/choose.h"
#include "lockstep/component/read.h"

namespace lockstep {
namespace {

/// A place in the schema, and the tree's node there (null when nothing is written).
struct At {
  const Type* type = nullptr;
  const Node* node = nullptr;
  bool item = false;                   // an item of a list
  const ManifestRow* inside = nullptr; // within `{linear: {...}}`: the component whose keys these are
};

const Node* child(const Node* n, const std::string& key) {
  if (n == nullptr) return nullptr;
  if (n->is_map()) return n->find(key);
  if (!n->is_list() || key.empty() || key.find_first_not_of("0123456789") != std::string::npos) return nullptr;
  const std::size_t i = std::stoul(key);
  return i < n->items.size() ? &n->items[i] : nullptr;
}

class Positions final : public MergeRules {
 public:
  Positions(const Type& root, const Registry& registry) : root_(root), registry_(registry) {}

  [[nodiscard]] bool component_at(const Node& root, Path path) const override { return kind_at(root, path) != nullptr; }

  [[nodiscard]] bool stays(const Node& root, Path path, std::string_view key) const override {
    if (is_reserved_key(key)) return true;
    const KindInfo* kind = kind_at(root, path);
    if (kind == nullptr || kind->common == nullptr) return false;
    const auto fields = kind->common->fields();
    return std::ranges::find(fields, key, &Field::name) != fields.end();
  }

  [[nodiscard]] std::string chosen(const Node& root, Path path, const Node& map, std::string_view under) const override {
    const KindInfo* kind = kind_at(root, path);
    if (kind == nullptr) return {};
    const ManifestRow* base = under.empty() ? nullptr : registry_.find(kind->kind, under);
    for (const Mark& mark : kind->marks) {
      if (map.find(mark.key) == nullptr) continue;
      // A key that the component below has itself is that key, not a mark.
      const bool own = base != nullptr && std::ranges::find(base->def->fields, mark.key, &Field::name) != base->def->fields.end();
      return own ? std::string() : std::string(mark.component);
    }
    return {};
  }

 private:
  [[nodiscard]] const KindInfo* kind_at(const Node& root, Path path) const {
    if (path.empty()) return nullptr;
    At at{.type = &root_, .node = &root};
    for (const std::string& key : path) {
      at = step(at, key);
      if (at.type == nullptr) return nullptr;
    }
    const Type* t = bare(at.type, at.node);
    if (t == nullptr || at.inside != nullptr) return nullptr;
    if (t->form == Form::component) return &t->kind();
    if (t->form == Form::one_or_many && at.node != nullptr && (at.node->is_scalar() || at.node->find("name") != nullptr)) {
      return &t->kind();
    }
    return nullptr;
  }

  /// Without optionals; of a variant the alternative that has the node's shape.
  static const Type* bare(const Type* t, const Node* n) {
    while (t->form == Form::optional) t = t->element;
    if (t->form != Form::variant) return t;
    for (const Type* a : t->alternatives) {
      const bool list = a->form == Form::list;
      const bool map = a->form == Form::group || a->form == Form::dict || a->form == Form::component;
      if (n != nullptr && ((list && n->is_list()) || (map && n->is_map()))) return a;
    }
    return nullptr;
  }

  static At field(std::span<const Field> fields, const std::string& key, const Node* node) {
    for (const Field& f : fields) {
      if (f.name == key) return {.type = f.type, .node = node};
      if (!f.one.empty() && f.one == key) return {.type = f.type->element, .node = node};
    }
    return {};
  }

  [[nodiscard]] At keys_of(const ManifestRow& row, const std::string& key, const Node* node) const {
    At at = field(row.def->fields, key, node);
    if (at.type == nullptr && row.def->kind->common != nullptr) at = field(row.def->kind->common->fields(), key, node);
    return at;
  }

  [[nodiscard]] At step(const At& at, const std::string& key) const {
    const Node* next = child(at.node, key);
    if (at.inside != nullptr) return keys_of(*at.inside, key, next);
    const Type* t = bare(at.type, at.node);
    if (t == nullptr) return {};
    switch (t->form) {
      case Form::group: return field(t->fields(), key, next);
      case Form::list: return {.type = t->element, .node = next, .item = true};
      case Form::dict: return {.type = t->element, .node = next};
      case Form::components: return {.type = t->element, .node = next, .item = at.node != nullptr && at.node->is_list()};
      case Form::one_or_many:
        if (at.node != nullptr && at.node->find("name") != nullptr) return component_key(t->kind(), at, key, next);
        return {.type = t->element, .node = next};
      case Form::component: return component_key(t->kind(), at, key, next);
      default: return {};
    }
  }

  [[nodiscard]] At component_key(const KindInfo& kind, const At& at, const std::string& key, const Node* next) const {
    if (at.node == nullptr) return {};
    const Chosen c = choose(kind, *at.node, at.item ? Place::item : Place::single);
    const ManifestRow* row = c.name.empty() ? nullptr : registry_.find(kind.kind, c.name);
    if (row == nullptr) return {};
    if (c.outer != nullptr && c.body != c.outer) {
      if (key != c.name) return {};
      return {.type = at.type, .node = next, .item = at.item, .inside = row};
    }
    return keys_of(*row, key, next);
  }

  const Type& root_;
  const Registry& registry_;
};

}  // namespace

std::unique_ptr<MergeRules> position_rules(const Type& root, const Registry& registry) {
  return std::make_unique<Positions>(root, registry);
}

}  // namespace lockstep
