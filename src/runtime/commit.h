// Committer: the commit protocol. Invariant: db.step <= last.ckpt.step <= durable rows and chain.
#pragma once

#include <future>

#include "lockstep/io/checkpoint.h"
#include "lockstep/runtime/identity.h"
#include "lockstep/runtime/observer.h"
#include "lockstep/state/chain.h"
#include "lockstep/track/run_dir.h"

namespace lockstep {

/// The section `selection` of a checkpoint: what may follow nuisances.
struct Selection {
  std::int64_t last_eval = 0;                  // step of the last completed evaluation
  std::vector<MetricValue> values;             // what it said
  std::optional<double> best;                  // of the monitored metric; none: never evaluated
  std::int64_t best_step = 0;
  std::vector<std::int64_t> kept;              // steps of retained checkpoints, ascending
};
Json to_json(const Selection& s);
Selection selection_from(const Json& j);

/// Scalars of the trainer itself that a later step depends on.
struct TrainState {
  std::int64_t step = 0;                       // optimizer steps done
  std::string stop_reason;                     // a hook asked to stop: the run is complete
  void state(StateVisitor& v);
};

/// Everything of a run that the trainer and the commit protocol share.
struct RunFiles {
  FileSystem& files;
  Store& store;
  std::string id;
  RunPaths paths;
  std::int64_t segment = 0;
};

class Committer {
 public:
  /// `base` is the identity without data digests; `digests` is asked for at the first commit. `expected`: the full
  /// identity that a resumed checkpoint carries (all zero: none), which the data must still give.
  Committer(RunFiles run, Experiment& e, Json base, std::future<Json> digests, Digest expected, const ChainRecord& head, std::int64_t keep);

  /// Rows wait here until their commit.
  RowLog rows;
  /// One step's record; joins the chain at the next commit.
  void record(const Nh128& batch, double loss, double grad_norm, const Nh128& fingerprint);

  /// Commits step `train.step`. False when it failed in a way that may pass (locked, I/O): the last commit stands and the
  /// next due step tries again. Throws resource at the third failure in a row or when no space is left, data when the
  /// data no longer have the digests that the run began with.
  bool commit(TrainState& train, std::int64_t epoch, Selection& selection, bool best, Observer& observer);
  /// Steps 8 and 9: model.safetensors, then the final status.
  void finish(RunStatus status, std::string_view reason, std::int64_t epoch, const SegmentEnd& end);

  [[nodiscard]] std::int64_t committed() const { return committed_; }     // step of the last commit; -1: none yet
  void set_committed(std::int64_t step, const Digest& state);
  [[nodiscard]] const Digest& state_digest() const { return state_; }     // of the last commit
  [[nodiscard]] const ChainRecord& head() const { return head_; }
  /// sd-v1 of the model now.
  [[nodiscard]] Digest hash_now() const;

 private:
  void write(TrainState& train, std::int64_t epoch, Selection& selection, bool best);
  void place(std::int64_t step, bool best, bool keep);
  void retain(Selection& selection);

  RunFiles run_;
  Experiment& e_;
  Json base_;
  std::future<Json> digests_;
  Digest identity_{}, expected_{};
  bool identified_ = false;
  std::vector<ChainRecord> pending_;
  ChainRecord head_;
  std::int64_t chain_durable_ = 0;
  std::int64_t committed_ = -1;
  Digest state_{};
  std::int64_t keep_;
  int failures_ = 0;
};

/// Parameters and buffers of an experiment, as hashes and exports take them.
std::vector<TensorEntry> state_entries(const Experiment& e);

}  // namespace lockstep
