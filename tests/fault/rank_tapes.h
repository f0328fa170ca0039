#pragma once

// Reads the changes of configuration from the tapes of a job's ranks. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

struct TapeSwitch {
  std::uint64_t collective = 0;  ///< first collective submitted after the change
  std::int64_t partition_bytes = 0, credit_bytes = 0;

  bool operator==(const TapeSwitch&) const = default;
};

struct RankTape {
  std::vector<TapeSwitch> switches;
  /// Number of parts of each collective; 0 if not all of them have started.
  std::vector<std::int64_t> parts;
  bool is_whole = false;  ///< true if the tape has its end
};

/// Reads a tape as far as it is intact. Returns an error if a part is larger, or a finished
/// collective has another number of parts, than the partition at its submission implies: it then
/// ran with two configurations.
Result<RankTape> read_rank_tape(std::string_view bytes);

/// Returns the first difference in the changes of two ranks, each of which must be before the same
/// collective; "" if there is none. Compares the range that both tapes cover.
std::string difference(const RankTape& a, const RankTape& b);

}  // namespace hocket
