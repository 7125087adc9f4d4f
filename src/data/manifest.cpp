// Manifests: file digests, their cache, and the thread that computes them.
#include "lockstep/data/manifest.h"

#include <atomic>
#include <filesystem>
#include <system_error>
#include <thread>

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"

namespace lockstep {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

struct Abandoned {};

// Throws Abandoned when `stop` is set meanwhile.
Digest digest_of(const std::string& path, const std::atomic<bool>* stop) {
  Sha256 sha;
  for (std::uint64_t at = 0;; at += kPiece) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw Abandoned{};
    const std::string piece = real_files().read_at(path, at, kPiece);
    sha.update(piece);
    if (piece.size() < kPiece) return sha.digest();
  }
}

void hash(Manifest& m, ManifestCache* cache, const std::atomic<bool>* stop) {
  for (ManifestEntry& f : m.files) {
    if (f.sha256 != Digest{}) continue;
    const std::string path = (m.root / f.path).string();
    const auto stat = real_files().stat(path);
    if (!stat || stat->directory) {
      failf(Category::data, "the dataset's file {} is gone: it is needed to record what was trained on", quote(path));
    }
    if (stat->size != f.size) {
      failf(Category::data, "the dataset's file {} has {} bytes, and had {} when it was opened: it must not change while "
                            "it is trained on",
            quote(path), stat->size, f.size);
    }
    const std::string key = absolute_path(path);
    if (cache != nullptr) {
      if (const auto known = cache->find(key, *stat)) {
        f.sha256 = *known;
        continue;
      }
    }
    f.sha256 = digest_of(path, stop);
    if (cache != nullptr) cache->put(key, *stat, f.sha256);
  }
}

bool same(const FileStat& a, const FileStat& b) {
  return a.inode == b.inode && a.size == b.size && a.mtime_ns == b.mtime_ns && a.ctime_ns == b.ctime_ns;
}

std::optional<Digest> digest_from(const std::string& digits) {
  const auto bytes = from_hex(digits);
  if (!bytes || bytes->size() != sizeof(Digest)) return std::nullopt;
  Digest d;
  std::ranges::copy(*bytes, d.begin());
  return d;
}

}  // namespace

// sha256("manifest-1" 0 | (u32 path bytes | path | u64 size | sha256) of every file | generated, if any, as compact JSON)
Digest Manifest::digest() const {
  Manifest m = *this;
  std::ranges::sort(m.files, {}, &ManifestEntry::path);
  hash_files(m);
  Sha256 sha;
  sha.update(std::string_view("manifest-1\0", 11));
  for (const ManifestEntry& f : m.files) {
    sha.update_value(static_cast<std::uint32_t>(f.path.size())).update(f.path).update_value(f.size);
    sha.update(std::as_bytes(std::span(f.sha256)));
  }
  if (!m.generated.is_null()) sha.update(m.generated.dump());
  return sha.digest();
}

Digest file_digest(const std::string& path) { return digest_of(path, nullptr); }
void hash_files(Manifest& m, ManifestCache* cache) { hash(m, cache, nullptr); }

ManifestCache::ManifestCache(std::string path) : path_(std::move(path)) {
  try {
    if (path_.empty() || !real_files().exists(path_)) return;
    const Json json = Json::parse(real_files().read_file(path_), path_);
    for (const auto& [file, value] : json.members()) {
      Entry e;
      e.stat.inode = value.at("inode").unsigned_integer();
      e.stat.size = value.at("size").unsigned_integer();
      e.stat.mtime_ns = value.at("mtime_ns").integer();
      e.stat.ctime_ns = value.at("ctime_ns").integer();
      const auto digest = digest_from(value.at("sha256").string());
      if (!digest) continue;
      e.digest = *digest;
      entries_.emplace(file, e);
    }
  } catch (const Error&) {
    entries_.clear();   // damaged: files are hashed again, and the cache is written anew
  }
}

std::optional<Digest> ManifestCache::find(const std::string& file, const FileStat& now) const {
  const auto at = entries_.find(file);
  if (at == entries_.end() || !same(at->second.stat, now)) return std::nullopt;
  return at->second.digest;
}

void ManifestCache::put(const std::string& file, const FileStat& then, const Digest& d) {
  entries_.insert_or_assign(file, Entry{then, d});
  changed_ = true;
}

bool ManifestCache::save() {
  if (!changed_ || path_.empty()) return true;
  Json::Object members;
  for (const auto& [file, e] : entries_) {
    if (utf8_error(file)) continue;
    Json value = Json::object();
    value.set("inode", e.stat.inode).set("size", e.stat.size).set("mtime_ns", e.stat.mtime_ns);
    value.set("ctime_ns", e.stat.ctime_ns).set("sha256", hex(e.digest));
    members.emplace_back(file, std::move(value));
  }
  try {
    make_dirs(real_files(), parent_path(path_));
    atomic_write(real_files(), path_, std::string_view(Json(std::move(members)).dump(1) + "\n"));
  } catch (const Error&) {
    return false;
  }
  changed_ = false;
  return true;
}

struct ManifestHasher::Impl {
  Impl(std::map<std::string, Manifest> splits, std::string cache_path)
      : manifests(std::move(splits)), cache(std::move(cache_path)) {
    try {
      thread = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      work();   // no thread to be had: training starts later by the time that this takes
    }
  }
  void work() {
    try {
      for (auto& [split, m] : manifests) {
        hash(m, &cache, &stop);
        digests.emplace(split, m.digest());
      }
      cache.save();
    } catch (const Abandoned&) {
    } catch (...) {
      error = std::current_exception();
    }
    done.store(true, std::memory_order_release);
  }
  ~Impl() {
    stop.store(true, std::memory_order_relaxed);
    if (thread.joinable()) thread.join();
  }
  void wait() {
    if (thread.joinable()) thread.join();
    if (error != nullptr) std::rethrow_exception(error);
  }

  std::map<std::string, Manifest> manifests;
  std::map<std::string, Digest> digests;
  ManifestCache cache;
  std::exception_ptr error;
  std::atomic<bool> stop{false}, done{false};
  std::thread thread;
};

ManifestHasher::ManifestHasher(std::map<std::string, Manifest> splits, std::string cache_path)
    : impl_(std::make_unique<Impl>(std::move(splits), std::move(cache_path))) {}
ManifestHasher::~ManifestHasher() = default;
bool ManifestHasher::ready() const { return impl_->done.load(std::memory_order_acquire); }
const std::map<std::string, Digest>& ManifestHasher::digests() {
  impl_->wait();
  return impl_->digests;
}
const std::map<std::string, Manifest>& ManifestHasher::manifests() {
  impl_->wait();
  return impl_->manifests;
}

}  // namespace lockstep
