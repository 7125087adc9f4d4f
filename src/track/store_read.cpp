// Store: the reading half. Superseded rows are left out of every query.
#include <sys/vfs.h>

#include <algorithm>
#include <cmath>

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "track/store_impl.h"

namespace lockstep {

using track::Statement;

namespace {

constexpr std::string_view kRunColumns =
    "SELECT id, name, status, reason, created_ns, identity, config, directory, step, epoch, state_hash, chain_hash, "
    "parent_run, parent_step, parent_hash FROM runs ";

RunRow read_run(Statement& s) {
  RunRow r;
  r.id = s.text();
  r.name = s.text();
  const std::string status = s.text();
  const auto parsed = parse_run_status(status);
  if (!parsed) failf(Category::data, "run {} has the unknown status {} in the run store: it is damaged. Move lockstep.db away and let `lockstep runs "
                     "reindex` rebuild it from the run folders (curves are lost, training is not)", r.id, quote(status));
  r.status = *parsed;
  r.reason = s.text();
  r.created_ns = s.integer();
  r.identity = s.text();
  r.config = s.text();
  r.directory = s.text();
  r.step = s.integer();
  r.epoch = s.integer();
  r.state_hash = s.text();
  r.chain_hash = s.text();
  if (!s.null_next()) {
    ParentRef parent;
    parent.run = s.text();
    parent.step = s.integer();
    parent.hash = s.text();
    r.parent = std::move(parent);
  }
  return r;
}

// One line for each candidate, at most eight.
std::string candidates(const std::vector<RunRow>& runs) {
  std::string out;
  for (std::size_t i = 0; i < runs.size() && i < 8; ++i) {
    out += fmt::format("\n  {}  {}  {}", runs[i].id, text(runs[i].status), runs[i].name);
  }
  if (runs.size() > 8) out += fmt::format("\n  and {} more", runs.size() - 8);
  return out;
}

}  // namespace

std::optional<RunRow> Store::run(std::string_view id) const {
  Statement query(impl_->db, fmt::format("{}WHERE id = ?", kRunColumns));
  if (!query.bind(id).row()) return std::nullopt;
  return read_run(query);
}

std::vector<RunRow> Store::runs(std::string_view name) const {
  Statement query(impl_->db,
                  fmt::format("{}WHERE ?1 = '' OR name = ?1 ORDER BY created_ns DESC, key DESC", kRunColumns));
  query.bind(name);
  std::vector<RunRow> out;
  while (query.row()) out.push_back(read_run(query));
  return out;
}

RunRow Store::find_run(std::string_view word) const {
  const std::vector<RunRow> all = runs();
  if (all.empty()) {
    failf(Category::usage, "there is no run {}: {} holds no runs yet", quote(word), quote(impl_->runs_dir));
  }
  if (word == "last") return all.front();
  const auto same = [&](auto member) {
    return std::ranges::find_if(all, [&](const RunRow& r) { return r.*member == word; });
  };
  if (const auto at = same(&RunRow::id); at != all.end()) return *at;
  if (const auto at = same(&RunRow::name); at != all.end()) return *at;
  std::vector<RunRow> matches;
  for (const RunRow& r : all) {
    if (!word.empty() && r.id.starts_with(word)) matches.push_back(r);
  }
  if (matches.size() == 1) return matches.front();
  if (matches.size() > 1) {
    failf(Category::usage, "{} could be any of {} runs; give more of the id:{}", quote(word), matches.size(),
          candidates(matches));
  }
  std::vector<std::string> words;
  for (const RunRow& r : all) {
    words.push_back(r.name);
    words.push_back(r.id);
  }
  const auto near = nearest(word, words);
  failf(Category::usage,
        "there is no run {} in {} ({} {}){} A run is named by its id, the start of its id, its name (the newest) or "
        "`last`",
        quote(word), quote(impl_->runs_dir), all.size(), all.size() == 1 ? "run" : "runs",
        near ? fmt::format("; did you mean {}?", quote(*near)) : std::string("."));
}

std::vector<SegmentRow> Store::segments(std::string_view run) const {
  Statement query(impl_->db,
                  "SELECT key, pid, host, started_ns, ended_ns, first_step, last_step, threads, workers, isa, build, "
                  "lockstep_version, git_commit, git_dirty, environment, wall_s, train_samples, train_s, "
                  "step_ms_median, peak_rss_bytes, exit_code FROM segments WHERE run = ? ORDER BY key");
  query.bind(impl_->key(run));
  std::vector<SegmentRow> out;
  while (query.row()) {
    SegmentRow s;
    s.id = query.integer();
    s.run = run;
    s.pid = query.integer();
    s.host = query.text();
    s.started_ns = query.integer();
    s.ended_ns = query.integer();
    s.first_step = query.integer();
    s.last_step = query.integer();
    s.threads = static_cast<int>(query.integer());
    s.workers = static_cast<int>(query.integer());
    s.isa = query.text();
    s.build = query.text();
    s.lockstep_version = query.text();
    s.git_commit = query.text();
    s.git_dirty = query.integer() != 0;
    s.environment = query.text();
    s.wall_s = query.real();
    s.train_samples = query.integer();
    s.train_s = query.real();
    s.step_ms_median = query.real();
    s.peak_rss_bytes = query.integer();
    if (!query.null_next()) s.exit_code = static_cast<int>(query.integer());
    out.push_back(std::move(s));
  }
  return out;
}

RunTotals Store::totals(std::string_view run) const {
  RunTotals t;
  std::int64_t samples = 0, longest = -1;
  double train_s = 0;
  for (const SegmentRow& s : segments(run)) {
    t.wall_s += s.wall_s;
    train_s += s.train_s;
    samples += s.train_samples;
    t.peak_rss_bytes = std::max(t.peak_rss_bytes, s.peak_rss_bytes);
    if (!std::isnan(s.step_ms_median) && s.train_samples > longest) {
      longest = s.train_samples;
      t.step_ms_median = s.step_ms_median;
    }
  }
  if (train_s > 0) t.train_samples_per_s = static_cast<double>(samples) / train_s;
  return t;
}

std::vector<MetricRow> Store::metrics(std::string_view run, std::string_view name) const {
  Statement query(impl_->db,
                  "SELECT step, epoch, name, value FROM metrics WHERE run = ?1 AND superseded = 0 AND "
                  "(?2 = '' OR name = ?2) ORDER BY name, step, rowid");
  query.bind(impl_->key(run), name);
  std::vector<MetricRow> out;
  while (query.row()) {
    MetricRow m;
    m.step = query.integer();
    m.epoch = query.integer();
    m.name = query.text();
    m.value = query.real();
    out.push_back(std::move(m));
  }
  return out;
}

std::optional<double> Store::metric(std::string_view run, std::string_view name, std::int64_t step) const {
  Statement query(impl_->db,
                  "SELECT value FROM metrics WHERE run = ? AND name = ? AND step = ? AND superseded = 0 "
                  "ORDER BY rowid DESC LIMIT 1");
  if (!query.bind(impl_->key(run), name, step).row()) return std::nullopt;
  return query.real();
}

std::vector<MetricSummary> Store::summaries(std::string_view run) const {
  std::vector<MetricSummary> out;
  Statement info(impl_->db, "SELECT direction FROM metric_info WHERE run = ? AND name = ?");
  const std::int64_t key = impl_->key(run);
  for (const MetricRow& row : metrics(run)) {
    if (out.empty() || out.back().name != row.name) {
      MetricSummary m;
      m.name = row.name;
      if (info.bind(key, row.name).row()) m.direction = parse_direction(info.text());
      m.best = row.value;
      m.best_step = row.step;
      out.push_back(std::move(m));
    }
    MetricSummary& m = out.back();
    m.last = row.value;
    m.last_step = row.step;
    const bool better = m.direction == Direction::none ||
                        (std::isnan(m.best) && !std::isnan(row.value)) ||
                        (m.direction == Direction::lower ? row.value < m.best : row.value > m.best);
    if (better) {
      m.best = row.value;
      m.best_step = row.step;
    }
  }
  return out;
}

std::vector<StateHashRow> Store::state_hashes(std::string_view run) const {
  Statement query(impl_->db, "SELECT step, hash FROM state_hashes WHERE run = ? AND superseded = 0 ORDER BY step");
  query.bind(impl_->key(run));
  std::vector<StateHashRow> out;
  while (query.row()) {
    StateHashRow row;
    row.step = query.integer();
    row.hash = query.text();
    out.push_back(std::move(row));
  }
  return out;
}

std::vector<ArtifactRow> Store::artifacts(std::string_view run) const {
  Statement query(impl_->db, "SELECT kind, path, step, hash, bytes FROM artifacts WHERE run = ? ORDER BY path");
  query.bind(impl_->key(run));
  std::vector<ArtifactRow> out;
  while (query.row()) {
    ArtifactRow row;
    row.kind = query.text();
    row.path = query.text();
    row.step = query.integer();
    row.hash = query.text();
    row.bytes = query.integer();
    out.push_back(std::move(row));
  }
  return out;
}

std::vector<EventRow> Store::events(std::string_view run) const {
  Statement query(impl_->db,
                  "SELECT step, kind, text, json, time_ns FROM events WHERE run = ? AND superseded = 0 ORDER BY key");
  query.bind(impl_->key(run));
  std::vector<EventRow> out;
  while (query.row()) {
    EventRow row;
    row.step = query.integer();
    row.kind = query.text();
    row.text = query.text();
    row.json = query.text();
    row.time_ns = query.integer();
    out.push_back(std::move(row));
  }
  return out;
}

std::optional<std::string_view> network_filesystem(const std::string& path) {
  struct statfs stats {};
  if (::statfs(path.c_str(), &stats) != 0) return std::nullopt;
  struct Kind {
    std::uint32_t magic;
    std::string_view name;
  };
  static constexpr Kind kKinds[] = {{0x6969, "NFS"},       {0x517b, "SMB"},      {0xff534d42, "CIFS"},
                                    {0xfe534d42, "SMB2"},  {0x5346414f, "AFS"},  {0x00c36400, "CephFS"},
                                    {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"}};
  for (const Kind& kind : kKinds) {
    if (static_cast<std::uint32_t>(stats.f_type) == kind.magic) return kind.name;
  }
  return std::nullopt;
}

}  // namespace lockstep
