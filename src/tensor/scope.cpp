// The thread's scope and the keys of randomness.
#include "lockstep/tensor/scope.h"

#include <fmt/core.h>

#include "lockstep/base/error.h"

namespace lockstep {

constinit thread_local Scope scope;

RngKey next_key() {
  constexpr std::uint32_t kDrawBits = 24;
  const ModuleFrame* m = scope.module;
  if (m == nullptr || m->draws == nullptr)
    fail(Category::internal,
         "a random draw outside a module's forward: its key is a function of the module's path; "
         "call the op inside a module, or pass it a key");
  const std::uint32_t draw = (*m->draws)++;
  if (draw >= (1U << kDrawBits))
    fail(Category::internal,
         fmt::format("module '{}' drew {} times in one forward; the rule is at most 2^24 draws", m->path, draw));
  return {m->key, scope.rng.step, scope.rng.shard, (scope.rng.phase << kDrawBits) | draw};
}

}  // namespace lockstep
