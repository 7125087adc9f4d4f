// Checkpoint container: one sequential pass in each direction, the checksum running along.
#include "lockstep/io/checkpoint.h"

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"

namespace lockstep {
namespace {

constexpr std::string_view kMagic = "LOCKSTEP";
constexpr std::uint64_t kAlign = 64, kPreamble = 24, kChecksum = 32;
constexpr std::uint64_t kMaxHeader = std::uint64_t{1} << 30;

constexpr std::uint64_t aligned(std::uint64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

std::span<const std::byte> bytes_in(std::string_view s) { return std::as_bytes(std::span(s.data(), s.size())); }

// Writes and digests at once.
class Output {
 public:
  explicit Output(File& file) : file_(file) {}
  void put(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    sha_.update(bytes);
    file_.write(bytes);
    at_ += bytes.size();
  }
  void put(std::string_view s) { put(bytes_in(s)); }
  void pad() { put(std::string(aligned(at_) - at_, '\0')); }
  void finish() {
    pad();
    const Digest d = sha_.digest();
    file_.write(std::as_bytes(std::span(d)));
  }

 private:
  File& file_;
  Sha256 sha_;
  std::uint64_t at_ = 0;
};

// Reads and digests at once; every way a file can be wrong ends in damaged().
class Input {
 public:
  Input(FileSystem& files, const std::string& path) : files_(files), path_(path) {
    const auto stat = files.stat(path);
    if (!stat || stat->directory) {
      failf(Category::data, "there is no checkpoint {}: {}", quote(path), stat ? "it is a folder" : "no such file");
    }
    size_ = stat->size;
  }
  [[noreturn]] void damaged(std::string_view why, Site site = {}) const {
    fail(Category::data,
         fmt::format("checkpoint {} is damaged: {}", quote(path_), why), site);
  }
  [[nodiscard]] std::uint64_t left() const { return size_ - at_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  std::string take(std::uint64_t n) {
    if (n > left()) damaged(fmt::format("{} bytes are needed at offset {}, and the file ends after {}", n, at_, size_));
    std::string s = files_.read_at(path_, at_, n);
    if (s.size() != n) damaged(fmt::format("{} bytes could be read at offset {}, not {}", s.size(), at_, n));
    sha_.update(s);
    at_ += n;
    return s;
  }
  void skip_padding() {
    for (const char c : take(aligned(at_) - at_)) {
      if (c != '\0') damaged(fmt::format("padding before offset {} is not zero", at_));
    }
  }
  [[nodiscard]] std::uint64_t at() const { return at_; }
  void check_sum() {
    const Digest computed = sha_.digest();
    if (left() != kChecksum) {
      damaged(fmt::format("its contents end at offset {}, where {} bytes are left instead of a checksum of {}", at_,
                          left(), kChecksum));
    }
    const std::string stored = take(kChecksum);
    if (std::memcmp(stored.data(), computed.data(), kChecksum) != 0) damaged("its checksum does not match its contents");
  }

 private:
  FileSystem& files_;
  const std::string& path_;
  Sha256 sha_;
  std::uint64_t size_ = 0, at_ = 0;
};

struct Header {
  CheckpointInfo info;
  Json json;
};

Digest digest_in(const Json& header, std::string_view key, const Input& in) {
  const auto bytes = from_hex(header.at(key).string());
  Digest d{};
  if (!bytes || bytes->size() != d.size()) in.damaged(fmt::format("'{}' in its header is no digest", key));
  std::ranges::copy(*bytes, d.begin());
  return d;
}

// Runs f; what the JSON layer complains about is damage here. A disk that cannot be read is not: the bytes may be whole.
template <class F>
auto reading(const Input& in, F&& f) {
  std::string why;
  try {
    return f();
  } catch (const Error& e) {
    if (e.category != Category::data || e.message.starts_with("checkpoint ")) throw;
    why = e.message;
  }
  in.damaged(why);
}

template <class T>
T number_at(std::string_view s, std::size_t offset) {
  T v;
  std::memcpy(&v, s.data() + offset, sizeof v);
  return v;
}

Header read_header(Input& in, const std::string& path) {
  if (in.size() < kPreamble) {
    if (in.size() == 0) in.damaged("it is empty");
    const std::string start = in.take(std::min<std::uint64_t>(in.size(), kMagic.size()));
    if (kMagic.starts_with(start)) in.damaged(fmt::format("it was cut short after {} bytes", in.size()));
    failf(Category::data, "{} is not a Lockstep checkpoint: it starts with {}", quote(path), quote(start));
  }
  const std::string start = in.take(kPreamble);
  if (!start.starts_with(kMagic)) {
    failf(Category::data, "{} is not a Lockstep checkpoint: it starts with {} instead of {}", quote(path),
          quote(start.substr(0, kMagic.size())), quote(kMagic));
  }
  const auto version = number_at<std::uint32_t>(start, 8);
  if (version > kCheckpointVersion) {
    failf(Category::data, "checkpoint {} has format version {}, and this build reads up to {}: use a newer Lockstep",
          quote(path), version, kCheckpointVersion);
  }
  if (version == 0 || number_at<std::uint32_t>(start, 12) != 0) in.damaged("its version field is not valid");
  const auto size = number_at<std::uint64_t>(start, 16);
  if (size > kMaxHeader) in.damaged(fmt::format("its header would have {} bytes", size));
  const std::string document = in.take(size);
  in.skip_padding();
  return reading(in, [&] {
    Header h;
    h.json = Json::parse(document, path);
    h.info.identity = digest_in(h.json, "identity", in);
    h.info.step = h.json.at("step").integer();
    h.info.epoch = h.json.at("epoch").integer();
    h.info.chain = digest_in(h.json, "chain", in);
    h.info.state_hash = digest_in(h.json, "state_hash", in);
    return h;
  });
}

Tensor read_tensor(const Json& entry, Input& in, std::uint64_t origin, const std::string& path) {
  const DType type = dtype_named(entry.at("dtype").string(), path);
  Shape shape;
  const std::uint64_t bytes = entry.at("bytes").unsigned_integer();
  std::uint64_t expected = size_of(type);
  if (entry.at("shape").size() > kMaxRank) in.damaged("a tensor has more than 8 axes");
  for (const Json& d : entry.at("shape").items()) {
    const std::int64_t extent = d.integer();
    std::uint64_t product = 0;
    if (extent < 0 || __builtin_mul_overflow(expected, static_cast<std::uint64_t>(extent), &product)) {
      in.damaged("a tensor has an impossible shape");
    }
    expected = product;
    shape.push_back(extent);
  }
  if (bytes != expected || entry.at("offset").unsigned_integer() + origin != in.at()) {
    in.damaged(fmt::format("tensor '{}' does not lie where its header says", entry.at("name").string()));
  }
  const std::string raw = in.take(bytes);
  Tensor t = Tensor::empty(shape, type);
  assign_bytes(t, bytes_in(raw));
  in.skip_padding();
  return t;
}

Json read_json(const Json& section, Input& in, std::uint64_t origin, const std::string& path) {
  if (section.at("offset").unsigned_integer() + origin != in.at()) in.damaged("a section is not where its header says");
  const std::string document = in.take(section.at("bytes").unsigned_integer());
  in.skip_padding();
  return Json::parse(document, path);
}

}  // namespace

void write_checkpoint(File& file, const Checkpoint& c) {
  const std::string scalars = c.scalars.dump(), selection = c.selection.dump();
  std::uint64_t at = 0;
  Json::Array tensors;
  const auto place = [&at](Json entry, std::uint64_t bytes) {
    entry.set("offset", at).set("bytes", bytes);
    at = aligned(at + bytes);
    return entry;
  };
  for (const CheckpointTensor& t : c.tensors) {
    Json::Array shape;
    for (const std::int64_t d : t.tensor.shape()) shape.emplace_back(d);
    Json entry = Json::object();
    entry.set("name", t.name).set("kind", t.kind).set("dtype", text(t.tensor.dtype())).set("shape", std::move(shape));
    tensors.push_back(place(std::move(entry), tensor_bytes(t.tensor)));
  }
  Json header = Json::object();
  header.set("identity", hex(c.info.identity)).set("step", c.info.step).set("epoch", c.info.epoch);
  header.set("chain", hex(c.info.chain)).set("state_hash", hex(c.info.state_hash));
  header.set("tensors", std::move(tensors));
  header.set("scalars", place(Json::object(), scalars.size()));
  header.set("selection", place(Json::object(), selection.size()));
  const std::string document = header.dump();

  std::string start(kPreamble, '\0');
  const std::uint64_t header_bytes = document.size();
  std::memcpy(start.data(), kMagic.data(), kMagic.size());
  std::memcpy(start.data() + 8, &kCheckpointVersion, sizeof kCheckpointVersion);
  std::memcpy(start.data() + 16, &header_bytes, sizeof header_bytes);
  Output out(file);
  out.put(start + document);
  out.pad();
  for (const CheckpointTensor& t : c.tensors) {
    for_each_piece(t.tensor, [&](std::span<const std::byte> piece) { out.put(piece); });
    out.pad();
  }
  out.put(scalars);
  out.pad();
  out.put(selection);
  out.finish();
}

void write_checkpoint(FileSystem& files, const std::string& path, const Checkpoint& c) {
  const auto file = files.open(path, OpenMode::truncate);
  write_checkpoint(*file, c);
  file->sync();
  file->close();
}

Checkpoint read_checkpoint(FileSystem& files, const std::string& path) {
  Input in(files, path);
  const Header h = read_header(in, path);
  const std::uint64_t origin = in.at();
  Checkpoint c;
  c.info = h.info;
  reading(in, [&] {
    for (const Json& entry : h.json.at("tensors").items()) {
      c.tensors.push_back({entry.at("name").string(), entry.at("kind").string(), read_tensor(entry, in, origin, path)});
    }
    c.scalars = read_json(h.json.at("scalars"), in, origin, path);
    c.selection = read_json(h.json.at("selection"), in, origin, path);
  });
  in.check_sum();
  return c;
}

CheckpointInfo read_checkpoint_info(FileSystem& files, const std::string& path) {
  Input in(files, path);
  return read_header(in, path).info;
}

CheckpointInfo verify_checkpoint(FileSystem& files, const std::string& path) {
  constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;
  Input in(files, path);
  const Header h = read_header(in, path);
  if (in.left() < kChecksum) in.damaged(fmt::format("it was cut short after {} bytes", in.size()));
  while (in.left() > kChecksum) in.take(std::min(kPiece, in.left() - kChecksum));
  in.check_sum();
  return h.info;
}

DType dtype_named(std::string_view name, std::string_view where) {
  for (auto t = DType::f32; t <= DType::boolean; t = static_cast<DType>(static_cast<int>(t) + 1)) {
    if (text(t) == name) return t;
  }
  failf(Category::data, "{} holds a tensor of type {}, which is not known", quote(where), quote(name));
}

}  // namespace lockstep
