// StateVisitor: the one door for everything that carries state. One function saves, loads, hashes and counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/tensor/tensor.h"

namespace lockstep {

/// What a tensor is to the state_dict: parameters and buffers are hashed (sd-v1) and exported; slots belong to optimizers
/// and hooks and live in checkpoints only.
enum class StateKind : std::uint8_t { parameter, buffer, slot };

/// Visits named state. A loading visitor writes through the references; the others only read.
/// Names are dotted paths, unique within a visit; `Section` prefixes them.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  /// `t` keeps its storage: loading copies into it. Shape or dtype that differ from the saved ones: usage error with both.
  virtual void tensor(std::string_view name, Tensor& t, StateKind kind) = 0;
  virtual void integer(std::string_view name, std::int64_t& v) = 0;
  virtual void real(std::string_view name, double& v) = 0;             // saved by bits
  virtual void string(std::string_view name, std::string& v) = 0;
  virtual void integers(std::string_view name, std::vector<std::int64_t>& v) = 0;
  virtual void reals(std::string_view name, std::vector<double>& v) = 0;
  /// True when the visit writes into the objects.
  [[nodiscard]] virtual bool loading() const = 0;
  [[nodiscard]] const std::string& prefix() const { return prefix_; }

  /// Prefixes names with "prefix." until the end of the block; an empty prefix adds nothing.
  class Section {
   public:
    Section(StateVisitor& v, std::string_view name) : v_(v), size_(v.prefix_.size()) {
      if (!name.empty()) v.prefix_.append(name).push_back('.');
    }
    ~Section() { v_.prefix_.resize(size_); }
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

   private:
    StateVisitor& v_;
    std::size_t size_;
  };

 protected:
  [[nodiscard]] std::string full(std::string_view name) const { return prefix_ + std::string(name); }

 private:
  std::string prefix_;
};

}  // namespace lockstep
