// gzip through zlib.
#include "lockstep/io/gzip.h"

#include <zlib.h>

#include <cerrno>
#include <system_error>

#include "lockstep/base/error.h"
#include "lockstep/base/file.h"
#include "lockstep/base/text.h"

namespace lockstep {

struct GzipReader::Impl {
  std::string path;
  gzFile file = nullptr;
  std::uint64_t size = 0;
};

GzipReader::GzipReader(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  const auto stat = real_files().stat(path);
  if (!stat || stat->directory) {
    failf(Category::data, "cannot read {}: {}", quote(path), stat ? "it is a folder" : "no such file");
  }
  impl_->size = stat->size;
  impl_->file = gzopen(path.c_str(), "rb");
  if (impl_->file == nullptr) {
    failf(Category::data, "cannot read {}: {}", quote(path), std::system_category().message(errno));
  }
  gzbuffer(impl_->file, 1u << 18);
}

GzipReader::~GzipReader() { gzclose(impl_->file); }

std::size_t GzipReader::read(std::span<std::byte> to) {
  constexpr std::size_t kMost = std::size_t{1} << 28;
  std::size_t done = 0;
  while (done < to.size()) {
    const auto want = static_cast<unsigned>(std::min(kMost, to.size() - done));
    const int n = gzread(impl_->file, to.data() + done, want);
    if (n > 0) done += static_cast<std::size_t>(n);
    if (n == static_cast<int>(want)) continue;
    // Short: the end, which is clean or not, or an error.
    int code = Z_OK;
    const char* why = gzerror(impl_->file, &code);
    if (code == Z_BUF_ERROR) {
      failf(Category::data, "{} is cut short: its compressed stream has no end", quote(impl_->path));
    }
    if (n < 0 || code < 0) failf(Category::data, "{} is damaged: {}", quote(impl_->path), why);
    break;
  }
  return done;
}

std::uint64_t GzipReader::most_bytes() const {
  constexpr std::uint64_t kBestRatio = 1032;   // of deflate
  return gzdirect(impl_->file) != 0 ? impl_->size : impl_->size * kBestRatio;
}

}  // namespace lockstep
