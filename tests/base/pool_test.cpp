// Tests of base/pool.h.
#include "lockstep/base/pool.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "lockstep/base/cpu.h"
#include "lockstep/base/error.h"
#include "print.h"

using namespace lockstep;

TEST_CASE("every part runs exactly once, for any number of threads") {
  for (const int threads : {1, 2, 3, 7}) {
    set_threads(threads);
    for (const std::int64_t parts : {0, 1, 2, 5, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<std::size_t>(parts));
      parallel_for(parts, [&](std::int64_t i) { hits[static_cast<std::size_t>(i)].fetch_add(1); });
      for (const auto& h : hits) CHECK(h.load() == 1);
    }
    std::vector<std::atomic<int>> workers(static_cast<std::size_t>(threads));
    parallel_static([&](int worker, int count) {
      CHECK(count == threads);
      workers[static_cast<std::size_t>(worker)].fetch_add(1);
    });
    for (const auto& w : workers) CHECK(w.load() == 1);
  }
  set_threads(0);
}

TEST_CASE("many small jobs, with and without sleeping workers") {
  set_threads(3);
  std::atomic<std::int64_t> sum{0};
  for (int job = 0; job < 20000; ++job) {
    parallel_for(4, [&](std::int64_t i) { sum.fetch_add(i, std::memory_order_relaxed); });
  }
  for (int job = 0; job < 50; ++job) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    parallel_for(4, [&](std::int64_t i) { sum.fetch_add(i, std::memory_order_relaxed); });
  }
  CHECK(sum.load() == 6 * 20050);
  set_threads(0);
}

TEST_CASE("nested and concurrent calls run inline") {
  set_threads(2);
  std::atomic<int> count{0};
  parallel_for(8, [&](std::int64_t) {
    CHECK(ThreadPool::inside());
    parallel_for(8, [&](std::int64_t) { count.fetch_add(1); });
  });
  CHECK(count.load() == 64);
  CHECK_FALSE(ThreadPool::inside());
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) parallel_for(5, [&](std::int64_t) { count.fetch_add(1); });
    });
  }
  for (auto& c : callers) c.join();
  CHECK(count.load() == 64 + 3 * 200 * 5);
  set_threads(0);
}

TEST_CASE("the lowest part's exception leaves, with the caller's frames, after all parts ran") {
  for (const int threads : {1, 3}) {
    set_threads(threads);
    std::atomic<int> count{0};
    const Frame frame("while testing");
    try {
      parallel_for(100, [&](std::int64_t i) {
        count.fetch_add(1);
        if (i % 30 == 20) failf(Category::data, "part {}", i);
      });
      FAIL("an exception must leave");
    } catch (const Error& error) {
      CHECK(error.message == "part 20");
      CHECK(error.frames == std::vector<std::string>{"while testing"});
    }
    CHECK(count.load() == 100);
  }
  set_threads(0);
}

TEST_CASE("workers have the floating-point environment of the contract") {
  set_float_environment();
  set_threads(3);
  std::atomic<int> wrong{0};
  parallel_for(64, [&](std::int64_t) {
    if (!float_environment_ok()) wrong.fetch_add(1);
  });
  CHECK(wrong.load() == 0);
  CHECK_THROWS_AS(ThreadPool(0), Error);
  set_threads(0);
}
