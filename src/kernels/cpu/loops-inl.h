// Vector element loops of the elementwise families. A functor gives one register: `F::at(d, x)`.
#if defined(LOCKSTEP_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_LOOPS_INL_H
#undef LOCKSTEP_LOOPS_INL_H
#else
#define LOCKSTEP_LOOPS_INL_H
#endif

#include "kernels/cpu/lanes-inl.h"
#include "kernels/strided.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {
#if !HWY_ONCE
namespace {

/// out = F::at(d, x). The rest of a run is loaded and stored under a mask; its spare lanes are zero.
template <class T, class F>
void unary_loop(const Run& run) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t kWidth = static_cast<std::int64_t>(HWY_MAX_BYTES / sizeof(T));
  const T* x = static_cast<const T*>(run.at[0]);
  T* y = static_cast<T*>(run.at[1]);
  std::int64_t i = 0;
  for (; i + kWidth <= run.n; i += kWidth) hn::StoreU(F::at(d, hn::LoadU(d, x + i)), d, y + i);
  if (i == run.n) return;
  const auto mask = hn::FirstN(d, static_cast<size_t>(run.n - i));
  hn::BlendedStore(F::at(d, hn::MaskedLoad(mask, d, x + i)), mask, d, y + i);
}

/// out = F::at(d, a, b)
template <class T, class F>
void binary_loop(const Run& run) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t kWidth = static_cast<std::int64_t>(HWY_MAX_BYTES / sizeof(T));
  const T* a = static_cast<const T*>(run.at[0]);
  const T* b = static_cast<const T*>(run.at[1]);
  T* y = static_cast<T*>(run.at[2]);
  std::int64_t i = 0;
  for (; i + kWidth <= run.n; i += kWidth) {
    hn::StoreU(F::at(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
  }
  if (i == run.n) return;
  const auto mask = hn::FirstN(d, static_cast<size_t>(run.n - i));
  hn::BlendedStore(F::at(d, hn::MaskedLoad(mask, d, a + i), hn::MaskedLoad(mask, d, b + i)), mask, d, y + i);
}

/// out = F::at(d, x, s) with s = *params, a double rounded once
template <class T, class F>
void scalar_loop(const Run& run) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t kWidth = static_cast<std::int64_t>(HWY_MAX_BYTES / sizeof(T));
  const T* x = static_cast<const T*>(run.at[0]);
  T* y = static_cast<T*>(run.at[1]);
  const auto s = hn::Set(d, static_cast<T>(*static_cast<const double*>(run.params)));
  std::int64_t i = 0;
  for (; i + kWidth <= run.n; i += kWidth) hn::StoreU(F::at(d, hn::LoadU(d, x + i), s), d, y + i);
  if (i == run.n) return;
  const auto mask = hn::FirstN(d, static_cast<size_t>(run.n - i));
  hn::BlendedStore(F::at(d, hn::MaskedLoad(mask, d, x + i), s), mask, d, y + i);
}

}  // namespace
#endif  // !HWY_ONCE
}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
