#pragma once

// A limit on the memory that reading one thing from outside may take, because a small file can be
// made to need any amount: a parser looks from time to time, and stops with an error before the
// machine or the process's control group runs out. Counts what all threads of the process take. One
// thread at a time.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/base/result.h"

namespace hocket {

/// Environment variable with the limit, in MiB.
inline constexpr const char* kReadingMemoryVariable = "HOCKET_READING_MIB";

/// Memory that a packed file may take for each of its bytes, beside kPackedMemoryBytes. Honest
/// traces of 100 bytes an event, packed 20- to 40-fold, take about as much as they have unpacked.
inline constexpr std::int64_t kMemoryForPackedByte = 200;
inline constexpr std::int64_t kPackedMemoryBytes = 256 << 20;

class MemoryBudget {
 public:
  /// Returns the memory that this process has now.
  using Meter = std::function<std::int64_t()>;

  /// Allows growth by `most_bytes` from now on.
  explicit MemoryBudget(std::int64_t most_bytes, Meter meter = {})
      : MemoryBudget(std::optional(most_bytes), std::move(meter)) {}

  /// Allows what kReadingMemoryVariable says, otherwise half of what is left to this process. Looks
  /// for that only once some memory was taken, so that one for a small thing costs little.
  static MemoryBudget of_process() { return MemoryBudget(std::nullopt, {}); }

  /// Returns "reading it has taken 5.1 GiB of memory, …" if it has taken more than it may;
  /// `packed_bytes` is the size of what was unpacked so far, if it was packed.
  std::optional<std::string> problem(std::optional<std::int64_t> packed_bytes = {});

  std::int64_t most_bytes();

 private:
  MemoryBudget(std::optional<std::int64_t> most_bytes, Meter meter);

  std::optional<std::int64_t> most_bytes_;
  Meter meter_;
  std::int64_t begin_bytes_;
};

/// Returns the memory that this process may still take: what the machine has available, or what its
/// control groups leave. `root` is "" outside of tests. Returns nothing if neither is known.
std::optional<std::int64_t> available_memory_bytes(const std::string& root = "");

}  // namespace hocket
