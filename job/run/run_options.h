#pragma once

// Options of a job's run: how long it trains, how its steps are measured and recorded, and whether
// it listens while it trains. From the job's flags (job/run/flags.h) and the environment.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "profiler/session/profile_session.h"

namespace hocket {

struct RunOptions {
  std::string program = "job";  ///< name of the program, in ids and tapes
  std::int64_t steps = 20;
  std::int64_t warmup = 3;  ///< first steps that are not measured
  /// File to which a description of the step is written; then the job does nothing else. Empty:
  /// none.
  std::string profile = {};
  std::string step = {};    ///< file of the description that order=static follows; empty: none
  std::string record = {};  ///< file of the tape; empty: none
  /// Span of a profile; without a first step, HOCKET_PROFILE applies.
  ProfileSpan profiled{.first_step = -1, .steps = 10, .interleave = 0};
  std::string profile_level = "L1";  ///< level for a device (profiler/cupti/level.h)
  bool profile_on_request = false;
  bool watch = false;     ///< is tuned by the daemon while it trains
  double explore = 0.03;  ///< share of training time that trying candidates may cost
};

/// Receivers of a run's lines for people. Both may be called from other threads than the
/// training's.
struct RunMessages {
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// Returns invalid_argument where the steps are too few for what is asked of them.
Result<void> check_steps(const RunOptions& options);

/// Returns whether every step has a ballot.
bool is_live(const RunOptions& options);

/// Returns whether the job can be profiled on request. A recorded job cannot, since --record takes
/// the scheduler's only observer.
bool takes_requests(const RunOptions& options);

/// Returns the level at which a device is profiled; empty when nothing can be profiled.
std::string level_to_profile(const RunOptions& options);

/// Returns the span that rank 0 is to profile, from the options or else from HOCKET_PROFILE. Calls
/// `warn` where no profile can be made of what is asked for.
std::optional<ProfileSpan> span_to_profile(const RunOptions& options,
                                           const std::function<void(const std::string&)>& warn);

}  // namespace hocket
