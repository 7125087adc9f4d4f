// sha256 through libcrypto's plain functions: the newer interface looks the algorithm up on every call.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "lockstep/base/sha256.h"

#include <openssl/sha.h>

#include "lockstep/base/text.h"

namespace lockstep {

namespace {

static_assert(sizeof(SHA256_CTX) == 28 * sizeof(std::uint32_t), "Sha256 keeps libcrypto's context in its own array");

}  // namespace

Sha256::Sha256() { SHA256_Init(reinterpret_cast<SHA256_CTX*>(state_.data())); }

Sha256& Sha256::update(std::span<const std::byte> bytes) {
  SHA256_Update(reinterpret_cast<SHA256_CTX*>(state_.data()), bytes.data(), bytes.size());
  return *this;
}

Digest Sha256::digest() const {
  auto copy = state_;
  Digest out;
  SHA256_Final(out.data(), reinterpret_cast<SHA256_CTX*>(copy.data()));
  return out;
}

Digest sha256(std::span<const std::byte> bytes) { return Sha256().update(bytes).digest(); }
Digest sha256(std::string_view text) { return Sha256().update(text).digest(); }

std::string hex(const Digest& digest) { return hex(std::span<const std::uint8_t>(digest)); }

}  // namespace lockstep
