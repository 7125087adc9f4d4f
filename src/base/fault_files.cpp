// The breaking file layer: counts changes, breaks one, and can undo what a power cut would lose.
#include "lockstep/base/fault_files.h"

#include "lockstep/base/error.h"
#include "lockstep/base/text.h"

namespace lockstep {

namespace {

void remove_tree(FileSystem& files, const std::string& path) {
  const auto found = files.stat(path);
  if (!found) return;
  if (found->directory) {
    for (const std::string& name : files.list(path)) remove_tree(files, join_path(path, name));
  }
  files.unlink(path);
}

}  // namespace

// A file that counts its writes and syncs with the layer it came from.
class FaultFile final : public File {
 public:
  FaultFile(FaultFiles& files, std::unique_ptr<File> file, std::string path)
      : files_(files), file_(std::move(file)), path_(std::move(path)) {}

  using File::write;
  void write(std::span<const std::byte> bytes) override {
    const bool torn = files_.step("write " + path_, true);
    if (torn) {
      file_->write(bytes.first(bytes.size() / 2));
      throw Stop{"write " + path_};
    }
    file_->write(bytes);
  }
  void sync() override {
    files_.step("sync " + path_, true);
    file_->sync();
    files_.contents_.erase(path_);
  }
  void truncate(std::uint64_t size) override {
    files_.step("truncate " + path_, true);
    file_->truncate(size);
  }
  void close() override {
    files_.step("close " + path_, false);
    file_->close();
  }

 private:
  FaultFiles& files_;
  std::unique_ptr<File> file_;
  std::string path_;
};

bool FaultFiles::step(const std::string& what, bool needs_space) {
  const bool stops = fault_ == Fault::stop || fault_ == Fault::lose;
  if (hit_ && stops) throw Stop{what};
  ++calls_;
  if (calls_ != at_ || fault_ == Fault::none) return false;
  hit_ = true;
  if (stops) {
    if (what.starts_with("write ")) return true;
    throw Stop{what};
  }
  if (fault_ == Fault::no_space && !needs_space) return false;
  Error error(Category::resource, fmt::format("cannot {}: {}", what, fault_ == Fault::no_space ? "No space left on device"
                                                                                               : "Input/output error"));
  error.no_space = fault_ == Fault::no_space;
  throw error;
}

FaultFiles::Durable FaultFiles::durable(const std::string& path) {
  const auto stat = under_.stat(path);
  if (!stat) return {};
  if (stat->directory) return {true, std::string()};
  const auto pending = contents_.find(path);
  return {false, pending != contents_.end() ? pending->second : under_.read_file(path)};
}

void FaultFiles::touch(const std::string& path) {
  if (!names_.contains(path)) names_.emplace(path, durable(path));
}

bool FaultFiles::mkdir(const std::string& path) {
  step("mkdir " + path, true);
  if (!under_.exists(path)) touch(path);
  return under_.mkdir(path);
}

std::unique_ptr<File> FaultFiles::open(const std::string& path, OpenMode mode) {
  step("open " + path, true);
  const auto before = under_.stat(path);
  if (before && mode == OpenMode::create) return under_.open(path, mode);  // fails as it must
  if (!before) touch(path);
  if (!contents_.contains(path)) contents_.emplace(path, before ? under_.read_file(path) : std::string());
  return std::make_unique<FaultFile>(*this, under_.open(path, mode), path);
}

void FaultFiles::rename(const std::string& from, const std::string& to) {
  step("rename " + from + " to " + to, true);
  touch(from);
  touch(to);
  under_.rename(from, to);
  contents_.erase(to);
  if (const auto pending = contents_.find(from); pending != contents_.end()) {
    contents_.emplace(to, std::move(pending->second));
    contents_.erase(from);
  }
}

bool FaultFiles::link(const std::string& from, const std::string& to) {
  step("link " + from + " to " + to, true);
  if (!under_.exists(to)) touch(to);
  const bool done = under_.link(from, to);
  if (done && contents_.contains(from)) contents_.emplace(to, contents_.at(from));
  return done;
}

bool FaultFiles::unlink(const std::string& path) {
  step("unlink " + path, false);
  if (under_.exists(path)) touch(path);
  const bool done = under_.unlink(path);
  contents_.erase(path);
  return done;
}

void FaultFiles::sync_dir(const std::string& path) {
  step("sync_dir " + path, true);
  under_.sync_dir(path);
  const std::string folder = join_path(parent_path(path), file_name(path));
  std::erase_if(names_, [&](const auto& entry) {
    const std::string parent = parent_path(entry.first);
    return parent == path || parent == folder;
  });
}

std::string FaultFiles::read_at(const std::string& path, std::uint64_t offset, std::uint64_t size) {
  if (hit_ && (fault_ == Fault::stop || fault_ == Fault::lose)) throw Stop{"read " + path};
  return under_.read_at(path, offset, size);
}

std::vector<std::string> FaultFiles::list(const std::string& path) { return under_.list(path); }
std::optional<FileStat> FaultFiles::stat(const std::string& path) { return under_.stat(path); }

void FaultFiles::note(std::string_view point) { step("note " + std::string(point), false); }

void FaultFiles::crash() {
  const auto restore = [&](const std::string& path, const std::string& bytes) {
    if (!under_.exists(parent_path(path))) return;  // its directory was lost with it
    const auto file = under_.open(path, OpenMode::truncate);
    file->write(std::string_view(bytes));
    file->close();
  };
  // Contents first: a name that goes back to an older file is restored over them.
  for (const auto& [path, bytes] : contents_) {
    if (under_.exists(path)) restore(path, bytes);
  }
  // Deepest names first. A directory whose own name was lost takes everything in it along.
  for (auto it = names_.rbegin(); it != names_.rend(); ++it) {
    const auto& [path, before] = *it;
    if (!before.bytes) {
      remove_tree(under_, path);
    } else if (!before.directory) {
      if (under_.exists(path)) under_.unlink(path);  // the name may be a link to a file that lives on
      restore(path, *before.bytes);
    } else if (!under_.exists(path)) {
      under_.mkdir(path);
    }
  }
  names_.clear();
  contents_.clear();
  fault_ = Fault::none;
}

}  // namespace lockstep
