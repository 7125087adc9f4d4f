// Reads a located tree into config structs, collecting everything that is wrong.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/component/registry.h"
#include "lockstep/component/type.h"
#include "lockstep/config/compose.h"
#include "lockstep/config/diagnostics.h"
#include "lockstep/config/node.h"

namespace lockstep {

/// Knows the registry, where errors go, and the place in the tree.
struct Reader {
  const Registry& registry;
  Diagnostics& diagnostics;
  std::string path{};     // of the node being read
  std::string section{};  // `optim 'sgd'`, `train`; empty at the top
};

/// Reads a value of type `type` into `out`, which holds the default. False when something was wrong (and reported);
/// `out` is then partly read. Lists, maps and optionals are replaced, groups are filled key by key.
bool read_value(const Type& type, const Bounds& bounds, const Node& n, void* out, Reader& r);

/// The same for a typed value: a struct with fields_of, or any type that a member may have.
template <class T>
bool read(const Node& n, T& out, Reader& r) {
  return read_value(kType<T>, Bounds{}, n, &out, r);
}

/// Where a component stands, which decides what may stand beside it.
enum class Place : std::uint8_t {
  single,  // the value of a key: nothing
  entry,   // one of several that are named by keys: coef, where the kind has factors
  item,    // an item of a list: id, and what Beside of the kind allows; and `{linear: {...}}` is allowed
};
/// Reads a component of a kind: a name, a map with `name`, a map with one of the kind's marks or, as an item, a map
/// of one name to its keys.
bool read_component(const KindInfo& kind, const Node& n, Place place, AnyRef& out, Reader& r);

/// The merge rules of a root struct whose fields are `root`: which keys are common to a kind, which key implies a
/// component. Both arguments must outlive the result.
std::unique_ptr<MergeRules> position_rules(const Type& root, const Registry& registry);
template <class T>
std::unique_ptr<MergeRules> position_rules(const Registry& registry) {
  return position_rules(kType<T>, registry);
}

}  // namespace lockstep
