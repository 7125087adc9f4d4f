// Dataset: samples by index. One per split.
#pragma once

#include <filesystem>
#include <optional>

#include "lockstep/base/json.h"
#include "lockstep/base/sha256.h"
#include "lockstep/component/component.h"
#include "lockstep/data/fields.h"

namespace lockstep {

/// One sample on its way through a worker: one value a field. Buffers are the worker's scratch or the batch's own slot.
class Sample {
 public:
  struct Value {
    Shape shape;
    DType dtype = DType::f32;
    std::byte* data = nullptr;
  };
  std::vector<Value> values;                 // in the order of SampleSpec::fields
  std::int64_t index = 0;                    // dataset index
  const SampleSpec* spec = nullptr;          // of the values at this stage: names and roles
  template <class T>
  [[nodiscard]] T* as(std::size_t field) { return reinterpret_cast<T*>(values[field].data); }
  /// A buffer for `field`'s next value; the old one stays readable until the next call for this field. Sets shape and dtype.
  std::byte* rewrite(std::size_t field, const Shape& s, DType t);
  /// Where the last value of `field` shall lie; null: scratch. rewrite() hands the slot out when the sizes agree; who bound
  /// it copies what ended elsewhere.
  void bind(std::size_t field, std::byte* slot, std::size_t bytes);
  /// Lays `values` out as a dataset of this spec must find them. Call it after bind().
  void start(const SampleSpec& of);

 private:
  struct Buffers {
    std::vector<std::byte> scratch[2];
    int next = 0;
    std::byte* slot = nullptr;
    std::size_t slot_bytes = 0;
  };
  std::vector<Buffers> buffers_;
};

/// One file of a dataset: path relative to the dataset's root, size in bytes, content digest (once known).
struct ManifestEntry {
  std::string path;
  std::uint64_t size = 0;
  Digest sha256{};
};
/// Sorted by the bytes of the path. `digest` covers paths and contents, not where the root lies.
struct Manifest {
  std::filesystem::path root;
  std::vector<ManifestEntry> files;
  Json generated;                            // what stands in for files where data is generated; null otherwise
  [[nodiscard]] Digest digest() const;       // hashes what is not hashed yet; throws data naming a file that cannot be read
};

/// Asks the caches for `bytes` bytes from `at` on, without waiting.
inline void prefetch_bytes(const void* at, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  for (std::size_t b = 0; b < bytes; b += kLine) __builtin_prefetch(static_cast<const std::byte*>(at) + b);
}

/// What a factory knows besides its config.
struct DatasetContext {
  std::uint64_t seed = 0;
  std::string_view split;                    // "train", "val", "test" or the id under data.val
};

class Dataset {
 public:
  static constexpr std::string_view kKind = "datasets";
  virtual ~Dataset() = default;
  [[nodiscard]] virtual const SampleSpec& spec() const = 0;
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Writes sample `i` in [0, size()) into `s`, whose values are laid out as spec() says. Called from many threads.
  virtual void get(std::int64_t i, Sample& s) const = 0;
  /// Sample `i` is asked for soon: a dataset in memory asks the caches for it (prefetch_bytes). Never needed for the result.
  virtual void prefetch(std::int64_t) const {}
  [[nodiscard]] virtual Manifest manifest() const = 0;
  /// Length for bucketing; 1 where samples have one shape.
  [[nodiscard]] virtual std::int64_t length(std::int64_t) const { return 1; }
  /// Class index of sample `i` where it is known without decoding the sample; nothing otherwise.
  [[nodiscard]] virtual std::optional<std::int64_t> label(std::int64_t) const { return std::nullopt; }
  /// Where sample `i` comes from, for messages: "train-images-idx3-ubyte.gz, image 17".
  [[nodiscard]] virtual std::string where(std::int64_t i) const = 0;
};
/// Throws data for the first sample whose class index lies outside [0, num_classes) of the dataset's own spec, naming the
/// sample, its place and the range. Cheap where label() knows; else it reads every sample. Nothing to do without classes.
void check_targets(const Dataset& data, std::string_view split);
/// Throws data unless `other` has the class map of `train`: same field names, classes and class names.
void check_class_map(const SampleSpec& train, const SampleSpec& other, std::string_view split);

using DatasetDef = ComponentOf<Dataset, const DatasetContext&>;

}  // namespace lockstep
