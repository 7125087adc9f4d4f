// Shapes, storage and handles.
#include <doctest/doctest.h>

#include <cmath>
#include <thread>

#include "lockstep/base/error.h"
#include "lockstep/tensor/storage.h"
#include "lockstep/tensor/tensor.h"
#include "print.h"

using namespace lockstep;

namespace {

using Doubles = std::vector<double>;

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message;
  }
  return "nothing was thrown";
}
/// `message` contains `part`.
void check_has(const std::string& message, std::string_view part) {
  CHECK_MESSAGE(message.find(part) != std::string::npos, message);
}

}  // namespace

TEST_CASE("shapes") {
  CHECK(text(Shape{64, 128}) == "[64, 128]");
  CHECK(text(Shape{}) == "[]");
  CHECK(Shape{}.numel() == 1);
  CHECK(Shape{3, 0}.numel() == 0);
  CHECK(broadcast({3, 1}, {5}, "x") == Shape{3, 5});
  CHECK(broadcast({0, 1}, {1, 4}, "x") == Shape{0, 4});
  CHECK(normalize_axis(-1, 3, "x") == 2);
  check_has(message_of([] { normalize_axis(3, 3, "sum"); }), "sum: axis 3 is outside [-3, 3) of a tensor with 3 axes");
  CHECK(is_contiguous({2, 1, 3}, {3, 99, 1}));
  CHECK_FALSE(is_contiguous({2, 3}, {1, 2}));
  CHECK(is_contiguous({0, 3}, {1, 2}));
  CHECK(text(DType::bf16) == "bfloat16");
  CHECK(text(DType::boolean) == "bool");
}

TEST_CASE("handles share, views look, detach forgets") {
  Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor same = x, t = Tensor::view_of(x, {3, 2}, {1, 3}, 0);
  CHECK(same.id() == x.id());
  CHECK(t.to_doubles() == Doubles{1, 4, 2, 5, 3, 6});
  CHECK_FALSE(t.contiguous());
  x.values<float>()[5] = 60;
  CHECK(t.to_doubles()[5] == 60);
  CHECK(t.version() == 1);
  CHECK(x.size(-1) == 3);
  x.requires_grad_();
  CHECK(x.requires_grad());
  CHECK_FALSE(x.detach().requires_grad());
  CHECK(x.detach().same_storage(x));
  CHECK_FALSE(Tensor().defined());
}

TEST_CASE("values of every dtype") {
  CHECK(Tensor::full({2}, 2.5, DType::f64).to_doubles() == Doubles{2.5, 2.5});
  CHECK(Tensor::full({2}, -3, DType::i64).to_doubles() == Doubles{-3, -3});
  CHECK(Tensor::full({1}, 7, DType::boolean).item() == 1);
  CHECK(Tensor::zeros({2}, DType::bf16).to_doubles() == Doubles{0, 0});
  CHECK(Tensor::of<bool>({true, false}, {2}).dtype() == DType::boolean);
  CHECK(Tensor::scalar(4).item() == 4);
  CHECK(std::signbit(Tensor::full({}, -0.0).item()));
}

TEST_CASE("misuse is refused") {
  const Tensor x = Tensor::zeros({2, 3});
  check_has(message_of([&] { static_cast<void>(x.item()); }), "item() of a tensor of shape [2, 3] with 6 elements");
  check_has(message_of([&] { static_cast<void>(x.values<double>()); }),
            "values<float64>() of a contiguous tensor of shape [2, 3] and dtype float32");
  check_has(message_of([&] { Tensor::of<float>({1}, {2}); }), "got 1 values for shape [2]");
  check_has(message_of([] { Tensor::empty({-1}); }), "negative extent");
  check_has(message_of([] { Tensor::empty({std::int64_t{1} << 40, std::int64_t{1} << 40}); }), "too many elements");
  check_has(message_of([] { Tensor::full({1}, 1, DType::f16); }), "reserved for storage");
  check_has(message_of([] { Tensor::empty({1}, DType::f32, Device::cuda); }), "this build has memory on cpu only");
  check_has(message_of([] { static_cast<void>(Tensor().shape()); }), "undefined tensor");
  check_has(message_of([] { Tensor::empty({std::int64_t{1} << 42}); }),
            "out of memory: 17592186044416 bytes asked for");
}

TEST_CASE("the allocator aligns, reuses and counts") {
  trim_memory();
  reset_peak_memory();
  const MemoryStats before = memory_stats();
  const void* first = nullptr;
  for (const std::int64_t n : {1, 63, 64, 65, 1000, 4097, 100000, 1000000}) {
    const Tensor t = Tensor::empty({n}, DType::u8);
    CHECK(reinterpret_cast<std::uintptr_t>(t.raw()) % 64 == 0);
    first = t.raw();
  }
  CHECK(Tensor::empty({1000000}, DType::u8).raw() == first);
  const MemoryStats after = memory_stats();
  CHECK(after.in_use == before.in_use);
  CHECK(after.cache_hits > before.cache_hits);
  CHECK(after.peak >= before.in_use + 1000000);
  CHECK(after.peak < before.in_use + 1300000);
  CHECK(after.cached > 1000000);
  trim_memory();
  CHECK(memory_stats().cached == 0);
}

TEST_CASE("blocks travel between threads") {
  trim_memory();
  const std::uint64_t in_use = memory_stats().in_use;
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([] {
      std::vector<Tensor> keep;
      for (int i = 0; i < 2000; ++i) {
        keep.push_back(Tensor::full({i % 97 + 1}, i, DType::i32));
        if (keep.size() > 40) keep.erase(keep.begin());
        CHECK(keep.back().to_doubles()[0] == i);
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(memory_stats().in_use == in_use);
  trim_memory();
  CHECK(memory_stats().cached == 0);
}
