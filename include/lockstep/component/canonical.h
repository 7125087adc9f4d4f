// The canonical form of a config that was read: what `config show` prints, what identity hashes, how two configs differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/json.h"
#include "lockstep/component/component.h"
#include "lockstep/config/node.h"

namespace lockstep {

/// The whole value as a tree: {name: ...} for every component, keys in schema order, doubles as their shortest text,
/// no default left out. Fields whose only_when does not hold are left out: they may not be written.
Node canonical_value(const Type& type, const void* value);
template <class T>
Node canonical(const T& value) {
  return canonical_value(kType<T>, &value);
}
/// The tree as text that composes to the same tree: dump() with `${` escaped.
std::string canonical_text(const Node& canonical);

/// The config restricted to what decides the trained bits, keys in byte order, each component's name with its version
/// (`sgd@1`). `root` is the whole config: bits_when rules look at it.
Json identity_value(const Type& type, const void* root);
template <class T>
Json identity(const T& root) {
  return identity_value(kType<T>, &root);
}

/// A scalar, null or empty list of the canonical tree, with the role that it has in this config.
struct Leaf {
  std::string path, value;
  Role role = Role::bits;
};
/// The leaves, in schema order; a component's `name` has the role of the field that holds it.
std::vector<Leaf> leaves_of(const Type& type, const void* root);
template <class T>
std::vector<Leaf> leaves(const T& root) {
  return leaves_of(kType<T>, &root);
}

/// A path where two configs differ; an absent value is empty.
struct Difference {
  std::string path, a, b;
  Role role = Role::bits;  // the stronger of the two
};
/// In the order of `a`, then what only `b` has.
std::vector<Difference> difference(const std::vector<Leaf>& a, const std::vector<Leaf>& b);
/// `  optim.lr: 0.001 -> 0.01  (bits)`, a line each.
std::string text(const std::vector<Difference>& d);

/// A canonical node as JSON: unquoted numbers and booleans become such, other scalars strings.
Json to_json(const Node& canonical);

}  // namespace lockstep
