// idx: images and labels in the IDX format of MNIST and its relatives, plain or gzip-compressed.
// The format: http://yann.lecun.com/exdb/mnist/ (two zero bytes, a type, the number of axes, big-endian u32 extents, data).
#include "lockstep/base/error.h"
#include "lockstep/base/file.h"
#include "lockstep/base/text.h"
#include "lockstep/data/dataset.h"
#include "lockstep/io/gzip.h"

namespace lockstep {
namespace {

enum class Split : std::uint8_t { train, t10k };
constexpr Choice kSplitChoices[] = {{"train", Split::train, "train-images-idx3-ubyte, train-labels-idx1-ubyte"},
                                    {"t10k", Split::t10k, "t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte"}};
constexpr std::span<const Choice> choices_of(Split) { return kSplitChoices; }

struct Config {
  std::filesystem::path root;
  std::optional<Split> split;
  std::optional<std::string> images, labels;
  std::optional<std::int64_t> num_classes;
  std::vector<std::string> class_names;

  [[nodiscard]] std::string problem() const {
    if (images.has_value() != labels.has_value()) return "images and labels are written together or not at all";
    if (images && split) return "split chooses file names, and so do images and labels: write one or the other";
    if (num_classes && !class_names.empty() && static_cast<std::int64_t>(class_names.size()) != *num_classes)
      return fmt::format("num_classes is {}, and class_names has {} names", *num_classes, class_names.size());
    return {};
  }
};
constexpr Field kFields[] = {
    field<&Config::root>("root", "Folder of the files.").required().as(Role::location),
    field<&Config::split>("split", "Which pair of files; left out: train for data.train, t10k elsewhere."),
    field<&Config::images>("images", "Image file below root, when it is not named as split says."),
    field<&Config::labels>("labels", "Label file below root, when it is not named as split says."),
    field<&Config::num_classes>("num_classes",
                                "Number of classes; left out: names in class_names, else 1 + the largest training label.")
        .in(1, 256),
    field<&Config::class_names>("class_names", "Names of the classes, in the order of their indices."),
};

constexpr std::string_view kHelp =
    "Fashion-MNIST in this format comes with the Debian package dataset-fashion-mnist (apt-get install "
    "dataset-fashion-mnist; root: /usr/share/datasets/fashion-mnist)";

/// An IDX file of bytes, unpacked.
struct IdxFile {
  std::string path;                 // as opened
  std::vector<std::int64_t> dims;
  std::vector<std::byte> data;
};

IdxFile read_idx(const std::string& path, std::size_t axes) {
  IdxFile out;
  out.path = path;
  GzipReader in(path);
  std::array<std::byte, 4> magic{};
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(magic[i]); };
  if (in.read(magic) != 4 || byte(0) != 0 || byte(1) != 0) {
    failf(Category::data, "{} is not an IDX file: it starts with {:02x}{:02x}{:02x}{:02x}, and IDX with 0000, a type and the "
                          "number of axes", quote(path), byte(0), byte(1), byte(2), byte(3));
  }
  if (byte(2) != 0x08) {
    failf(Category::data, "{} holds elements of IDX type 0x{:02x}; only 0x08 (unsigned bytes) is read", quote(path), byte(2));
  }
  if (byte(3) != axes) {
    failf(Category::data, "{} has {} axes, and {} are needed ({})", quote(path), byte(3), axes,
          axes == 3 ? "images: count, height, width" : "labels: count");
  }
  std::uint64_t total = 1;
  for (std::size_t a = 0; a < axes; ++a) {
    std::array<std::byte, 4> b{};
    if (in.read(b) != 4) failf(Category::data, "{} is cut short: it ends inside its header", quote(path));
    std::uint64_t extent = 0;
    for (const std::byte x : b) extent = extent << 8 | std::to_integer<std::uint64_t>(x);
    if (extent == 0) failf(Category::data, "{} is empty: axis {} has the extent 0", quote(path), a);
    out.dims.push_back(static_cast<std::int64_t>(extent));
    if (__builtin_mul_overflow(total, extent, &total)) total = std::numeric_limits<std::uint64_t>::max();
  }
  // Before memory is asked for: a damaged header must not claim more than the file can hold.
  if (total > in.most_bytes()) {
    failf(Category::data, "{} is cut short or damaged: its header announces {} bytes, more than the file can hold",
          quote(path), total);
  }
  out.data.resize(static_cast<std::size_t>(total));
  const std::size_t got = in.read(out.data);
  if (got != out.data.size()) {
    failf(Category::data, "{} is cut short: its header announces {} bytes of data, and {} are there", quote(path), total, got);
  }
  std::byte extra{};
  if (in.read({&extra, 1}) != 0) {
    failf(Category::data, "{} has bytes after the {} that its header announces: it is damaged, or not what it says", quote(path), total);
  }
  return out;
}

class Idx final : public Dataset {
 public:
  Idx(const Config& c, const DatasetContext& context) : root_(c.root) {
    const std::string root = root_.string();
    const auto stat = real_files().stat(root);
    const bool train_by_name = c.split ? *c.split == Split::train : context.split == "train";
    const std::string prefix = train_by_name ? "train" : "t10k";
    const std::string images_name = c.images.value_or(prefix + "-images-idx3-ubyte");
    const std::string labels_name = c.labels.value_or(prefix + "-labels-idx1-ubyte");
    if (!stat || !stat->directory) {
      failf(Category::data, "there is no folder {}: dataset idx looks there for {} and {} (each with or without .gz). {}",
            quote(root), images_name, labels_name, kHelp);
    }
    const IdxFile labels = read_idx(find(labels_name), 1);
    add(labels.path);
    const bool train = c.images ? context.split == "train" : train_by_name;
    const std::int64_t classes = count_classes(c, train, labels);
    IdxFile images = read_idx(find(images_name), 3);
    add(images.path);
    if (images.dims[0] != labels.dims[0]) {
      failf(Category::data, "{} holds {} images, and {} holds {} labels: they are not of one set", quote(images.path),
            images.dims[0], quote(labels.path), labels.dims[0]);
    }
    images_ = std::move(images.data);
    labels_ = labels.data;
    images_name_ = std::string(file_name(images.path));
    labels_name_ = std::string(file_name(labels.path));
    image_bytes_ = static_cast<std::size_t>(images.dims[1] * images.dims[2]);
    spec_.fields.push_back({"input", FieldRole::input, DType::u8, Shape{1, images.dims[1], images.dims[2]}});
    spec_.fields.push_back({"target", FieldRole::target, DType::i64, Shape{}, classes, c.class_names});
    check_labels(classes);
    std::ranges::sort(files_, {}, &ManifestEntry::path);
  }

  [[nodiscard]] const SampleSpec& spec() const override { return spec_; }
  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  void get(std::int64_t i, Sample& s) const override {
    const auto at = static_cast<std::size_t>(i);
    std::memcpy(s.values[0].data, images_.data() + at * image_bytes_, image_bytes_);
    *s.as<std::int64_t>(1) = std::to_integer<std::int64_t>(labels_[at]);
  }
  void prefetch(std::int64_t i) const override {
    const auto at = static_cast<std::size_t>(i);
    prefetch_bytes(images_.data() + at * image_bytes_, image_bytes_);
    prefetch_bytes(labels_.data() + at, 1);
  }
  [[nodiscard]] Manifest manifest() const override {
    Manifest m;
    m.root = root_;
    m.files = files_;
    return m;
  }
  [[nodiscard]] std::optional<std::int64_t> label(std::int64_t i) const override {
    return std::to_integer<std::int64_t>(labels_[static_cast<std::size_t>(i)]);
  }
  [[nodiscard]] std::string where(std::int64_t i) const override { return fmt::format("{}, image {}", images_name_, i); }

 private:
  // The file below the root, plain before compressed.
  [[nodiscard]] std::string find(const std::string& name) const {
    const std::string plain = (root_ / name).string();
    for (const std::string& path : {plain, plain + ".gz"}) {
      if (real_files().exists(path)) return path;
    }
    failf(Category::data, "there is neither {} nor {}.gz: dataset idx reads one of them. {}", quote(plain), file_name(plain), kHelp);
  }
  void add(const std::string& path) {
    const std::string name = std::filesystem::path(path).lexically_relative(root_).generic_string();
    if (std::ranges::find(files_, name, &ManifestEntry::path) != files_.end()) return;
    files_.push_back({name, real_files().stat(path)->size, {}});
  }

  // The class map belongs to the training split: no other split's labels define it.
  std::int64_t count_classes(const Config& c, bool train, const IdxFile& labels) {
    if (c.num_classes) return *c.num_classes;
    if (!c.class_names.empty()) return static_cast<std::int64_t>(c.class_names.size());
    const auto largest = [](const IdxFile& f) { return std::to_integer<std::int64_t>(*std::ranges::max_element(f.data)) + 1; };
    if (train) return largest(labels);
    const std::string name = (root_ / "train-labels-idx1-ubyte").string();
    const bool there = real_files().exists(name) || real_files().exists(name + ".gz");
    if (c.images || !there) {
      failf(Category::data, "how many classes {} has is for the training labels to say, and they are not known here: write "
                            "num_classes or class_names", quote(labels.path));
    }
    const IdxFile training = read_idx(find("train-labels-idx1-ubyte"), 1);
    add(training.path);
    return largest(training);
  }
  void check_labels(std::int64_t classes) const {
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const auto label = std::to_integer<std::int64_t>(labels_[i]);
      if (label < classes) continue;
      failf(Category::data, "{}: sample {} has the label {}, and with {} classes labels lie in [0, {}]. Correct the file or "
                            "num_classes", labels_name_, i, label, classes, classes - 1);
    }
  }

  std::filesystem::path root_;
  std::string images_name_, labels_name_;
  std::size_t image_bytes_ = 0;
  std::vector<std::byte> images_, labels_;
  std::vector<ManifestEntry> files_;
  SampleSpec spec_;
};

}  // namespace

extern constinit const DatasetDef datasets_idx = component<DatasetDef, Idx, Config, kFields>(
    {.doc = "Images and labels in the IDX format of MNIST: input uint8 [1, H, W], target a class index.",
     .example = "idx: {root: /usr/share/datasets/fashion-mnist, split: train}"});

}  // namespace lockstep
