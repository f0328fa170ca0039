#pragma once

// The bytes of a tape, for its writer and its reader; docs/formats/tape.md has the layout. Pure.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/tape/tape.h"

namespace hocket::tape_format {

inline constexpr std::string_view kMagic = "hocktape";
inline constexpr std::size_t kMaxHeaderBytes = 1 << 16;

// What an entry begins with: one of these, or a record with 1 + its kind, and above these two more.
inline constexpr unsigned char kName = 10;
inline constexpr unsigned char kEnd = 11;

constexpr unsigned char code_of(TapeKind kind) {
  const int code = 1 + static_cast<int>(kind);
  return static_cast<unsigned char>(code < kName ? code : code + 2);
}
inline constexpr unsigned char kLastCode = code_of(TapeKind::configured);

/// `code` must be a record's.
constexpr TapeKind kind_of(unsigned char code) {
  return static_cast<TapeKind>(code < kName ? code - 1 : code - 3);
}

/// Seven bits a byte, the lowest first; the top bit says that more follow (LEB128).
inline void append_varint(std::string& bytes, std::uint64_t value) {
  while (value >= 0x80) {
    bytes.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  bytes.push_back(static_cast<char>(value));
}

/// Small for small differences of either sign.
constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t value) {
  return (value >> 1) ^ (0 - (value & 1));
}

}  // namespace hocket::tape_format
