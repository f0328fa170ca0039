#pragma once

// The digest by which hocket's own files show that they are intact. Pure; thread-safe.

#include <cstddef>
#include <string>
#include <string_view>

namespace hocket {

inline constexpr std::size_t kSha256Digits = 64;

/// Returns the SHA-256 of `text` as 64 hexadecimal digits in lower case.
std::string sha256_hex(std::string_view text);

/// Returns bytes as hexadecimal digits in lower case.
std::string hex_text(std::string_view bytes);

}  // namespace hocket
