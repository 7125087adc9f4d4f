// sha256, over libcrypto.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace lockstep {

using Digest = std::array<std::uint8_t, 32>;

// A running digest. Copyable: a common prefix can be absorbed once.
class Sha256 {
 public:
  Sha256();
  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text) { return update(std::as_bytes(std::span(text.data(), text.size()))); }
  // The little-endian bytes of a number.
  template <class T>
    requires std::is_arithmetic_v<T>
  Sha256& update_value(T value) {
    return update(std::as_bytes(std::span(&value, 1)));
  }
  // The digest of everything so far; the object may go on.
  Digest digest() const;

 private:
  alignas(8) std::array<std::uint32_t, 28> state_;  // libcrypto's SHA256_CTX
};

// In one call; about 60 ns for a record of 64 bytes.
Digest sha256(std::span<const std::byte> bytes);
Digest sha256(std::string_view text);

// 64 lower-case digits.
std::string hex(const Digest& digest);

}  // namespace lockstep
