#pragma once

// Ed25519 signatures (RFC 8032) by OpenSSL, with keys as PEM. Pure functions; thread-safe.

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

struct Signature {
  std::string key;    ///< SHA-256 of the public key (SubjectPublicKeyInfo, DER), hexadecimal
  std::string value;  ///< 64 bytes, hexadecimal

  bool operator==(const Signature&) const = default;
};

inline constexpr std::size_t kSignatureDigits = 128;

/// Signs `text`. invalid_argument unless `private_key` is a private Ed25519 key that is not
/// encrypted.
Result<Signature> sign(std::string_view text, std::string_view private_key);

/// Returns invalid_argument unless `signature` is one of `text` by the key that belongs to
/// `public_key`, or if that is no public Ed25519 key.
Result<void> verify(std::string_view text, const Signature& signature, std::string_view public_key);

}  // namespace hocket
