// The chain of step records and its file.
#include "lockstep/state/chain.h"

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"

namespace lockstep {
namespace {

constexpr std::uint64_t kSize = sizeof(ChainRecord);
constexpr std::string_view kMark = "LSCHAIN1";

std::uint64_t bits_of(double v) { return v != v ? 0x7ff8000000000000u : std::bit_cast<std::uint64_t>(v); }

Digest seal(const Digest& previous, const ChainRecord& r) {
  Sha256 sha;
  sha.update(std::as_bytes(std::span(previous)));
  sha.update(std::as_bytes(std::span(&r, 1)).first(kSize - sizeof(Digest)));
  return sha.digest();
}

std::string_view what_differs(const ChainRecord& a, const ChainRecord& b) {
  if (!(a.batch == b.batch)) return "batch";
  if (a.loss_bits != b.loss_bits) return "loss";
  if (a.grad_norm_bits != b.grad_norm_bits) return "gradient norm";
  if (!(a.fingerprint == b.fingerprint)) return "parameters";
  return "history";
}

void expect_record(std::int64_t steps, std::int64_t t, const std::string& path) {
  if (t < 0 || t > steps) {
    failf(Category::data, "{} holds the steps 0 to {}, and record {} is needed: it is not the chain of this run, or was cut",
          quote(path), steps, t);
  }
}

std::int64_t steps_or_fail(FileSystem& files, const std::string& path) {
  const auto steps = chain_steps(files, path);
  if (!steps) failf(Category::data, "there is no chain file {}", quote(path));
  return *steps;
}

}  // namespace

ChainRecord chain_start() {
  ChainRecord r;
  std::memcpy(&r.batch.a, kMark.data(), kMark.size());
  return r;
}

ChainRecord chain_next(const ChainRecord& previous, const Nh128& batch, double loss, double grad_norm,
                       const Nh128& fingerprint) {
  ChainRecord r{.t = previous.t + 1,
                .batch = batch,
                .loss_bits = bits_of(loss),
                .grad_norm_bits = bits_of(grad_norm),
                .fingerprint = fingerprint,
                .h = {}};
  r.h = seal(previous.h, r);
  return r;
}

std::optional<std::int64_t> chain_steps(FileSystem& files, const std::string& path) {
  const auto stat = files.stat(path);
  if (!stat || (!stat->directory && stat->size < kSize)) return std::nullopt;
  const ChainRecord expected = chain_start();
  if (stat->directory ||
      files.read_at(path, 0, kSize) != std::string_view(reinterpret_cast<const char*>(&expected), kSize)) {
    failf(Category::data, "{} is not a chain file: it does not start with {}", quote(path), quote(kMark));
  }
  return static_cast<std::int64_t>(stat->size / kSize) - 1;
}

std::vector<ChainRecord> read_chain(FileSystem& files, const std::string& path, std::int64_t begin, std::int64_t end) {
  if (begin >= end) return {};
  expect_record(steps_or_fail(files, path), begin < 0 ? begin : end - 1, path);
  std::vector<ChainRecord> out(static_cast<std::size_t>(end - begin));
  const std::string bytes = files.read_at(path, static_cast<std::uint64_t>(begin) * kSize, out.size() * kSize);
  if (bytes.size() != out.size() * kSize) failf(Category::data, "{} became shorter while it was read", quote(path));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

ChainRecord read_chain(FileSystem& files, const std::string& path, std::int64_t t) {
  return read_chain(files, path, t, t + 1).front();
}

void append_chain(FileSystem& files, const std::string& path, std::span<const ChainRecord> records) {
  if (records.empty()) return;
  const auto stat = files.stat(path);
  const std::uint64_t size = stat ? stat->size : 0;
  const std::uint64_t next = size == 0 ? 1 : size / kSize;
  if (size % kSize != 0 || records.front().t != next) {
    failf(Category::internal, "record {} of the chain would be appended to {}, which has {} bytes ({} a record)",
          records.front().t, quote(path), size, kSize);
  }
  const auto file = files.open(path, OpenMode::append);
  if (size == 0) {
    const ChainRecord start = chain_start();
    file->write(std::as_bytes(std::span(&start, 1)));
  }
  file->write(std::as_bytes(records));
  file->sync();
  file->close();
  if (size == 0) files.sync_dir(parent_path(path));  // its name, too, must outlive a power cut
}

void truncate_chain(FileSystem& files, const std::string& path, std::int64_t t) {
  expect_record(steps_or_fail(files, path), t, path);
  const std::uint64_t size = static_cast<std::uint64_t>(t + 1) * kSize;
  if (files.stat(path)->size == size) return;
  const auto file = files.open(path, OpenMode::append);
  file->truncate(size);
  file->sync();
  file->close();
}

std::optional<ChainDifference> compare_chains(FileSystem& files, const std::string& a, const std::string& b) {
  const std::int64_t steps_a = steps_or_fail(files, a), steps_b = steps_or_fail(files, b);
  const auto same = [&](std::int64_t t) { return read_chain(files, a, t) == read_chain(files, b, t); };
  // Records up to `low` agree; the first difference, if any, is at most `high`.
  std::int64_t low = 0, high = std::min(steps_a, steps_b);
  if (!same(high)) {
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (same(middle) ? low : high) = middle;
    }
    const ChainRecord ra = read_chain(files, a, high), rb = read_chain(files, b, high);
    return ChainDifference{high, what_differs(ra, rb), ra, rb};
  }
  if (steps_a == steps_b) return std::nullopt;
  ChainDifference d{high + 1, "length", {}, {}};
  (steps_a > high ? d.a : d.b) = read_chain(files, steps_a > high ? a : b, high + 1);
  return d;
}

std::optional<std::int64_t> broken_link(FileSystem& files, const std::string& path) {
  constexpr std::int64_t kPiece = 4096;
  const std::int64_t steps = steps_or_fail(files, path);
  ChainRecord previous = chain_start();
  for (std::int64_t begin = 1; begin <= steps; begin += kPiece) {
    for (const ChainRecord& r : read_chain(files, path, begin, std::min(steps + 1, begin + kPiece))) {
      if (r.t != previous.t + 1 || r.h != seal(previous.h, r)) return static_cast<std::int64_t>(previous.t) + 1;
      previous = r;
    }
  }
  return std::nullopt;
}

void check_chain(FileSystem& files, const std::string& path) {
  if (const auto t = broken_link(files, path)) {
    failf(Category::mismatch, "record {} of {} does not follow from the records before it: the file was changed after it was written",
          *t, quote(path));
  }
}

}  // namespace lockstep
