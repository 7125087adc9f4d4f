// Reads a file that may be gzip-compressed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace lockstep {

/// Sequential reader; plain files are passed through. Errors (data) name the file: cannot be opened, damaged stream
/// (checksum), ends in the middle of the stream.
class GzipReader {
 public:
  explicit GzipReader(const std::string& path);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;
  /// Fills `to` as far as the contents reach; returns the bytes read, fewer only at the end.
  std::size_t read(std::span<std::byte> to);
  /// The most bytes that the file can hold unpacked: its size, times the best possible ratio where compressed.
  [[nodiscard]] std::uint64_t most_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep
