// Tiny runs for the tests of the runtime: configs from text, an observer that remembers, what a run left behind.
#pragma once

#include <doctest/doctest.h>

#include <bit>
#include <cstdlib>
#include <functional>

#include "lockstep/base/error.h"
#include "lockstep/base/fault_files.h"
#include "lockstep/io/checkpoint.h"
#include "lockstep/ops/builtin.h"
#include "lockstep/runtime/train.h"
#include "lockstep/runtime/observer.h"
#include "lockstep/track/run_dir.h"
#include "lockstep/track/store.h"
#include "print.h"
#include "temp_folder.h"

namespace lockstep::test {

/// Six steps, a checkpoint at every second one with an evaluation before it, one older checkpoint kept.
inline constexpr std::string_view kTiny = R"(name: tiny
seed: 1
data:
  train: {name: synthetic, size: 24, shape: [4], num_classes: 3}
  val: {name: synthetic, size: 12, shape: [4], num_classes: 3}
  loader: {batch_size: 8}
model: {name: mlp, hidden_features: [4]}
loss: cross_entropy
optim: {name: adamw, lr: 1e-2}
metrics: [accuracy]
train: {epochs: 2, log_every: 1, eval_every_steps: 2, checkpoint: {every_steps: 2, monitor: val/loss, keep: 1}}
)";

inline void put(const std::string& path, std::string_view bytes) {
  const auto file = real_files().open(path, OpenMode::truncate);
  file->write(bytes);
  file->close();
}

/// A folder, in memory where the system has one: these tests sync a lot.
class Place {
 public:
  Place() { install_builtin_ops(); }
  [[nodiscard]] std::string runs() const { return folder_ / "runs"; }
  [[nodiscard]] const std::string& path() const { return folder_.path(); }
  [[nodiscard]] LoadedConfig config(std::vector<std::string> overrides = {}, std::string_view yaml = kTiny) const {
    return load_config(folder_.write("tiny.yaml", yaml), overrides);
  }

 private:
  TempFolder folder_{std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp"};
};

/// kTiny on idx files of 24 and 12 images, each 2 by 2, in the folder of `place`.
class IdxData {
 public:
  explicit IdxData(const Place& place) : folder_(place.path() + "/data") {
    real_files().mkdir(folder_);
    set("train", 24, 0);
    set("t10k", 12, 0);
    for (const char* split : {"train", "val"}) {
      const std::string from = fmt::format("  {}: {{name: synthetic, size: {}, shape: [4], num_classes: 3}}", split, std::string_view(split) == "train" ? 24 : 12);
      yaml.replace(yaml.find(from), from.size(), fmt::format("  {}: {{name: idx, root: {}}}", split, folder_));
    }
    yaml.replace(yaml.find("  loader:"), 0, "  transforms: {all: [normalize: {mean: [0.5], std: [0.5]}]}\n");
  }
  /// Writes the files of a split with `n` images; another `salt` gives other pixels.
  void set(const std::string& name, std::uint32_t n, int salt) const {
    const auto number = [](std::uint32_t v) { return std::string{static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)}; };
    std::string images = std::string("\0\0\x08\x03", 4) + number(n) + number(2) + number(2), labels = std::string("\0\0\x08\x01", 4) + number(n);
    for (std::uint32_t i = 0; i < n * 4; ++i) images += static_cast<char>(i * 37 + static_cast<std::uint32_t>(salt));
    for (std::uint32_t i = 0; i < n; ++i) labels += static_cast<char>(i % 3);
    put(folder_ + "/" + name + "-images-idx3-ubyte", images);
    put(folder_ + "/" + name + "-labels-idx1-ubyte", labels);
  }
  std::string yaml{kTiny};

 private:
  std::string folder_;
};

class Recorder final : public Observer {
 public:
  std::function<void(std::int64_t)> on_step = [](std::int64_t) {};
  std::vector<std::string> lines;
  std::vector<std::int64_t> evaluations, commits;
  std::int64_t started_at = -1;
  bool resumed = false;
  void started(const StartEvent& e) override {
    started_at = e.step;
    resumed = e.resumed;
  }
  void stepped(const StepEvent& e) override { on_step(e.step); }
  void evaluated(std::int64_t step, std::int64_t, const Evaluation&) override { evaluations.push_back(step); }
  void committed(const CommitEvent& e) override { commits.push_back(e.step); }
  void said(std::string_view line) override { lines.emplace_back(line); }
  [[nodiscard]] bool heard(std::string_view part) const {
    return std::ranges::any_of(lines, [&](const std::string& l) { return l.find(part) != std::string::npos; });
  }
};

inline TrainResult go(const LoadedConfig& config, const Place& place, Recorder& seen, ResumeMode resume = ResumeMode::none,
                      FileSystem* files = nullptr, std::string run = {}) {
  TrainOptions options;
  options.runs_dir = place.runs();
  options.resume = resume;
  options.resume_run = std::move(run);
  options.threads = 1;
  options.files = files;
  return train(config, options, seen);
}
inline TrainResult go(const LoadedConfig& config, const Place& place, ResumeMode resume = ResumeMode::none) {
  Recorder seen;
  return go(config, place, seen, resume);
}
inline TrainResult fork_of(const LoadedConfig& config, const Place& place, const std::string& run, FileSystem* files = nullptr) {
  Recorder seen;
  return train(config, {.runs_dir = place.runs(), .resume = ResumeMode::run, .resume_run = run, .fork = true, .threads = 1, .files = files}, seen);
}

/// The error that `f` ends in; an internal one without a text when it does not.
template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  return Error(Category::internal, "");
}

/// What a run left, as far as it must not depend on what happened on the way.
struct Outcome {
  std::string state, chain;                              // hashes
  std::string chain_bytes, last, best;                   // files
  std::vector<std::string> rows, hashes, files;          // files: names in checkpoints/
  RunStatus status = RunStatus::running;
  std::int64_t step = 0;
};

inline Outcome outcome(const Place& place, const std::string& id) {
  Store store = Store::open(place.runs(), StoreMode::existing);
  const RunRow row = *store.run(id);
  const RunPaths paths{place.runs() + "/" + id};
  FileSystem& files = real_files();
  Outcome out{row.state_hash, row.chain_hash, files.read_file(paths.chain()), files.read_file(paths.last()), {}, {}, {}, {}, row.status, row.step};
  if (files.exists(paths.best())) out.best = files.read_file(paths.best());
  for (const auto& m : store.metrics(id))
    out.rows.push_back(fmt::format("{} {} {} {:016x}", m.name, m.step, m.epoch, std::bit_cast<std::uint64_t>(m.value)));
  for (const auto& h : store.state_hashes(id)) out.hashes.push_back(fmt::format("{} {}", h.step, h.hash));
  out.files = files.list(paths.checkpoints());
  return out;
}

inline std::vector<std::string> run_folders(const Place& place) {
  std::vector<std::string> out;
  for (const auto& name : real_files().list(place.runs()))
    if (is_run_id(name)) out.push_back(name);
  return out;
}

inline void flip_byte(const std::string& path) {
  std::string bytes = real_files().read_file(path);
  bytes[bytes.size() / 2] ^= 1;
  real_files().unlink(path);   // its hard links keep the old contents
  put(path, bytes);
}

/// What an uninterrupted run of kTiny leaves behind.
inline Outcome reference(std::vector<std::string> overrides = {}) {
  const Place place;
  return outcome(place, go(place.config(std::move(overrides)), place).run);
}
inline RunPaths paths(const Place& place, const std::string& run) { return {place.runs() + "/" + run}; }
inline Store store_of(const Place& place) { return Store::open(place.runs(), StoreMode::existing); }

inline void check_same(const Place& place, const std::string& run, const Outcome& expected) {
  const Outcome b = outcome(place, run);
  CHECK(b.state == expected.state);
  CHECK(b.chain == expected.chain);
  CHECK(b.chain_bytes == expected.chain_bytes);
  CHECK(b.rows == expected.rows);
}

}  // namespace lockstep::test
