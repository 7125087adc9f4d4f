// NH-128 of a tensor's bytes: base/nh128.h at memory speed. Integer sums modulo 2^64, so any split gives the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/fingerprint.cpp"
#include "hwy/foreach_target.h"
#include "kernels/cpu/fingerprint.h"
#include "kernels/cpu/lanes-inl.h"

#if !HWY_ONCE
HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

/// Pairs inside one block of keys; `keys` points at the row of the first.
void nh_pairs(const std::uint8_t* data, std::int64_t pairs, const NhRows& keys, std::int64_t at, NhSums* sums) {
  const hn::ScalableTag<std::uint64_t> d;
  const hn::ScalableTag<std::uint32_t> words;
  using V = hn::Vec<decltype(d)>;
  constexpr std::int64_t kWidth = HWY_MAX_BYTES / 8;
  const auto block_a = hn::BitCast(words, hn::Set(d, keys.block_a)), block_b = hn::BitCast(words, hn::Set(d, keys.block_b));
  V a = hn::Zero(d), b = hn::Zero(d);
  const auto term = [&](hn::Vec<decltype(words)> x, const std::uint64_t* key, hn::Vec<decltype(words)> block) HWY_ATTR {
    const auto y = hn::Add(x, hn::Add(hn::BitCast(words, hn::LoadU(d, key)), block));
    return hn::MulEven(y, hn::BitCast(words, hn::ShiftRight<32>(hn::BitCast(d, y))));
  };
  std::int64_t p = 0;
  for (; p + kWidth <= pairs; p += kWidth) {
    const auto x = hn::LoadU(words, reinterpret_cast<const std::uint32_t*>(data + 8 * p));
    a = hn::Add(a, term(x, keys.a + at + p, block_a));
    b = hn::Add(b, term(x, keys.b + at + p, block_b));
  }
  alignas(64) std::uint64_t part[2][kWidth];
  hn::Store(a, d, part[0]);
  hn::Store(b, d, part[1]);
  for (std::int64_t l = 0; l < kWidth; ++l) {
    sums->a += part[0][l];
    sums->b += part[1][l];
  }
  nh_tail(data, p, pairs, keys, at, sums);
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#else

#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/cpu/family.h"
#include "lockstep/base/error.h"
#include "lockstep/base/nh128.h"
#include "lockstep/base/pool.h"

namespace lockstep {
namespace scalar {

void nh_pairs(const std::uint8_t* data, std::int64_t pairs, const NhRows& keys, std::int64_t at, NhSums* sums) {
  nh_tail(data, 0, pairs, keys, at, sums);
}

}  // namespace scalar

namespace {

constexpr std::int64_t kBlock = kNhBlockPairs;
constexpr std::int64_t kTaskBlocks = 64;   // half a megabyte

/// The key table of base/nh128.h with the two keys of each sum side by side.
struct Table {
  alignas(64) std::uint64_t a[kNhBlockPairs];
  alignas(64) std::uint64_t b[kNhBlockPairs];
};
constexpr std::uint64_t joined(std::uint32_t low, std::uint32_t high) { return std::uint64_t{high} << 32 | low; }
const Table& table() {
  static const std::unique_ptr<const Table> made = [] {
    auto t = std::make_unique<Table>();
    for (std::size_t i = 0; i < kNhBlockPairs; ++i) {
      const NhKeys& k = nh128_table()[i];
      t->a[i] = joined(k[0], k[1]);
      t->b[i] = joined(k[2], k[3]);
    }
    return t;
  }();
  return *made;
}

using PairsFn = void (*)(const std::uint8_t*, std::int64_t, const NhRows&, std::int64_t, NhSums*);

/// `pairs` whole pairs at pair position `position`.
void add_pairs(PairsFn run, const std::uint8_t* data, std::int64_t pairs, std::int64_t position, NhSums* sums) {
  NhRows keys;
  keys.a = table().a;
  keys.b = table().b;
  while (pairs > 0) {
    const std::int64_t at = position % kBlock, now = std::min(pairs, kBlock - at);
    const NhKeys block = nh128_block_key(static_cast<std::uint64_t>(position / kBlock));
    keys.block_a = joined(block[0], block[1]);
    keys.block_b = joined(block[2], block[3]);
    run(data, now, keys, at, sums);
    data += 8 * now;
    pairs -= now;
    position += now;
  }
}

void nh128_call(const KernelCall& call) {
  const Array& x = call.in[0];
  const auto first = call.attrs.get<std::int64_t>(0);
  if (first % 2 != 0) failf(Category::internal, "NH-128 records start at even word positions; this one at {}", first);
  const std::int64_t bytes = x.numel() * static_cast<std::int64_t>(size_of(x.dtype)), pairs = bytes / 8;
  const auto* data = x.as<std::uint8_t>();
  const PairsFn run = pick(LOCKSTEP_ISA(nh_pairs));
  // Tasks end at block borders: the keys of a block are made once.
  const std::int64_t position = first / 2, lead = std::min(pairs, (kBlock - position % kBlock) % kBlock);
  NhSums sums;
  add_pairs(run, data, lead, position, &sums);
  constexpr std::int64_t kTasks = 64;
  NhSums part[kTasks];
  std::int64_t each = kTaskBlocks * kBlock;
  while ((pairs - lead + each - 1) / each > kTasks) each *= 2;
  const std::int64_t tasks = (pairs - lead + each - 1) / each;
  if (tasks > 0) {
    parallel_for(tasks, [&](std::int64_t task) {
      const std::int64_t from = lead + task * each;
      add_pairs(run, data + 8 * from, std::min(each, pairs - from), position + from, &part[task]);
    });
  }
  for (std::int64_t task = 0; task < tasks; ++task) {
    sums.a += part[task].a;
    sums.b += part[task].b;
  }
  if (bytes % 8 != 0) {
    std::uint8_t last[8] = {};
    std::memcpy(last, data + 8 * pairs, static_cast<std::size_t>(bytes % 8));
    add_pairs(run, last, 1, position + pairs, &sums);
  }
  auto* out = call.out[0].as<std::int64_t>();
  out[0] = static_cast<std::int64_t>(sums.a);
  out[1] = static_cast<std::int64_t>(sums.b);
}

constexpr DType kAll[] = {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8, DType::boolean};
constexpr KernelDef kKernels[] = {{.op = "nh128", .dtypes = kAll, .fn = &nh128_call}};

}  // namespace

extern constinit const std::span<const KernelDef> kernels_cpu_fingerprint;
constinit const std::span<const KernelDef> kernels_cpu_fingerprint = kKernels;

}  // namespace lockstep
#endif
