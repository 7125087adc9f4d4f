// Committer: the commit protocol. Invariant: db.step <= last.ckpt.step <= durable rows and chain.
#pragma once

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

/// How an attempt to commit ended. `best`: best.ckpt holds this step, whatever became of the rest.
struct CommitResult {
  bool done = false, best = false;
};

/// Cuts the chain back to record `t` and syncs; a file that never got its whole start is removed when t is 0.
/// Throws data when the chain is shorter.
void restore_chain(FileSystem& files, const std::string& path, std::int64_t t);

class Committer {
 public:
  /// `base` is the identity without data digests; `hasher` is asked for them at the first commit. `expected`: the full
  /// identity that a resumed checkpoint carries (all zero: none), which the data must still give.
  Committer(RunFiles run, Experiment& e, Json base, std::unique_ptr<ManifestHasher> hasher, Digest expected, const ChainRecord& head, std::int64_t keep);

  /// Rows wait here until their commit.
  RowLog rows;
  /// One step's record; joins the chain at the next commit.
  void record(const Nh128& batch, double loss, double grad_norm, const Nh128& fingerprint);

  /// Commits step `train.step`. Not done when it failed in a way that may pass (locked, I/O): the last commit stands and
  /// the next due step tries again. Throws resource at the third failure in a row or when no space is left, data when the
  /// data no longer have the digests that the run began with. `so_far` is what a killed segment will show.
  CommitResult commit(TrainState& train, std::int64_t epoch, Selection& selection, bool best, const SegmentEnd& so_far, Observer& observer);
  /// Steps 8 and 9: model.safetensors, then the final status. Tries three times unless no space is left.
  void finish(RunStatus status, std::string_view reason, std::int64_t epoch, const SegmentEnd& end, Observer& observer);
  /// Compares the data's digests with `expected` once they are known, without waiting. Throws data as commit() does.
  void check_data();

  [[nodiscard]] std::int64_t committed() const { return committed_; }     // step of the last commit; -1: none yet
  void set_committed(std::int64_t step, const Digest& state);
  [[nodiscard]] const Digest& state_digest() const { return state_; }     // of the last commit
  [[nodiscard]] const ChainRecord& head() const { return head_; }
  /// "The checkpoint of step 4 stands", or that there is none yet.
  [[nodiscard]] std::string what_stands() const;
  /// sd-v1 of the model now.
  [[nodiscard]] Digest hash_now() const;

 private:
  void identify();
  void write(TrainState& train, std::int64_t epoch, Selection& selection, bool best, const SegmentEnd& so_far);
  void place(std::int64_t step, const std::string& hash, bool best, bool keep);
  void retain(const Selection& selection, Observer& observer);
  void export_model(RunStatus status);
  [[nodiscard]] std::string gave_up(const Error& e) const;

  RunFiles run_;
  Experiment& e_;
  Json base_;
  std::unique_ptr<ManifestHasher> hasher_;
  Digest identity_{}, expected_{};
  std::vector<ChainRecord> pending_;
  ChainRecord head_;
  std::int64_t chain_durable_ = 0;
  std::int64_t committed_ = -1;                // rows, files and run row agree on this step
  std::int64_t placed_ = -1;                   // step of last.ckpt, which an attempt may have left ahead of the rows
  std::vector<ArtifactRow> unrecorded_;        // files in place without their rows: the next commit records them
  Digest state_{};
  std::int64_t keep_;
  int failures_ = 0;
};

/// Parameters and buffers of an experiment, as hashes and exports take them.
std::vector<TensorEntry> state_entries(const Experiment& e);

}  // namespace lockstep
