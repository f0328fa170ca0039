#pragma once

// How a new version of a key's configuration reaches its running jobs: first one of them, the
// canary, and when that has kept it, the rest. Pure: told what happened, it says what to do. One
// thread.
//
// A canary that rolls back ends the version. One that is gone, or has not answered for too long, is
// replaced. Without a job to try it, now or soon, the version is released: there is nobody to harm,
// and jobs guard themselves. A released version that more jobs rolled back than kept,
// kMostRollbacks at least, is withdrawn.

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "core/protocol/job_message.h"

namespace hocket {

inline constexpr std::int64_t kCanaryLimitNs = 600'000'000'000;
inline constexpr int kMostRollbacks = 2;

struct RolloutAction {
  enum class Kind {
    offer,     ///< send the version to the canary `job`
    release,   ///< to all jobs
    withdraw,  ///< take it back from all that have it
  };
  Kind kind = Kind::offer;
  std::int64_t version = 0;
  std::string job = {};
  std::string reason = {};  ///< one line

  bool operator==(const RolloutAction&) const = default;
};

/// A job that could try a version.
struct RolloutJob {
  std::string id;
  bool is_connected = false;  ///< else it was a moment ago, and may come back
};

class Rollout {
 public:
  /// A version that is staged. It takes the place of an undecided one.
  void begin_staged(std::int64_t version);

  /// A version that is released already; its outcomes are watched.
  void begin_released(std::int64_t version);

  /// What a job said of a version. Of other versions it is ignored.
  void outcome(const std::string& job, std::int64_t version, ChangeStatus status,
               const std::string& message);

  /// What to do now; call again until there is nothing. `jobs` are those that run, the one to ask
  /// first at the front; with `more_may_come` there may be others that have not said so yet. Time
  /// is any clock that does not go back.
  std::optional<RolloutAction> next(std::span<const RolloutJob> jobs, bool more_may_come,
                                    std::int64_t now_ns);

  /// The version that is staged; 0: none.
  std::int64_t staged() const { return is_staged_ ? version_ : 0; }
  const std::string& canary() const { return canary_; }

 private:
  RolloutAction decide(RolloutAction::Kind kind, std::string reason);
  std::optional<RolloutAction> watch_released();

  std::int64_t version_ = 0;  // 0: nothing to watch
  bool is_staged_ = false;
  std::string canary_;
  std::int64_t offered_at_ns_ = 0;
  std::set<std::string> asked_;  // canaries so far
  std::optional<ChangeStatus> canary_said_;
  std::string message_;
  std::set<std::string> kept_, rolled_back_;  // since the release
};

}  // namespace hocket
