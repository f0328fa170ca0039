#pragma once

// Collectives that are tuned alike: those of one function whose sizes have the same power of two as
// upper bound. Pure functions; thread-safe.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "plugins/nccl/interface/nccl_interface.h"

namespace hocket::nccl {

/// Functions by NCCL's numbers.
enum class Function : std::uint8_t { broadcast, reduce, all_gather, reduce_scatter, all_reduce };
using abi::kFunctions;
static_assert(static_cast<int>(Function::broadcast) == abi::kBroadcast &&
              static_cast<int>(Function::all_reduce) == abi::kAllReduce);

/// Returns "all_reduce"; the word in names of classes.
constexpr const char* to_string(Function function) {
  constexpr const char* kWords[kFunctions] = {"broadcast", "reduce", "all_gather", "reduce_scatter",
                                              "all_reduce"};
  return kWords[static_cast<int>(function)];
}

/// Returns whether the bits of the result depend on the order in which values are added, and so on
/// the algorithm, the protocol and the number of channels.
constexpr bool adds_values(Function function) {
  return function == Function::reduce || function == Function::reduce_scatter ||
         function == Function::all_reduce;
}

/// Sizes up to 2^47 bytes; larger ones count as that.
inline constexpr int kSizeClasses = 48;
inline constexpr int kClasses = kFunctions * kSizeClasses;

struct CollectiveClass {
  Function function = Function::all_reduce;
  /// The class holds sizes above 2^(size_class - 1) and up to 2^size_class bytes.
  std::uint8_t size_class = 0;

  /// Place in a table of kClasses.
  constexpr int index() const {
    return static_cast<int>(function) * kSizeClasses + static_cast<int>(size_class);
  }
  constexpr std::uint64_t upper_bytes() const { return std::uint64_t{1} << size_class; }

  bool operator==(const CollectiveClass&) const = default;
};

/// Returns the class of a collective; requires 0 <= function < kFunctions.
constexpr CollectiveClass class_of(int function, std::uint64_t bytes) {
  const int bits = bytes <= 1 ? 0 : std::bit_width(bytes - 1);
  return {static_cast<Function>(function),
          static_cast<std::uint8_t>(bits < kSizeClasses ? bits : kSizeClasses - 1)};
}

constexpr CollectiveClass class_at(int index) {
  return {static_cast<Function>(index / kSizeClasses),
          static_cast<std::uint8_t>(index % kSizeClasses)};
}

/// Returns "4MiB", "512B": a power of two with its unit.
inline std::string size_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return std::to_string(bytes) + kUnits[unit];
}

/// Returns "all_reduce 4MiB", for people and as the name of a workload.
inline std::string to_string(const CollectiveClass& of) {
  return std::string(to_string(of.function)) + " " + size_text(of.upper_bytes());
}

}  // namespace hocket::nccl
