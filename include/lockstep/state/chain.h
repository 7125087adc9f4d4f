// chain.bin: one record a step, each sealing the one before; where two runs part is where their chains do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/file.h"
#include "lockstep/base/nh128.h"
#include "lockstep/base/sha256.h"

namespace lockstep {

/// The state after `t` optimizer steps. The file is the records 0, 1, 2, ... as they lie in memory, little-endian, so
/// record t stands at byte t * sizeof(ChainRecord). Record 0 is chain_start().
///   h_t = sha256(h_{t-1} | u64 t | batch | loss_bits | grad_norm_bits | fingerprint)
struct ChainRecord {
  std::uint64_t t = 0;
  Nh128 batch;                       // Batch::digest of step t
  std::uint64_t loss_bits = 0;       // of the f64 that is logged; a NaN as 0x7ff8000000000000
  std::uint64_t grad_norm_bits = 0;  // the same; of the norm before clipping
  Nh128 fingerprint;                 // of the parameters after the update
  Digest h{};
  friend bool operator==(const ChainRecord&, const ChainRecord&) = default;
};
static_assert(sizeof(ChainRecord) == 88 && std::is_trivially_copyable_v<ChainRecord>);

/// t = 0 and h = 0; its `batch` spells "LSCHAIN1", which makes a chain file recognisable.
ChainRecord chain_start();
/// The record of the next step.
ChainRecord chain_next(const ChainRecord& previous, const Nh128& batch, double loss, double grad_norm,
                       const Nh128& fingerprint);

/// Steps that a file holds (whole records, the start not counted); nothing when there is no file, or not even a whole
/// start. A torn record at the end does not count. Throws data when the file is no chain.
std::optional<std::int64_t> chain_steps(FileSystem& files, const std::string& path);
/// Record `t`. Throws data when the file is shorter.
ChainRecord read_chain(FileSystem& files, const std::string& path, std::int64_t t);
/// Records [begin, end).
std::vector<ChainRecord> read_chain(FileSystem& files, const std::string& path, std::int64_t begin, std::int64_t end);
/// Appends records and syncs; creates the file with its start. The first record must follow the last one in the file,
/// and the file must not end in a torn record (truncate_chain first): Error{internal}.
void append_chain(FileSystem& files, const std::string& path, std::span<const ChainRecord> records);
/// Drops everything after record `t` and syncs. Throws data when the file is shorter.
void truncate_chain(FileSystem& files, const std::string& path, std::int64_t t);

/// Where two chains part.
struct ChainDifference {
  std::int64_t t = 0;
  std::string_view what;             // "batch", "loss", "gradient norm", "parameters", "history", "length"
  std::optional<ChainRecord> a, b;   // nothing: that chain ends before t
};
/// The first step at which the files differ; nothing when they are equal. A chain that only ends earlier differs by
/// "length". O(log steps): records seal their predecessors.
std::optional<ChainDifference> compare_chains(FileSystem& files, const std::string& a, const std::string& b);
/// The first record whose h does not follow from its predecessor and contents; nothing when all do.
std::optional<std::int64_t> broken_link(FileSystem& files, const std::string& path);
/// Throws mismatch with the number of that record. One pass: a third of a second for a million steps.
void check_chain(FileSystem& files, const std::string& path);

}  // namespace lockstep
