#pragma once

// Counters of a running job's ranks for each iteration, each on its own clock. In a synchronous
// collective the rank that comes last waits least, so ranks compare without a common clock. Values
// with one JSON form each (docs/openapi.json). Pure.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/base/json_reader.h"

namespace hocket {

/// Value of a counter that a rank does not measure.
inline constexpr std::int64_t kNotCounted = -1;

/// One rank's counters of an iteration, or their means over several; each 0 or above, or
/// kNotCounted.
struct RankCounters {
  /// Time in which communication was under way and nothing was computed, or in which the rank was
  /// blocked in communication.
  std::int64_t waited_ns = kNotCounted;
  /// Time in which something was computed.
  std::int64_t computed_ns = kNotCounted;
  /// Processor time of the rank's process.
  std::int64_t processor_ns = kNotCounted;
  /// Time in which a TCP connection of the rank has bytes queued that cannot leave yet although
  /// their receiver has room for them.
  std::int64_t sending_ns = kNotCounted;

  bool operator==(const RankCounters&) const = default;
};

/// The counters of all ranks in the same iterations.
struct CountedSteps {
  std::int64_t step = 0;   ///< the last of them
  std::int64_t steps = 1;  ///< so many; from 1 to kMaxCountedSteps
  /// By rank; at least one, at most kMaxCountedRanks.
  std::vector<RankCounters> ranks = {};

  bool operator==(const CountedSteps&) const = default;
};

/// Larger jobs do not count.
inline constexpr std::size_t kMaxCountedRanks = 1024;
inline constexpr std::int64_t kMaxCountedSteps = 1'000'000;
/// Most ranks of all counted steps of a report together; above kMaxCountedRanks.
inline constexpr std::size_t kMaxReportedCounters = 4096;

/// Appends `later` to `counted` and drops the oldest until there are at most `most_ranks` ranks in
/// all of them together.
void append_counted(std::vector<CountedSteps>& counted, std::vector<CountedSteps> later,
                    std::size_t most_ranks = kMaxReportedCounters);

nlohmann::json to_json(const CountedSteps& counted);
void read_counted_steps(JsonReader& reader, CountedSteps& counted);

}  // namespace hocket
