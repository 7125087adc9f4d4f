// Identity: what decides the trained bits. hash = f(identity, step).
#pragma once

#include "lockstep/data/manifest.h"
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
/// Begins to hash every split's files on a thread of its own. `cache` names the file that remembers digests; empty: none.
std::unique_ptr<ManifestHasher> hash_data(const Experiment& e, std::string cache);
/// {"train": hex, "val": hex}; waits for the hasher.
Json data_digests(ManifestHasher& hasher);

/// Paths where two identities differ, `a` and `b` as compact JSON.
struct IdentityDifference {
  std::string path, a, b;
};
std::vector<IdentityDifference> compare_identities(const Json& a, const Json& b);

}  // namespace lockstep
