#pragma once

// What the tapes of a job's ranks say of changes of its configuration. Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

struct TapeSwitch {
  std::uint64_t collective = 0;  ///< the first one that is submitted after it
  std::int64_t partition_bytes = 0, credit_bytes = 0;

  bool operator==(const TapeSwitch&) const = default;
};

struct RankTape {
  std::vector<TapeSwitch> switches;
  /// Of each collective, how many parts it has; 0: not all of them have started.
  std::vector<std::int64_t> parts;
  bool is_whole = false;  ///< it has its end
};

/// Reads a tape as far as it goes. An error when a part is larger, or a collective that is done has
/// another number of parts, than the partition at its submission says: two configurations at once.
Result<RankTape> read_rank_tape(std::string_view bytes);

/// What keeps ranks from having made the same changes, each before the same collective; "" when
/// nothing does. Compared as far as both have come.
std::string difference(const RankTape& a, const RankTape& b);

}  // namespace hocket
