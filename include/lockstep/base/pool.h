// The thread pool: fork-join over chunks that the caller derives from shapes alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>

namespace lockstep {

// Threads that wait for work: spinning about 30 microseconds, then asleep in a futex. Fork-join is 0.2 to 1
// microseconds while they spin. Nothing is allocated per job; results may not depend on the number of threads.
class ThreadPool {
 public:
  // One part of a job: `context` is the job, `part` in [0, parts).
  using Part = void (*)(void* context, std::int64_t part);

  // `threads` counts the caller: n - 1 are started. 1 <= threads <= 256.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Runs every part exactly once and returns when all are done; the caller takes part. Parts are claimed in
  // ascending order by whichever thread is free. Every part runs even if one throws; the exception of the lowest part
  // is rethrown. Runs inline, in order, when parts is 1, the pool has one thread or is busy, or when called from
  // inside a part. Frames of the caller are seen by the workers.
  void run(std::int64_t parts, Part part, void* context);
  // As run() with parts = threads(), where part w prefers worker w (0 is the caller), so that private buffers
  // stay in that core's cache.
  void run_static(Part part, void* context);

  // Whether the calling thread is inside a part.
  static bool inside();

 private:
  struct State;
  void work(std::int64_t parts, Part part, void* context, bool preferred);
  int threads_;
  std::unique_ptr<State> state_;
};

// The process's pool; made on first use with as many threads as this process may run on.
ThreadPool& pool();
// Replaces it; 0: as many as this process may run on. Not while a job runs (Error{internal}).
void set_threads(int threads);

// f(chunk) for chunk in [0, chunks), on pool(). Chunk boundaries come from shapes only.
template <class F>
void parallel_for(std::int64_t chunks, F&& f) {
  if (chunks == 1) return static_cast<void>(f(std::int64_t{0}));
  using Body = std::remove_reference_t<F>;
  pool().run(
      chunks, [](void* body, std::int64_t chunk) { (*static_cast<Body*>(body))(chunk); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

// f(worker, workers) once for each worker of pool(); inline calls see workers too, one after the other.
template <class F>
void parallel_static(F&& f) {
  using Body = std::remove_reference_t<F>;
  struct Job {
    Body* body;
    int workers;
  } job{&f, pool().threads()};
  pool().run_static(
      [](void* context, std::int64_t worker) {
        auto* j = static_cast<Job*>(context);
        (*j->body)(static_cast<int>(worker), j->workers);
      },
      &job);
}

}  // namespace lockstep
