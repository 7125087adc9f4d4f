// The operating system's files behind the file layer.
#include "lockstep/base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"

namespace lockstep {

namespace {

[[noreturn]] void fail_errno(std::string_view operation, const std::string& path) {
  const int code = errno;
  Error error(errno_category(code), fmt::format("cannot {} {}: {}", operation, quote(path), std::strerror(code)));
  error.no_space = code == ENOSPC || code == EDQUOT;
  throw error;
}

// Retries a call that a signal interrupted.
template <class F>
auto retry(F call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// A descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

class RealFile final : public File {
 public:
  RealFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  using File::write;
  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = retry([&] { return ::write(fd_.get(), bytes.data(), bytes.size()); });
      if (n < 0) fail_errno("write", path_);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }
  void sync() override {
    if (retry([&] { return ::fsync(fd_.get()); }) != 0) fail_errno("sync", path_);
  }
  void truncate(std::uint64_t size) override {
    if (retry([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(size)); }) != 0) fail_errno("truncate", path_);
    if (::lseek(fd_.get(), 0, SEEK_END) < 0) fail_errno("seek in", path_);
  }
  void close() override {
    if (fd_.get() >= 0 && ::close(fd_.release()) != 0 && errno != EINTR) fail_errno("close", path_);
  }

 private:
  Descriptor fd_;
  std::string path_;
};

class RealFiles final : public FileSystem {
 public:
  bool mkdir(const std::string& path) override {
    if (::mkdir(path.c_str(), 0777) == 0) return true;
    if (errno == EEXIST) return false;
    fail_errno("create the directory", path);
  }

  std::string read_at(const std::string& path, std::uint64_t offset, std::uint64_t size) override {
    const Descriptor fd(retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
    if (fd.get() < 0) fail_errno("open", path);
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0) fail_errno("examine", path);
    // A regular file says how much to expect; anything else (/proc, a pipe) is read until it ends.
    const bool regular = S_ISREG(info.st_mode) && info.st_size > 0;
    const auto length = static_cast<std::uint64_t>(info.st_size);
    const std::uint64_t expected = !regular ? 0 : length > offset ? length - offset : 0;
    std::string out;
    for (;;) {
      const std::size_t have = out.size();
      const std::uint64_t step = std::min<std::uint64_t>(size - have, have < expected ? expected - have : 65536);
      if (step == 0) return out;
      out.resize(have + static_cast<std::size_t>(step));
      const ssize_t n = retry([&] {
        char* to = out.data() + have;
        return offset == 0 ? ::read(fd.get(), to, static_cast<std::size_t>(step))
                           : ::pread(fd.get(), to, static_cast<std::size_t>(step), static_cast<off_t>(offset + have));
      });
      if (n < 0) fail_errno("read", path);
      out.resize(have + static_cast<std::size_t>(n));
      if (n == 0) return out;
    }
  }

  std::unique_ptr<File> open(const std::string& path, OpenMode mode) override {
    const int extra = mode == OpenMode::create ? O_EXCL : mode == OpenMode::truncate ? O_TRUNC : O_APPEND;
    const int fd = retry([&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | extra, 0666); });
    if (fd < 0) fail_errno(mode == OpenMode::create ? "create" : "open for writing", path);
    return std::make_unique<RealFile>(fd, path);
  }

  void rename(const std::string& from, const std::string& to) override {
    if (std::rename(from.c_str(), to.c_str()) != 0) fail_errno(fmt::format("rename {} to", quote(from)), to);
  }

  bool link(const std::string& from, const std::string& to) override {
    if (::link(from.c_str(), to.c_str()) == 0) return true;
    if (errno == EEXIST) return false;
    fail_errno(fmt::format("link {} to", quote(from)), to);
  }

  bool unlink(const std::string& path) override {
    if (std::remove(path.c_str()) == 0) return true;
    if (errno == ENOENT) return false;
    fail_errno("remove", path);
  }

  void sync_dir(const std::string& path) override {
    const Descriptor fd(retry([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (fd.get() < 0) fail_errno("open the directory", path);
    // Some file systems cannot sync a directory and say EINVAL; their names are as durable as they get.
    if (retry([&] { return ::fsync(fd.get()); }) != 0 && errno != EINVAL) fail_errno("sync the directory", path);
  }

  std::vector<std::string> list(const std::string& path) override {
    DIR* dir = ::opendir(path.c_str());
    if (dir == nullptr) fail_errno("list", path);
    const std::unique_ptr<DIR, int (*)(DIR*)> closer(dir, &::closedir);
    std::vector<std::string> names;
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(dir);
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) fail_errno("list", path);
    std::sort(names.begin(), names.end());
    return names;
  }

  std::optional<FileStat> stat(const std::string& path) override {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
      fail_errno("examine", path);
    }
    const auto ns = [](const timespec& t) { return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec; };
    return FileStat{.size = static_cast<std::uint64_t>(info.st_size),
                    .directory = S_ISDIR(info.st_mode),
                    .inode = static_cast<std::uint64_t>(info.st_ino),
                    .mtime_ns = ns(info.st_mtim),
                    .ctime_ns = ns(info.st_ctim)};
  }
};

}  // namespace

void FileSystem::note(std::string_view) {}

std::string FileSystem::read_file(const std::string& path) {
  return read_at(path, 0, std::numeric_limits<std::int64_t>::max());
}

FileSystem& real_files() {
  static RealFiles files;
  return files;
}

void atomic_write(FileSystem& files, const std::string& path, std::span<const std::byte> bytes) {
  const std::string temporary = path + ".tmp";
  const auto file = files.open(temporary, OpenMode::truncate);
  file->write(bytes);
  file->sync();
  file->close();
  files.rename(temporary, path);
  files.sync_dir(parent_path(path));
}

void atomic_write(FileSystem& files, const std::string& path, std::string_view text) {
  atomic_write(files, path, std::as_bytes(std::span(text.data(), text.size())));
}

void make_dirs(FileSystem& files, const std::string& path) {
  if (path.empty()) return;
  if (const auto found = files.stat(path)) {
    if (found->directory) return;
    failf(Category::data, "cannot create the directory {}: a file of that name exists; remove it or choose another path",
          quote(path));
  }
  static_cast<void>(absolute_path(path));   // in a working directory that is gone nothing can be made, and this says so
  const std::string parent = parent_path(path);
  if (parent != path) make_dirs(files, parent);
  if (files.mkdir(path)) files.sync_dir(parent);
}

std::string parent_path(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, std::max<std::size_t>(slash, 1)));
}

std::string_view file_name(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos || path.size() == 1 ? path : path.substr(slash + 1);
}

std::string join_path(std::string_view a, std::string_view b) {
  if (a.empty() || (!b.empty() && b.front() == '/')) return std::string(b);
  if (b.empty()) return std::string(a);
  std::string out(a);
  if (out.back() != '/') out += '/';
  return out += b;
}

std::string absolute_path(const std::string& path) {
  if (path.empty()) fail(Category::usage, "an empty text was given for a path");
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  if (error == std::errc::not_enough_memory) throw std::bad_alloc();
  if (error) failf(Category::usage, "the working directory cannot be found ({}), and {} is relative to it: change to a folder that exists", error.message(), quote(path));
  std::string out = whole.lexically_normal().string();
  if (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

std::optional<FileLock> FileLock::try_lock(const std::string& path) {
  Descriptor fd(retry([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); }));
  if (fd.get() < 0) fail_errno("open the lock", path);
  if (retry([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) == 0) return FileLock(fd.release());
  if (errno == EWOULDBLOCK) return std::nullopt;
  fail_errno("lock", path);
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace lockstep
