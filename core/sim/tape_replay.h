#pragma once

// Runs a new Plan by what a tape says the first one was told, at the times of the tape, and
// compares each decision. Not thread-safe.

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/tape/tape.h"

namespace hocket {

/// Where the plan decided otherwise.
struct TapeDifference {
  std::uint64_t record = 0;  ///< counted from 1; one more than there are for the tape's end
  std::int64_t time_ns = 0;
  std::string on_tape;  ///< in words
  std::string decided;
};

struct TapeReplay {
  std::uint64_t records = 0;  ///< whole ones, read so far
  /// Decisions that were as on the tape.
  std::uint64_t ready = 0, started = 0, started_parts = 0;
  std::int64_t end_ns = 0;                   ///< time of the last record
  std::optional<TapeDifference> difference;  ///< the replay ends at the first
  std::optional<Error> incomplete;           ///< where and why the tape breaks off

  std::uint64_t decisions() const { return ready + started + started_parts; }
};

/// Replays what `tape`, of which nothing was read yet, says. Captured steps are launched, so their
/// dependencies are derived once. invalid_argument names the record that no plan could have
/// written: what it says happened could not have. Needs memory for the tasks that are unfinished at
/// once, at most kMaxReplayTasks.
Result<TapeReplay> replay_tape(TapeReader& tape);

inline constexpr std::uint64_t kMaxReplayTasks = 1 << 22;

}  // namespace hocket
