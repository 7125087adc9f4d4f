// The visitors that move state: into a checkpoint, out of one, into a list of named tensors; and one that counts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/io/checkpoint.h"
#include "lockstep/state/visitor.h"

namespace lockstep {

/// "parameter", "buffer", "slot".
std::string_view text(StateKind k);

/// The section that holds a run's model. The names of a state_dict do not carry it.
inline constexpr std::string_view kModelSection = "model";
/// Parameters and buffers of a checkpoint's model, under the names that the model gives them: what sd-v1 hashed.
std::vector<TensorEntry> state_dict(const Checkpoint& c);

/// Appends what it visits to a checkpoint: tensors by handle (their data is read when the checkpoint is written),
/// scalars by value into Checkpoint::scalars as name -> [type, value]; reals as 16 hexadecimal digits of their bits.
/// Throws internal when a name is visited twice.
class StateSaver final : public StateVisitor {
 public:
  explicit StateSaver(Checkpoint& out) : out_(out) {}
  void tensor(std::string_view name, Tensor& t, StateKind kind) override;
  void integer(std::string_view name, std::int64_t& v) override;
  void real(std::string_view name, double& v) override;
  void string(std::string_view name, std::string& v) override;
  void integers(std::string_view name, std::vector<std::int64_t>& v) override;
  void reals(std::string_view name, std::vector<double>& v) override;
  [[nodiscard]] bool loading() const override { return false; }

 private:
  void add(std::string_view name, std::string_view type, Json value);
  const std::string& once(std::string name);
  Checkpoint& out_;
  std::set<std::string> names_;
};

/// Copies a checkpoint into what it visits. What does not fit is left as it is and noted; finish() throws.
class StateLoader final : public StateVisitor {
 public:
  /// Keeps a reference to `from`; `where` names it in messages.
  StateLoader(const Checkpoint& from, std::string where);
  void tensor(std::string_view name, Tensor& t, StateKind kind) override;
  void integer(std::string_view name, std::int64_t& v) override;
  void real(std::string_view name, double& v) override;
  void string(std::string_view name, std::string& v) override;
  void integers(std::string_view name, std::vector<std::int64_t>& v) override;
  void reals(std::string_view name, std::vector<double>& v) override;
  [[nodiscard]] bool loading() const override { return true; }

  [[nodiscard]] std::size_t loaded() const { return loaded_; }
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }        // visited, not saved
  [[nodiscard]] const std::vector<std::string>& mismatched() const { return mismatched_; }  // a sentence each
  [[nodiscard]] std::vector<std::string> unexpected() const;                                // saved, not visited
  /// Throws usage, naming all of them, unless everything fitted.
  void finish() const;

 private:
  struct Saved {
    const CheckpointTensor* tensor = nullptr;
    const Json* scalar = nullptr;
    bool used = false;
  };
  Saved* find(std::string_view name);
  template <class Read>
  void scalar(std::string_view name, std::string_view type, Read&& read);
  std::string where_;
  std::map<std::string, Saved, std::less<>> saved_;
  std::size_t loaded_ = 0;
  std::vector<std::string> missing_, mismatched_;
};

/// Gathers tensors under their full names, and counts. Scalars are passed over.
class StateCollector final : public StateVisitor {
 public:
  void tensor(std::string_view name, Tensor& t, StateKind kind) override;
  void integer(std::string_view, std::int64_t&) override {}
  void real(std::string_view, double&) override {}
  void string(std::string_view, std::string&) override {}
  void integers(std::string_view, std::vector<std::int64_t>&) override {}
  void reals(std::string_view, std::vector<double>&) override {}
  [[nodiscard]] bool loading() const override { return false; }

  std::vector<TensorEntry> parameters, buffers, slots;      // in the order of the visit
  std::int64_t parameter_count = 0;                         // elements
  std::int64_t parameter_bytes = 0, buffer_bytes = 0, slot_bytes = 0;
  /// Parameters and buffers, sorted by the bytes of their names: what sd-v1 hashes and model.safetensors holds.
  [[nodiscard]] std::vector<TensorEntry> state_dict() const;
};

}  // namespace lockstep
