#pragma once

// The least that a secret must have which people choose. Pure; thread-safe.

#include <bitset>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hocket {

inline constexpr std::size_t kLeastSecretBytes = 16;
inline constexpr std::size_t kLeastDifferentBytes = 5;

/// Returns invalid_argument if a secret is short or repeats itself so much that it can be guessed
/// by trying. The error does not quote it.
inline Result<void> check_secret(std::string_view secret) {
  std::bitset<256> seen;
  for (const char c : secret) seen.set(static_cast<unsigned char>(c));
  if (secret.size() >= kLeastSecretBytes && seen.count() >= kLeastDifferentBytes) return {};
  return failure(ErrorCode::invalid_argument,
                 "a secret has at least " + std::to_string(kLeastSecretBytes) + " characters, " +
                     std::to_string(kLeastDifferentBytes) + " of them different, found " +
                     std::to_string(secret.size()) + " and " + std::to_string(seen.count()) +
                     "; make one: openssl rand -hex 32");
}

}  // namespace hocket
