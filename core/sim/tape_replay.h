#pragma once

// Replays a tape: tells a new Plan what the recorded plan was told, at the times on the tape, and
// compares each decision. Not thread-safe.

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/tape/tape.h"

namespace hocket {

/// A decision that differs from the tape.
struct TapeDifference {
  std::uint64_t record = 0;  ///< counted from 1; the tape's end is one more than the last
  std::int64_t time_ns = 0;
  std::string on_tape;  ///< description of the decision
  std::string decided;
};

struct TapeReplay {
  std::uint64_t records = 0;  ///< complete records read so far
  /// Decisions equal to those on the tape.
  /// Pulls count as parts.
  std::uint64_t ready = 0, started = 0, started_parts = 0;
  std::int64_t end_ns = 0;                   ///< time of the last record
  std::optional<TapeDifference> difference;  ///< the first difference, at which the replay ends
  std::optional<Error> incomplete;           ///< position and reason when the tape is cut off

  std::uint64_t decisions() const { return ready + started + started_parts; }
};

/// Replays `tape`, of which nothing may have been read yet. Captured steps are launched, so their
/// dependencies are derived once. Returns invalid_argument, with the record, when a record
/// contradicts what a plan can have been told. Needs memory for the tasks that are unfinished at
/// the same time, at most kMaxReplayTasks.
Result<TapeReplay> replay_tape(TapeReader& tape);

inline constexpr std::uint64_t kMaxReplayTasks = 1 << 22;

}  // namespace hocket
