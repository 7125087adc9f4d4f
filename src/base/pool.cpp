// The thread pool. One job at a time; a job is a word that workers join while it is open.
#include "lockstep/base/pool.h"

#include <sched.h>

#include <mutex>
#include <thread>

#include "lockstep/base/clock.h"
#include "lockstep/base/cpu.h"
#include "lockstep/base/error.h"

namespace lockstep {

namespace {

constexpr std::int64_t kSpinNs = 200'000;   // longer than the caller's work between two jobs of a step
constexpr int kMaxThreads = 256;

constinit thread_local bool inside_part = false;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::clamp(count, 1, kMaxThreads);
}

// The exception of the lowest part, of those that threw.
struct Failure {
  std::mutex mutex;
  std::int64_t part = 0;
  std::exception_ptr error;

  void keep(std::int64_t at) {
    const std::lock_guard lock(mutex);
    if (!error || at < part) {
      error = std::current_exception();
      part = at;
    }
  }
  // Separate, so that the common case does not lock.
  void rethrow() {
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }
};

}  // namespace

// `word` is generation * 2^32 + open * 2^31 + workers inside. A worker joins by adding one while the job is open; the
// caller closes the job when no part is left and waits for the count to fall to zero. Workers that wake too late
// find it closed, so nobody ever waits for a sleeper.
struct ThreadPool::State {
  static constexpr std::uint64_t kOpen = std::uint64_t{1} << 31, kCount = kOpen - 1;

  alignas(64) std::atomic<std::uint64_t> word{0};
  alignas(64) std::atomic<std::uint32_t> wake{0};  // futex: changes with every job and at the end
  std::atomic<int> sleepers{0};
  std::atomic<bool> stop{false};
  alignas(64) std::atomic<std::int64_t> next{0};

  // The open job; written before `word` opens it.
  Part part = nullptr;
  void* context = nullptr;
  std::int64_t parts = 0;
  bool preferred = false;
  const Frame* frames = nullptr;
  std::unique_ptr<std::atomic<bool>[]> taken;  // preferred parts

  Failure failure;
  std::mutex busy;
  std::vector<std::thread> workers;

  void run_part(std::int64_t at) {
    try {
      part(context, at);
    } catch (...) {
      failure.keep(at);
    }
  }

  // What one thread does for the open job; `self` is its number.
  void participate(std::int64_t self) {
    const bool outer = std::exchange(inside_part, true);
    if (preferred) {
      if (self < parts && !taken[static_cast<std::size_t>(self)].exchange(true)) run_part(self);
    }
    for (std::int64_t at = next.fetch_add(1); at < parts; at = next.fetch_add(1)) {
      if (!preferred || !taken[static_cast<std::size_t>(at)].exchange(true)) run_part(at);
    }
    inside_part = outer;
  }

  void shut_down() {
    stop.store(true);
    wake.fetch_add(1);
    wake.notify_all();
    for (std::thread& worker : workers) worker.join();
    workers.clear();
  }

  // Waits until `wake` differs from `seen`: spinning, then asleep.
  void wait(std::uint32_t seen) {
    const std::int64_t start = monotonic_ns();
    while (monotonic_ns() - start < kSpinNs) {
      for (int i = 0; i < 64; ++i) {
        if (wake.load(std::memory_order_acquire) != seen) return;
        relax();
      }
    }
    sleepers.fetch_add(1);
    while (wake.load() == seen) wake.wait(seen);
    sleepers.fetch_sub(1);
  }

  void serve(std::int64_t self) {
    set_float_environment();
    std::uint32_t seen = 0;
    for (;;) {
      wait(seen);
      seen = wake.load(std::memory_order_acquire);
      if (stop.load()) return;
      std::uint64_t current = word.load();
      while ((current & kOpen) != 0 && !word.compare_exchange_weak(current, current + 1)) {
      }
      if ((current & kOpen) == 0) continue;
      const Frame* own = Frame::exchange_top(frames);
      participate(self);
      Frame::exchange_top(own);
      word.fetch_sub(1);
    }
  }
};

ThreadPool::ThreadPool(int threads) : threads_(threads), state_(std::make_unique<State>()) {
  if (threads < 1 || threads > kMaxThreads) {
    failf(Category::usage, "a thread pool of {} threads is impossible: 1 to {} are allowed", threads, kMaxThreads);
  }
  state_->taken = std::make_unique<std::atomic<bool>[]>(static_cast<std::size_t>(threads));
  try {
    for (int i = 1; i < threads; ++i) state_->workers.emplace_back([s = state_.get(), i] { s->serve(i); });
  } catch (const std::system_error& error) {
    const std::size_t started = state_->workers.size();
    state_->shut_down();
    failf(Category::resource, "cannot start thread {} of {}: {}; ask for fewer threads", started + 2, threads,
          error.what());
  }
}

ThreadPool::~ThreadPool() { state_->shut_down(); }

bool ThreadPool::inside() { return inside_part; }

void ThreadPool::work(std::int64_t parts, Part part, void* context, bool preferred) {
  State& s = *state_;
  std::unique_lock lock(s.busy, std::defer_lock);
  if (parts <= 1 || threads_ == 1 || inside_part || !lock.try_lock()) {
    // Inline, and like the parallel case every part runs before the lowest error leaves.
    std::exception_ptr error;
    for (std::int64_t at = 0; at < parts; ++at) {
      try {
        part(context, at);
      } catch (...) {
        if (!error) error = std::current_exception();
      }
    }
    if (error) std::rethrow_exception(error);
    return;
  }
  s.part = part;
  s.context = context;
  s.parts = parts;
  s.preferred = preferred;
  s.frames = Frame::top();
  if (preferred) {
    for (int i = 0; i < threads_; ++i) s.taken[static_cast<std::size_t>(i)].store(false, std::memory_order_relaxed);
  }
  s.next.store(0, std::memory_order_relaxed);
  const std::uint64_t generation = (s.word.load(std::memory_order_relaxed) >> 32) + 1;
  s.word.store(generation << 32 | State::kOpen);
  s.wake.fetch_add(1);
  if (s.sleepers.load() != 0) s.wake.notify_all();
  s.participate(0);
  s.word.fetch_and(~State::kOpen);
  int spins = 0;
  while ((s.word.load(std::memory_order_acquire) & State::kCount) != 0) {
    if (++spins % 1024 == 0) {
      std::this_thread::yield();  // the worker may need this core
    } else {
      relax();
    }
  }
  s.failure.rethrow();
}

void ThreadPool::run(std::int64_t parts, Part part, void* context) { work(parts, part, context, false); }
void ThreadPool::run_static(Part part, void* context) { work(threads_, part, context, true); }

namespace {

std::unique_ptr<ThreadPool>& instance() {
  static std::unique_ptr<ThreadPool> held;
  return held;
}
constinit std::atomic<ThreadPool*> current{nullptr};
constinit std::mutex replacing;

}  // namespace

ThreadPool& pool() {
  if (ThreadPool* p = current.load(std::memory_order_acquire)) return *p;
  const std::lock_guard lock(replacing);
  if (!instance()) {
    instance() = std::make_unique<ThreadPool>(available_threads());
    current.store(instance().get(), std::memory_order_release);
  }
  return *instance();
}

void set_threads(int threads) {
  if (ThreadPool::inside()) {
    fail(Category::internal, "the number of threads changed inside a parallel part; change it between jobs");
  }
  const std::lock_guard lock(replacing);
  auto fresh = std::make_unique<ThreadPool>(threads == 0 ? available_threads() : threads);
  current.store(fresh.get(), std::memory_order_release);
  instance() = std::move(fresh);
}

}  // namespace lockstep
