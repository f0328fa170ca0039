#pragma once

// The seam to the servers that sum what ranks push to them and answer what ranks pull
// (Li et al., OSDI 2014; as ByteScheduler schedules it, SOSP 2019, section 2). Implementations:
// servers over TCP, and servers in memory for ranks that are threads of one process (core/servers).

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/result.h"
#include "core/collective/optimizer_step.h"

namespace hocket {

/// One part of a sum over all ranks. Every rank pushes and pulls it once.
struct ServedPart {
  /// Number of the collective in order of submission, from 0: the same on every rank.
  std::uint64_t collective = 0;
  /// Offset of the part in the collective; a multiple of sizeof(float).
  std::int64_t offset_bytes = 0;
  /// The server that sums it: 0 to servers() − 1, the same on every rank.
  int server = 0;

  bool operator==(const ServedPart&) const = default;
};

/// The step of an optimiser that a server makes of the sum of a part. The server keeps the
/// optimiser's state from one update to the next.
struct PartUpdate {
  /// Number of the parameters among those that the servers update. The same parameters have the
  /// same offsets at the same server in each update, though they may be cut into other parts.
  std::uint32_t tensor = 0;
  OptimizerStep step = {};

  bool operator==(const PartUpdate&) const = default;
};

/// A part goes through three calls: push(), then, when next_sum() has returned it, pull(). So a
/// rank pulls what is there, in the order that it prefers, and nothing that waits for other ranks
/// keeps a thread or credit from parts for which they wait.
class ParameterServers {
 public:
  virtual ~ParameterServers() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  /// Number of servers; at least 1.
  virtual int servers() const = 0;

  /// Blocks until the server has `values`, this rank's summand of the part. Never waits for another
  /// rank. Several threads may push and pull at once. If `update` is not null, the sum becomes the
  /// step of an optimiser before it can be pulled. unavailable, with the name of the server or of
  /// the rank, if one of them is gone; invalid_argument if ranks disagree about the size of the
  /// part or about its update.
  virtual Result<void> push(const ServedPart& part, std::span<const float> values,
                            const PartUpdate* update) = 0;
  Result<void> push(const ServedPart& part, std::span<const float> values) {
    return push(part, values, nullptr);
  }

  /// Blocks until `server` has the sum of a part that this rank has pushed, and returns the part;
  /// each once, possibly before its push() has returned. Returns nothing after end_waiting(). One
  /// thread for each server at a time. unavailable as push(); timed_out, with the ranks that are
  /// missing, if none of the parts that this rank has pushed became a sum for the time limit of
  /// silence.
  virtual Result<std::optional<ServedPart>> next_sum(int server) = 0;

  /// Fills `values` with the sum of a part that next_sum() has returned. It is added in the order
  /// of ranks, so that it is the same in every run. Errors as push().
  virtual Result<void> pull(const ServedPart& part, std::span<float> values) = 0;

  /// Makes next_sum() return nothing, at once and until begin_waiting(). A part that is a sum by
  /// then is not lost. Any thread.
  virtual void end_waiting() = 0;
  virtual void begin_waiting() = 0;

  /// Makes every blocked and every later call on this rank fail at once. Any thread.
  virtual void abort() = 0;
};

}  // namespace hocket
