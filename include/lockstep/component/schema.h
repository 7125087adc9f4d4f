// JSON Schema (draft 2020-12) of a root struct and of every component that it can reach; for editors.
#pragma once

#include "lockstep/base/json.h"
#include "lockstep/component/registry.h"

namespace lockstep {

/// The schema of a config file whose root is `root`; `extends` and `vars` are allowed at its top.
/// A reference `${...}` is accepted wherever a scalar is.
Json schema_of(const Type& root, const Registry& registry);
template <class T>
Json schema(const Registry& registry) {
  return schema_of(kType<T>, registry);
}
/// The schema of one component's keys.
Json component_schema(const ManifestRow& row, const Registry& registry);

}  // namespace lockstep
