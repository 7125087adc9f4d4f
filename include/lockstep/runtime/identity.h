// Identity: what decides the trained bits. hash = f(identity, step).
#pragma once

#include "lockstep/data/manifest.h"
#include "lockstep/runtime/experiment.h"

namespace lockstep {

/// Version of the numeric contract (docs/numerics.md). Any change of bits raises it.
inline constexpr int kNumericSpec = 2;

/// Everything but the data digests: numeric spec, the config's `bits` fields with component versions, class map, fitted
/// state of the transforms. `parent` is null, or what parent_identity() gave.
Json base_identity(Experiment& e, const Json& parent);
/// A child's parent: the digest of its identity, and the step that the child starts from. No run id: ids are random.
Json parent_identity(const Digest& identity, std::int64_t step);
/// base + digests of the splits that training reads.
Json full_identity(Json base, const Json& data_digests);
/// sha256 over the JSON text, keys in byte order, as hex.
std::string identity_digest(const Json& identity);

/// Paths, sizes and root of every split's files, without contents: what run.json keeps and `--resume=auto` compares.
Json data_manifests(const Experiment& e);
/// In the runs directory: the digests of files by size and time, so that each is read once.
inline constexpr std::string_view kDigestCache = "data_digests.json";
/// Begins to hash every split's files on a thread of its own. `cache` names the file that remembers digests; empty: none.
std::unique_ptr<ManifestHasher> hash_data(const Experiment& e, std::string cache);
/// {"train": hex, "val": hex}; waits for the hasher.
Json data_digests(ManifestHasher& hasher);

/// Paths where two identities differ, `a` and `b` as compact JSON.
struct IdentityDifference {
  std::string path, a, b;
};
std::vector<IdentityDifference> compare_identities(const Json& a, const Json& b);
/// What `e` would train otherwise than the run that a run.json describes. Locations may move: of data files names and
/// sizes are compared here, contents by their digests.
std::vector<IdentityDifference> run_differences(Experiment& e, const Json& record);
/// "\n  optim.lr: 0.1 there, 0.2 now", a line each.
std::string text(const std::vector<IdentityDifference>& d);
/// Throws data unless `base` with these digests is the identity `expected`: the files of run `run` have changed.
void require_identity(const Json& base, const Json& digests, const Digest& expected, std::string_view run);

}  // namespace lockstep
