// A run's folder: its id, its files, its lock, its record.
#include "lockstep/track/run_dir.h"

#include <sys/random.h>

#include <algorithm>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"

namespace lockstep {
namespace {

constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::string_view kForm = "dddddddd-dddddd-aaaa";  // d: digit, a: of the alphabet

}  // namespace

std::string RunPaths::kept(std::int64_t step) const {
  return fmt::format("{}/checkpoints/step-{:09}.ckpt", dir, step);
}

std::string make_run_id(std::int64_t wall_ns, std::uint32_t entropy) {
  // "2024-05-01T12:34:56.789Z" keeps its digits and loses the rest.
  const std::string now = utc_text(wall_ns);
  std::string id;
  for (const char c : now.substr(0, 19)) {
    if (c == 'T') id += '-';
    if (c >= '0' && c <= '9') id += c;
  }
  id += '-';
  // Four digits would read as a number in some tools, so the first character is then a letter.
  std::string tail;
  for (int i = 0; i < 4; ++i) tail += kAlphabet[(entropy >> (5 * i)) & 31U];
  const bool digits = std::ranges::all_of(tail, [](char c) { return c >= '0' && c <= '9'; });
  if (digits) tail[0] = kAlphabet[(entropy >> 20) % 26U];
  return id + tail;
}

bool is_run_id(std::string_view word) {
  if (word.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool digit = word[i] >= '0' && word[i] <= '9';
    const bool letter = kAlphabet.find(word[i]) != std::string_view::npos;
    if (!(kForm[i] == 'd' ? digit : kForm[i] == 'a' ? letter : word[i] == '-')) return false;
  }
  return true;
}

NewRun create_run_dir(FileSystem& files, const std::string& runs_dir) {
  make_dirs(files, runs_dir);
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::uint32_t entropy = 0;
    if (::getrandom(&entropy, sizeof entropy, 0) != static_cast<ssize_t>(sizeof entropy)) {
      entropy = static_cast<std::uint32_t>(monotonic_ns());
    }
    const std::string id = make_run_id(wall_ns(), entropy);
    const RunPaths paths{join_path(runs_dir, id)};
    if (!files.mkdir(paths.dir)) continue;
    // `runs reap` may remove the folder while it is empty; then another id is taken.
    std::optional<FileLock> lock;
    try {
      lock = FileLock::try_lock(paths.lock());
    } catch (const Error&) {
      if (files.exists(paths.dir)) throw;
    }
    if (!lock || !files.exists(paths.lock())) continue;
    files.sync_dir(runs_dir);
    return NewRun{id, paths, std::move(*lock)};
  }
  failf(Category::resource, "cannot make a run folder in {}: 100 ids in a row were taken", quote(runs_dir));
}

FileLock lock_run(const RunPaths& paths, const SegmentRow* segment) {
  auto lock = FileLock::try_lock(paths.lock());
  if (!lock) {
    failf(Category::usage,
          "run {} is at work in another process{}; one run has one owner. Wait for it, or stop it with SIGTERM: it then "
          "commits and can be resumed",
          quote(file_name(paths.dir)),
          segment == nullptr ? std::string() : fmt::format(" (pid {} on {})", segment->pid, segment->host));
  }
  return std::move(*lock);
}

Json run_record(const RunRow& run, Json identity, Json data, Json environment) {
  Json parent;
  if (run.parent) {
    parent = Json::object().set("run", run.parent->run).set("step", run.parent->step).set("hash", run.parent->hash);
  }
  return Json::object()
      .set("format", 1)
      .set("run", run.id)
      .set("name", run.name)
      .set("created", utc_text(run.created_ns))
      .set("created_ns", run.created_ns)
      .set("parent", std::move(parent))
      .set("identity_digest", run.identity)
      .set("identity", std::move(identity))
      .set("data", std::move(data))
      .set("environment", std::move(environment));
}

namespace {

void require_file(FileSystem& files, const RunPaths& paths, std::string_view id, const std::string& path) {
  if (files.exists(path)) return;
  failf(Category::data, "run {} has lost its {}, which says what it trained. Put it back, or start a new run with --new", id,
        files.exists(paths.dir) ? "file " + quote(path) : "folder " + quote(paths.dir));
}

}  // namespace

Json read_run_record(FileSystem& files, const RunPaths& paths, std::string_view id) {
  require_file(files, paths, id, paths.record());
  return Json::parse(files.read_file(paths.record()), paths.record());
}

std::string config_of(FileSystem& files, const RunPaths& paths, std::string_view id) {
  require_file(files, paths, id, paths.config());
  return paths.config();
}

RunRow run_from_record(const Json& record) {
  const std::int64_t format = record.at("format").integer();
  if (format != 1) {
    failf(Category::data, "run.json has format {}, this lockstep reads format 1: use the newer lockstep that wrote it",
          format);
  }
  RunRow run;
  run.id = record.at("run").string();
  run.name = record.at("name").string();
  run.created_ns = record.at("created_ns").integer();
  run.identity = record.at("identity_digest").string();
  if (const Json& parent = record.at("parent"); !parent.is_null()) {
    ParentRef ref;
    ref.run = parent.at("run").string();
    ref.step = parent.at("step").integer();
    ref.hash = parent.at("hash").string();
    run.parent = std::move(ref);
  }
  run.status = RunStatus::interrupted;
  return run;
}

}  // namespace lockstep
