// The file layer: every durable write of the product goes through it, so tests can break it at any call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// Errors of this layer name the operation, the path and the system's reason. Category: data when the path is
// missing, forbidden or of the wrong kind; resource for everything else (no space, I/O error, too many files).

struct FileStat {
  std::uint64_t size = 0;  // bytes
  bool directory = false;
  std::uint64_t inode = 0;
  std::int64_t mtime_ns = 0, ctime_ns = 0;
};

// A file open for writing. Destruction closes it without reporting errors; call close() to see them.
class File {
 public:
  virtual ~File() = default;
  // Writes all bytes at the end of what was written (append) or at the current position.
  virtual void write(std::span<const std::byte> bytes) = 0;
  // fsync: contents and size are durable afterwards (the name is not: sync_dir).
  virtual void sync() = 0;
  // Cuts or extends to `size` bytes; later writes go to the new end.
  virtual void truncate(std::uint64_t size) = 0;
  virtual void close() = 0;

  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
};

// How open() treats what is there.
enum class OpenMode : std::uint8_t {
  create,    // must not exist
  truncate,  // emptied if it exists
  append     // kept if it exists; writes go to the end
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // Creates one directory. False when something of that name exists already.
  virtual bool mkdir(const std::string& path) = 0;
  // At most `size` bytes from `offset` on (fewer at the end of the file).
  virtual std::string read_at(const std::string& path, std::uint64_t offset, std::uint64_t size) = 0;
  virtual std::unique_ptr<File> open(const std::string& path, OpenMode mode) = 0;
  // Replaces `to` atomically.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  // Hard link. False when `to` exists already.
  virtual bool link(const std::string& from, const std::string& to) = 0;
  // Removes a file or an empty directory. False when there is none.
  virtual bool unlink(const std::string& path) = 0;
  // fsync of a directory: names created, renamed or removed in it are durable afterwards.
  virtual void sync_dir(const std::string& path) = 0;
  // Names in a directory, sorted by bytes, without "." and "..".
  virtual std::vector<std::string> list(const std::string& path) = 0;
  // Nothing when there is no such path.
  virtual std::optional<FileStat> stat(const std::string& path) = 0;
  // A point where a crash would be interesting although no call of this layer happens there (a database
  // transaction, say). Does nothing except in tests.
  virtual void note(std::string_view point);

  // The whole file.
  std::string read_file(const std::string& path);
  bool exists(const std::string& path) { return stat(path).has_value(); }
};

// The operating system's files.
FileSystem& real_files();

// Writes `path` so that a crash leaves either the old or the new contents: temporary file beside it, fsync,
// rename, fsync of the directory.
void atomic_write(FileSystem& files, const std::string& path, std::span<const std::byte> bytes);
void atomic_write(FileSystem& files, const std::string& path, std::string_view text);

// mkdir for every missing part of `path`; fine when it exists already as a directory.
void make_dirs(FileSystem& files, const std::string& path);

// The directory part of a path ("." when there is none), and the part after the last slash.
std::string parent_path(std::string_view path);
std::string_view file_name(std::string_view path);
// `a/b`, without doubling the slash; an absolute or empty partner wins.
std::string join_path(std::string_view a, std::string_view b);
// The path from the root, without `.` and `..`. Error{usage} when it is empty, or the working directory is gone.
std::string absolute_path(const std::string& path);

// An exclusive flock on a file (created when missing), released on destruction and by any death of the process.
class FileLock {
 public:
  // Nothing when another process, or another FileLock of this one, holds it.
  static std::optional<FileLock> try_lock(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace lockstep
