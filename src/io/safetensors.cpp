// safetensors: u64 header length, JSON header, tensor data without gaps.
#include "lockstep/io/safetensors.h"

#include "lockstep/base/error.h"
#include "lockstep/base/json.h"
#include "lockstep/base/text.h"

namespace lockstep {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;   // the limit of the reference implementation
constexpr std::string_view kMetadata = "__metadata__";
constexpr std::array<std::string_view, 9> kNames = {"F32", "F64", "BF16", "F16", "I64", "I32", "U8", "I8", "BOOL"};

struct Entry {
  const TensorEntry* tensor = nullptr;
  std::uint64_t begin = 0, end = 0;
};

std::vector<Entry> layout(std::span<const TensorEntry> tensors) {
  std::vector<Entry> entries;
  for (const TensorEntry& t : tensors) entries.push_back({.tensor = &t});
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    const std::size_t x = size_of(a.tensor->tensor.dtype()), y = size_of(b.tensor->tensor.dtype());
    return x != y ? x > y : a.tensor->name < b.tensor->name;
  });
  std::uint64_t at = 0;
  for (Entry& e : entries) {
    e.begin = at;
    at += tensor_bytes(e.tensor->tensor);
    e.end = at;
  }
  return entries;
}

std::string header(std::vector<Entry> entries, SafetensorsMetadata metadata) {
  metadata.emplace("format", "pt");
  std::ranges::sort(entries, {}, [](const Entry& e) -> const std::string& { return e.tensor->name; });
  Json json = Json::object(), meta = Json::object();
  for (const auto& [key, value] : metadata) meta.set(key, value);
  json.set(kMetadata, std::move(meta));
  Json::Object members = json.members();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    const std::string& name = e.tensor->name;
    if (name == kMetadata || (i > 0 && name == entries[i - 1].tensor->name)) {
      failf(Category::internal, "two entries of a safetensors file are called {}", quote(name));
    }
    Json::Array shape;
    for (const std::int64_t d : e.tensor->tensor.shape()) shape.emplace_back(d);
    Json item = Json::object();
    item.set("dtype", kNames[static_cast<std::size_t>(e.tensor->tensor.dtype())]);
    item.set("shape", std::move(shape)).set("data_offsets", Json::Array{e.begin, e.end});
    members.emplace_back(name, std::move(item));
  }
  std::string text = Json(std::move(members)).dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

template <class Put>
void put_all(std::span<const TensorEntry> tensors, SafetensorsMetadata metadata, Put&& put) {
  const std::vector<Entry> entries = layout(tensors);
  const std::string head = header(entries, std::move(metadata));
  const std::uint64_t size = head.size();
  put(std::as_bytes(std::span(&size, 1)));
  put(std::as_bytes(std::span(head)));
  for (const Entry& e : entries) for_each_piece(e.tensor->tensor, put);
}

// One tensor of a file that is being read.
struct Found {
  std::string name;
  DType type{};
  Shape shape;
  std::uint64_t begin = 0, end = 0;
};

Found read_entry(const std::string& name, const Json& item, std::uint64_t data_bytes) {
  Found f;
  f.name = name;
  const auto wrong = [&](std::string_view why, Site site = {}) {
    fail(Category::data, fmt::format("tensor '{}' {}", name, why), site);
  };
  for (const auto& member : item.members()) {
    if (member.first != "dtype" && member.first != "shape" && member.first != "data_offsets") {
      wrong(fmt::format("has an unknown entry {}", quote(member.first)));
    }
  }
  const std::string& dtype = item.at("dtype").string();
  const auto known = std::ranges::find(kNames, dtype);
  if (known == kNames.end()) wrong(fmt::format("has dtype {}; known are {}", quote(dtype), join(kNames, ", ")));
  f.type = static_cast<DType>(known - kNames.begin());
  const Json::Array& dims = item.at("shape").items();
  if (dims.size() > kMaxRank) wrong(fmt::format("has {} axes, and at most {} are supported", dims.size(), kMaxRank));
  std::uint64_t bytes = size_of(f.type);
  for (const Json& d : dims) {
    const std::int64_t extent = d.integer();
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) {
      wrong("has an impossible shape");
    }
    f.shape.push_back(extent);
  }
  const Json::Array& offsets = item.at("data_offsets").items();
  if (offsets.size() != 2) wrong(fmt::format("has {} data_offsets instead of 2", offsets.size()));
  f.begin = offsets[0].unsigned_integer();
  f.end = offsets[1].unsigned_integer();
  if (f.begin > f.end || f.end > data_bytes) {
    wrong(fmt::format("has data_offsets [{}, {}] in {} bytes of data", f.begin, f.end, data_bytes));
  }
  if (f.end - f.begin != bytes) {
    wrong(fmt::format("of shape {} and type {} takes {} bytes, but its data_offsets hold {}", text(f.shape), dtype, bytes,
                      f.end - f.begin));
  }
  return f;
}

Safetensors parse(FileSystem& files, const std::string& path, std::uint64_t file_bytes) {
  if (file_bytes < 8) failf(Category::data, "it has {} bytes, and the header's length takes 8", file_bytes);
  std::uint64_t head_bytes = 0;
  std::memcpy(&head_bytes, files.read_at(path, 0, 8).data(), 8);
  if (head_bytes > kMaxHeader) failf(Category::data, "its header would have {} bytes, more than {}", head_bytes, kMaxHeader);
  if (head_bytes > file_bytes - 8) {
    failf(Category::data, "its header should have {} bytes, and {} follow: it is cut short", head_bytes, file_bytes - 8);
  }
  const Json json = Json::parse(files.read_at(path, 8, head_bytes), "header");
  const std::uint64_t origin = 8 + head_bytes, data_bytes = file_bytes - origin;
  Safetensors out;
  std::vector<Found> found;
  for (const auto& [name, item] : json.members()) {
    if (name == kMetadata) {
      for (const auto& [key, value] : item.members()) out.metadata.emplace(key, value.string());
    } else {
      found.push_back(read_entry(name, item, data_bytes));
    }
  }
  std::ranges::sort(found, [](const Found& a, const Found& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Found& f = found[i];
    if (f.begin < at) failf(Category::data, "tensors '{}' and '{}' overlap at byte {}", found[i - 1].name, f.name, f.begin);
    if (f.begin > at) failf(Category::data, "nothing describes bytes {} to {}, before tensor '{}'", at, f.begin, f.name);
    at = f.end;
  }
  if (at != data_bytes) failf(Category::data, "its tensors end at byte {}, but the data has {} bytes", at, data_bytes);
  for (Found& f : found) {
    Tensor t = Tensor::empty(f.shape, f.type);
    const std::string raw = files.read_at(path, origin + f.begin, f.end - f.begin);
    if (raw.size() != f.end - f.begin) failf(Category::data, "tensor '{}' could not be read whole", f.name);
    assign_bytes(t, std::as_bytes(std::span(raw)));
    out.tensors.push_back({std::move(f.name), std::move(t)});
  }
  std::ranges::sort(out.tensors, {}, &TensorEntry::name);
  return out;
}

}  // namespace

void write_safetensors(FileSystem& files, const std::string& path, std::span<const TensorEntry> tensors,
                       SafetensorsMetadata metadata) {
  const auto file = files.open(path, OpenMode::truncate);
  put_all(tensors, std::move(metadata), [&](std::span<const std::byte> piece) { file->write(piece); });
  file->sync();
  file->close();
}

std::string safetensors_bytes(std::span<const TensorEntry> tensors, SafetensorsMetadata metadata) {
  std::string out;
  put_all(tensors, std::move(metadata), [&](std::span<const std::byte> piece) {
    out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  return out;
}

Safetensors read_safetensors(FileSystem& files, const std::string& path) {
  const auto stat = files.stat(path);
  if (!stat || stat->directory) {
    failf(Category::data, "there is no safetensors file {}: {}", quote(path), stat ? "it is a folder" : "no such file");
  }
  std::string why;
  try {
    return parse(files, path, stat->size);
  } catch (const Error& e) {
    if (e.category != Category::data) throw;
    why = e.message;
  }
  failf(Category::data, "{} is not a valid safetensors file: {}", quote(path), why);
}

}  // namespace lockstep
