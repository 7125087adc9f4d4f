// Content digests of datasets: computed beside training, remembered between runs.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "lockstep/base/file.h"
#include "lockstep/data/dataset.h"

namespace lockstep {

/// Remembers the sha256 of files by absolute path, inode, size, mtime and ctime: a file that kept all of these is not
/// read again. Lives in one JSON file; a cache that cannot be read or written is no error, only slow.
class ManifestCache {
 public:
  ManifestCache() = default;                       // remembers nothing between processes
  explicit ManifestCache(std::string path);        // reads the file when it is there
  /// Nothing when unknown, or changed since.
  [[nodiscard]] std::optional<Digest> find(const std::string& file, const FileStat& now) const;
  void put(const std::string& file, const FileStat& then, const Digest& d);
  /// Writes the file when something was put; false when that failed.
  bool save();

 private:
  struct Entry {
    FileStat stat;
    Digest digest{};
  };
  std::string path_;
  std::map<std::string, Entry> entries_;
  bool changed_ = false;
};

/// sha256 of a file's bytes. Throws data naming it when it cannot be read.
Digest file_digest(const std::string& path);
/// Fills in what is missing from `m`: from the cache where it can, else by reading. Throws data: a file that cannot be
/// read, or whose size is not the manifest's (it changed since the dataset was opened).
void hash_files(Manifest& m, ManifestCache* cache = nullptr);

/// Hashes manifests on a thread of its own: begun when training starts, asked for at the first commit.
class ManifestHasher {
 public:
  /// `cache_path` empty: no cache. Splits are hashed in the order given; a file named twice is read once.
  ManifestHasher(std::map<std::string, Manifest> splits, std::string cache_path);
  /// Abandons what is not hashed yet.
  ~ManifestHasher();
  /// Waits, then gives split -> digest. Throws what hashing threw.
  [[nodiscard]] const std::map<std::string, Digest>& digests();
  /// The manifests with every file's sha256, after the same wait.
  [[nodiscard]] const std::map<std::string, Manifest>& manifests();
  /// Whether digests() would return at once.
  [[nodiscard]] bool ready() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep
