// Canonical form, identity, and differences of configs.
#include "lockstep/component/canonical.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/core.h>

#include "component/fields.h"
#include "component/number.h"

namespace lockstep {
namespace {

/// What a field's role is in one config: its rule makes it bits, else it is no stronger than what holds it.
Role role_of(const Field& f, Role holder, const void* root) {
  if (f.becomes_bits != nullptr && root != nullptr && f.becomes_bits(root)) return Role::bits;
  return holder == Role::bits ? f.role : holder;
}

bool acts(std::span<const Field> fields, const Field& f, const void* value) {
  if (f.only_field.empty()) return true;
  const auto other = std::ranges::find(fields, f.only_field, &Field::name);
  return other == fields.end() || value_text(*other->type, member_of(*other, value)) == f.only_value;
}

std::string_view choice_name(const Type& type, std::int64_t value) {
  const auto it = std::ranges::find(type.choices, value, &Choice::value);
  return it == type.choices.end() ? std::string_view("?") : it->name;
}

Node text_node(const std::string& text) { return Node::make_scalar(text, reads_as_other(text) || !plain_writable(text)); }

/// Builds trees; what differs between the canonical form, identity and leaves is decided by three switches.
class Printer {
 public:
  const void* root = nullptr;    // set: roles are resolved
  bool only_bits = false;
  bool versions = false;
  std::vector<Leaf>* leaves = nullptr;

  Node value(const Type& type, const void* v, Role role) {
    switch (type.form) {
      case Form::number: return leaf(Node::make_scalar(fmt::format("{}", *static_cast<const double*>(v))), role);
      case Form::integer: return leaf(Node::make_scalar(fmt::format("{}", *static_cast<const std::int64_t*>(v))), role);
      case Form::boolean: return leaf(Node::make_scalar(*static_cast<const bool*>(v) ? "true" : "false"), role);
      case Form::text: return leaf(text_node(*static_cast<const std::string*>(v)), role);
      case Form::path: return leaf(text_node(static_cast<const std::filesystem::path*>(v)->string()), role);
      case Form::choice: return leaf(text_node(std::string(choice_name(type, type.get(v)))), role);
      case Form::optional: return type.size(v) == 0 ? leaf(Node::make_null(), role) : value(*type.element, type.at(v, 0), role);
      case Form::variant: return value(*type.alternatives[static_cast<std::size_t>(type.get(v))], type.at(v, 0), role);
      case Form::group: return group(type.fields(), v, role, Node::make_map());
      case Form::component: return component(*static_cast<const AnyRef*>(type.at(v, 0)), false, role);
      case Form::list: return list(type, v, role);
      case Form::components: return list(type, v, role);
      case Form::dict: return dict(type, v, role);
      case Form::one_or_many: return one_or_many(type, v, role);
    }
    return {};
  }

 private:
  Node leaf(Node n, Role role) {
    if (leaves != nullptr) leaves->push_back({path_, n.is_scalar() ? n.scalar : one_line(n, 1000), role});
    return n;
  }
  /// Adds `key` with what `make` returns, below the path of the key.
  template <class Make>
  void put(Node& map, std::string_view key, const Make& make) {
    const std::string path = std::exchange(path_, key_path(path_, key));
    map.set(std::string(key), make());
    path_ = path;
  }

  Node group(std::span<const Field> fields, const void* v, Role holder, Node map) {
    for (const Field& f : fields) {
      if (!acts(fields, f, v)) continue;
      const Role role = role_of(f, holder, root);
      const void* member = member_of(f, v);
      const Type& held = f.type->form == Form::optional ? *f.type->element : *f.type;
      const bool holds_others = held.form == Form::group;  // a rule may make one of its keys bits
      if (only_bits && role != Role::bits && !holds_others) continue;
      if (!f.one.empty() && is_one(*f.type, member)) {
        const auto* ref = static_cast<const AnyRef*>(f.type->element->at(f.type->at(member, 0), 0));
        put(map, f.one, [&] { return component(*ref, true, role); });
        continue;
      }
      put(map, f.name, [&] { return value(*f.type, member, role); });
      // A group without bits inside leaves no trace in the identity, nor does an absent one.
      const bool absent = map.items.back().is_null() && role != Role::bits;
      if (only_bits && holds_others && (absent || (map.items.back().is_map() && map.items.back().items.empty()))) {
        map.erase(f.name);
      }
    }
    return map;
  }
  static bool is_one(const Type& type, const void* v) {
    return type.size(v) == 1 && static_cast<const AnyRef*>(type.element->at(type.at(v, 0), 0))->id == "main";
  }
  Node component(const AnyRef& ref, bool with_coef, Role role) {
    if (ref.def == nullptr) return leaf(Node::make_null(), role);
    Node map = Node::make_map();
    put(map, "name", [&] {
      return leaf(text_node(versions ? fmt::format("{}@{}", ref.name, ref.def->version) : std::string(ref.name)), role);
    });
    const bool written_id = !ref.id.empty() && ref.id != "main" && !(ref.id[0] >= '0' && ref.id[0] <= '9');
    if (in_list_ && (written_id || ref.id == "main")) put(map, "id", [&] { return leaf(text_node(ref.id), role); });
    if (in_list_ && !ref.from.empty()) {
      put(map, "from", [&] {
        std::vector<Node> items;
        for (const std::string& id : ref.from) items.push_back(text_node(id));
        return leaf(Node::make_list(std::move(items)), role);
      });
    }
    if ((in_list_ || with_coef) && ref.coef != 1.0) {
      put(map, "coef", [&] { return leaf(Node::make_scalar(fmt::format("{}", ref.coef)), role); });
    }
    if (in_list_ && ref.repeat != 1) {
      put(map, "repeat", [&] { return leaf(Node::make_scalar(fmt::format("{}", ref.repeat)), role); });
    }
    const bool in_list = std::exchange(in_list_, false);
    map = group(ref.def->fields, ref.config.get(), role, std::move(map));
    if (ref.common != nullptr) map = group(ref.def->kind->common->fields(), ref.common.get(), role, std::move(map));
    in_list_ = in_list;
    return map;
  }
  Node list(const Type& type, const void* v, Role role) {
    Node out = Node::make_list();
    const std::size_t size = type.size(v);
    if (size == 0) return leaf(std::move(out), role);
    const std::string path = path_;
    for (std::size_t i = 0; i < size; ++i) {
      path_ = key_path(path, std::to_string(i));
      const bool outer = std::exchange(in_list_, true);
      out.items.push_back(value(*type.element, type.at(v, i), role));
      in_list_ = outer;
    }
    path_ = path;
    return out;
  }
  Node dict(const Type& type, const void* v, Role role) {
    Node out = Node::make_map();
    const std::size_t size = type.size(v);
    if (size == 0) return leaf(std::move(out), role);
    for (std::size_t i = 0; i < size; ++i) {
      put(out, type.key(v, i), [&] { return value(*type.element, type.at(v, i), role); });
    }
    return out;
  }
  Node one_or_many(const Type& type, const void* v, Role role) {
    const bool outer = std::exchange(in_list_, false);
    Node out = Node::make_map();
    const auto ref = [&](std::size_t i) { return static_cast<const AnyRef*>(type.element->at(type.at(v, i), 0)); };
    if (is_one(type, v)) {
      out = component(*ref(0), false, role);
    } else if (type.size(v) == 0) {
      out = leaf(std::move(out), role);
    } else {
      for (std::size_t i = 0; i < type.size(v); ++i) put(out, ref(i)->id, [&] { return component(*ref(i), true, role); });
    }
    in_list_ = outer;
    return out;
  }

  std::string path_;
  bool in_list_ = false;
};

void sort_keys(Node& n) {
  for (Node& item : n.items) sort_keys(item);
  if (!n.is_map()) return;
  std::vector<std::size_t> order(n.keys.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) -> const std::string& { return n.keys[i].text; });
  Node sorted = Node::make_map(n.origin);
  for (const std::size_t i : order) sorted.set(n.keys[i].text, std::move(n.items[i]));
  n = std::move(sorted);
}

}  // namespace

Node canonical_value(const Type& type, const void* value) { return Printer().value(type, value, Role::bits); }

std::string canonical_text(const Node& canonical) { return dump(canonical, true); }

Json identity_value(const Type& type, const void* root) {
  Printer p;
  p.root = root;
  p.only_bits = true;
  p.versions = true;
  Node tree = p.value(type, root, Role::bits);
  sort_keys(tree);
  return to_json(tree);
}

std::vector<Leaf> leaves_of(const Type& type, const void* root) {
  std::vector<Leaf> out;
  Printer p;
  p.root = root;
  p.leaves = &out;
  p.value(type, root, Role::bits);
  return out;
}

std::vector<Difference> difference(const std::vector<Leaf>& a, const std::vector<Leaf>& b) {
  std::map<std::string_view, const Leaf*> in_a;
  std::map<std::string_view, const Leaf*> in_b;
  for (const Leaf& leaf : a) in_a.emplace(leaf.path, &leaf);
  for (const Leaf& leaf : b) in_b.emplace(leaf.path, &leaf);
  std::vector<Difference> out;
  for (const Leaf& leaf : a) {
    const auto other = in_b.find(leaf.path);
    if (other == in_b.end()) {
      out.push_back({leaf.path, leaf.value, {}, leaf.role});
    } else if (other->second->value != leaf.value) {
      out.push_back({leaf.path, leaf.value, other->second->value, std::min(leaf.role, other->second->role)});
    }
  }
  for (const Leaf& leaf : b) {
    if (!in_a.contains(leaf.path)) out.push_back({leaf.path, {}, leaf.value, leaf.role});
  }
  return out;
}

std::string text(const std::vector<Difference>& d) {
  std::string out;
  const auto shown = [](const std::string& v) { return v.empty() ? std::string("(absent)") : v; };
  for (const Difference& x : d) out += fmt::format("  {}: {} -> {}  ({})\n", x.path, shown(x.a), shown(x.b), text(x.role));
  return out;
}

Json to_json(const Node& n) {
  switch (n.type) {
    case Node::Type::null: return {};
    case Node::Type::list: {
      Json out = Json::array();
      for (const Node& item : n.items) out.push(to_json(item));
      return out;
    }
    case Node::Type::map: {
      Json out = Json::object();
      for (std::size_t i = 0; i < n.items.size(); ++i) out.set(n.keys[i].text, to_json(n.items[i]));
      return out;
    }
    case Node::Type::scalar: break;
  }
  if (n.quoted) return n.scalar;
  if (n.scalar == "true" || n.scalar == "false") return n.scalar == "true";
  std::string why;
  std::int64_t integer = 0;
  double number = 0;
  const bool looks_integer = n.scalar.find_first_not_of("-0123456789") == std::string::npos;
  if (looks_integer && parse_config_int(n.scalar, integer, why)) return integer;
  if (parse_config_double(n.scalar, number, why)) return number;
  return n.scalar;
}

}  // namespace lockstep
