#pragma once

// Rollout of a new version of a key's configuration to its running jobs: first to one job, the
// canary, and after the canary has kept it to all others. Pure: it is told what happened and
// returns what to do. One thread.
//
// Only jobs that can change to the version while they run are asked (daemon/live/job_fit.h).
// What becomes of the canary's answer:
//   applied      it is released.
//   rolled back  it is withdrawn, if the job is an administrator's. Another job speaks for its
//                owner alone: a job of another owner is asked, and if that one keeps it, it is
//                released to all but the owners that rolled it back. Without a job of another
//                owner it is withdrawn.
//   rejected     the next job is asked. If there is none it is held, with the reason.
//   none         A canary that leaves or is silent for too long is replaced. Without another job,
//                the version waits for one; after kMostUnanswered canaries it is held. A job that
//                ended and came back is another job.
//   ended first  A canary that ends before it could decide says nothing about the version.
// If no job can be asked and none has answered, it is released, because no running job can be
// harmed and jobs guard themselves; but if jobs run and none of them could even start with it, it
// is held. A version that must be tried waits for a job instead. A released version is withdrawn
// from an owner's jobs if more of them rolled it back than kept it, and at least kMostRollbacks
// did; from all jobs if they are the administrators'.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "core/protocol/job_message.h"
#include "daemon/live/job_fit.h"

namespace hocket {

inline constexpr std::int64_t kCanaryLimitNs = 600'000'000'000;
inline constexpr int kMostRollbacks = 2;
inline constexpr int kMostUnanswered = 2;

struct RolloutAction {
  enum class Kind {
    offer,     ///< send the version to the canary `job`
    release,   ///< release the version to all jobs
    withdraw,  ///< revoke the version from all jobs that have it
    hold,      ///< give the version to no job
  };
  Kind kind = Kind::offer;
  std::int64_t version = 0;
  std::string job = {};
  std::string reason = {};   ///< one line
  std::uint64_t number = 0;  ///< RolloutJob::number of `job`, for an offer
  /// In a release the owners that rolled it back before; in a withdrawal those from whose jobs it
  /// is taken, none for all jobs.
  std::set<std::string> owners = {};

  bool operator==(const RolloutAction&) const = default;
};

/// A running job of the key.
struct RolloutJob {
  std::string id;
  bool is_connected = false;  ///< false: it was connected recently and may reconnect
  JobFit fit = {};            ///< fit of the job for the version
  std::uint64_t number = 0;   ///< of the registration (daemon/live/job_registry.h)
  std::string owner = {};     ///< JobOwner::speaks_for(): empty for administrators
};

class Rollout {
 public:
  /// Starts the rollout of a staged version. Replaces an undecided one. With `must_be_tried` it is
  /// not released without a job that kept it.
  void begin_staged(std::int64_t version, bool must_be_tried = false);

  /// Watches the outcomes of a version that is already released.
  void begin_released(std::int64_t version);

  /// Records the outcome of a job of `owner` for a version. Ignored for other versions.
  void outcome(const std::string& job, std::int64_t version, ChangeStatus status,
               const std::string& message, const std::string& owner = {});

  /// Notes that a job ended before it could decide.
  void ended_first(const std::string& job);

  /// Returns the next action; call again until there is none. `jobs` are the running jobs; the
  /// first is asked first. `more_may_come`: further jobs may not have registered yet. `now_ns` is
  /// from any clock that does not go back.
  std::optional<RolloutAction> next(std::span<const RolloutJob> jobs, bool more_may_come,
                                    std::int64_t now_ns);

  /// Returns the version that is staged or watched; 0 if there is none.
  std::int64_t version() const { return version_; }
  /// Returns the staged version; 0 if there is none.
  std::int64_t staged() const { return is_staged_ ? version_ : 0; }
  /// Returns the canary's id, empty if there is none.
  const std::string& canary() const { return canary_; }
  std::uint64_t canary_number() const { return canary_number_; }

 private:
  RolloutAction decide(RolloutAction::Kind kind, std::string reason);
  RolloutAction withdraw(std::set<std::string> owners, std::string reason);
  std::optional<RolloutAction> watch_released();
  /// Notes that the canary rolled it back, so that no other job of its owner is asked.
  void leave_owner();
  /// Takes the canary's rejection, or its absence without an answer, into account; it is the canary
  /// no more then. Returns false while it is here and has not answered.
  bool is_decided(bool is_here);
  /// Returns what is decided when no further job can be asked.
  std::optional<RolloutAction> conclude(std::span<const RolloutJob> jobs);

  std::int64_t version_ = 0;  // 0: nothing to watch
  bool is_staged_ = false;
  bool must_be_tried_ = false;
  std::string canary_, canary_owner_;
  std::uint64_t canary_number_ = 0;
  std::int64_t offered_at_ns_ = 0;
  std::set<std::pair<std::string, std::uint64_t>> asked_;  // canaries so far, with their numbers
  std::optional<ChangeStatus> canary_said_;
  std::string message_;
  std::string rejection_;       // the first rejection, with the job; empty: none
  int unanswered_ = 0;          // canaries that were replaced without an answer
  std::set<std::string> left_;  // owners from which it was withdrawn, and whose canary said so
  std::string first_rollback_;  // the first of these canaries, with its reason
  using Jobs = std::map<std::string, std::set<std::string>>;  // by owner
  Jobs kept_, rolled_back_;                                   // since the release
};

}  // namespace hocket
