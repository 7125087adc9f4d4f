// Identity: what decides the trained bits. hash = f(identity, step).
#pragma once

#include <future>

#include "lockstep/runtime/experiment.h"
#include "lockstep/track/rows.h"

namespace lockstep {

/// Version of the numeric contract (docs/numerics.md). Any change of bits raises it.
inline constexpr int kNumericSpec = 1;

/// Everything but the data digests: numeric spec, the config's `bits` fields with component versions, class map, fitted
/// state of the transforms, parent of a fork.
Json base_identity(Experiment& e, const std::optional<ParentRef>& parent);
/// base + digests of the splits that training reads.
Json full_identity(Json base, const Json& data_digests);
/// sha256 over the JSON text, keys in byte order, as hex.
std::string identity_digest(const Json& identity);

/// Paths, sizes and root of every split's files, without contents: what run.json keeps and `--resume=auto` compares.
Json data_manifests(const Experiment& e);
/// Content digests of every split, {"train": hex, "val": hex}; hashes files, so it runs on a thread of its own.
std::future<Json> data_digests(const Experiment& e);

/// Paths where two identities differ, `a` and `b` as compact JSON.
struct IdentityDifference {
  std::string path, a, b;
};
std::vector<IdentityDifference> compare_identities(const Json& a, const Json& b);

}  // namespace lockstep
