// Files that break on purpose: stop, fail, or lose un-synced data at the Nth call. For tests of the commit protocol.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "lockstep/base/file.h"

namespace lockstep {

// Thrown where the process would have died. Not a std::exception and not an Error, so nothing handles it.
struct Stop {
  std::string where;
};

enum class Fault : std::uint8_t {
  none,
  stop,      // dies at the call: a write is torn in half, every other call does not happen
  lose,      // as stop, and crash() then also drops what was not synced
  no_space,  // the call fails once with ENOSPC, as Error{resource}; calls that need no space succeed
  io_error   // the call fails once with EIO, as Error{resource}
};

// Passes calls on to `under` and counts those that change something, and note(): from 1.
class FaultFiles final : public FileSystem {
 public:
  // The fault happens at call number `at`. After a stop every further call throws Stop again.
  FaultFiles(FileSystem& under, Fault fault, std::int64_t at) : under_(under), fault_(fault), at_(at) {}

  // Counted calls so far; run once with Fault::none to learn how many there are.
  std::int64_t calls() const { return calls_; }
  // Whether the fault has happened.
  bool hit() const { return hit_; }
  // Undoes, on disk, what a power cut would have lost: contents written since the last sync() of a file, and
  // names created, renamed or removed since the last sync_dir() of their directory. Call it after a Stop of
  // Fault::lose, with no File left open; calls work again afterwards and no further fault happens.
  void crash();

  bool mkdir(const std::string& path) override;
  std::string read_at(const std::string& path, std::uint64_t offset, std::uint64_t size) override;
  std::unique_ptr<File> open(const std::string& path, OpenMode mode) override;
  void rename(const std::string& from, const std::string& to) override;
  bool link(const std::string& from, const std::string& to) override;
  bool unlink(const std::string& path) override;
  void sync_dir(const std::string& path) override;
  std::vector<std::string> list(const std::string& path) override;
  std::optional<FileStat> stat(const std::string& path) override;
  void note(std::string_view point) override;

 private:
  friend class FaultFile;
  // What a name stood for when its directory was last synced.
  struct Durable {
    bool directory = false;
    std::optional<std::string> bytes;  // a file's durable contents; nothing: no such name
  };

  // Counts a call; returns true when a write must be torn. `needs_space`: ENOSPC applies.
  bool step(const std::string& what, bool needs_space);
  // Remembers the durable meaning of a name before its first change.
  void touch(const std::string& path);
  Durable durable(const std::string& path);

  FileSystem& under_;
  Fault fault_;
  std::int64_t at_;
  std::int64_t calls_ = 0;
  bool hit_ = false;
  std::map<std::string, Durable> names_;        // by path; erased by sync_dir of the parent
  std::map<std::string, std::string> contents_;  // by path: durable bytes of files with un-synced writes
};

}  // namespace lockstep
