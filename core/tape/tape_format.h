#pragma once

// Byte encoding of a tape, for its writer and its reader; docs/formats/tape.md describes the
// layout. Pure.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/tape/tape.h"

namespace hocket::tape_format {

inline constexpr std::string_view kMagic = "hocktape";
inline constexpr std::size_t kMaxHeaderBytes = 1 << 16;

// First byte of an entry: kName, kEnd, or a record's 1 + kind, plus 2 from kName on.
inline constexpr unsigned char kName = 10;
inline constexpr unsigned char kEnd = 11;

constexpr unsigned char code_of(TapeKind kind) {
  const int code = 1 + static_cast<int>(kind);
  return static_cast<unsigned char>(code < kName ? code : code + 2);
}
/// The field of a priority has the priority, plus this many levels for each lane of a compute task.
/// A collective has no lane; it has one level more if its communication follows.
inline constexpr std::uint64_t kCommunicationFollows = kPriorityLevels;
/// Tiers by which the field of a group is divided.
inline constexpr std::uint64_t kTiers = 4;
/// Most places between two members of a group.
inline constexpr std::uint64_t kMaxPeer = 1 << 24;
/// The field of an order has the order, plus this for each parameter server.
inline constexpr std::uint64_t kOrders = 4;
inline constexpr unsigned char kLastCode = code_of(TapeKind::summed);

/// Returns the kind of a record. Requires `code` to be a record's.
constexpr TapeKind kind_of(unsigned char code) {
  return static_cast<TapeKind>(code < kName ? code - 1 : code - 3);
}

/// Appends seven bits per byte, lowest first; the top bit marks that more follow (LEB128).
inline void append_varint(std::string& bytes, std::uint64_t value) {
  while (value >= 0x80) {
    bytes.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  bytes.push_back(static_cast<char>(value));
}

/// Maps differences of small magnitude and either sign to small numbers.
constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t value) {
  return (value >> 1) ^ (0 - (value & 1));
}

}  // namespace hocket::tape_format
