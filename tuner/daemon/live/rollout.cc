#include "tuner/daemon/live/rollout.h"

#include <algorithm>
#include <utility>

namespace hocket {

void Rollout::begin_staged(std::int64_t version) {
  *this = Rollout();
  version_ = version;
  is_staged_ = true;
}

void Rollout::begin_released(std::int64_t version) {
  *this = Rollout();
  version_ = version;
}

void Rollout::outcome(const std::string& job, std::int64_t version, ChangeStatus status,
                      const std::string& message) {
  if (version != version_ || version == 0) return;
  if (is_staged_) {
    if (job != canary_) return;
    canary_said_ = status;
    message_ = message;
    return;
  }
  if (status == ChangeStatus::applied) kept_.insert(job);
  if (status == ChangeStatus::rolled_back) rolled_back_.insert(job);
}

RolloutAction Rollout::decide(RolloutAction::Kind kind, std::string reason) {
  RolloutAction action{kind, version_, std::exchange(canary_, {}), std::move(reason)};
  if (kind == RolloutAction::Kind::withdraw) {
    *this = Rollout();
  } else {
    begin_released(version_);
    if (!action.job.empty()) kept_.insert(action.job);
  }
  return action;
}

std::optional<RolloutAction> Rollout::watch_released() {
  const auto rollbacks = rolled_back_.size();
  if (rollbacks < kMostRollbacks || rollbacks <= kept_.size()) return std::nullopt;
  return decide(RolloutAction::Kind::withdraw, std::to_string(rollbacks) +
                                                   " jobs rolled it back, " +
                                                   std::to_string(kept_.size()) + " kept it");
}

std::optional<RolloutAction> Rollout::next(std::span<const RolloutJob> jobs, bool more_may_come,
                                           std::int64_t now_ns) {
  using Kind = RolloutAction::Kind;
  if (version_ == 0) return std::nullopt;
  if (!is_staged_) return watch_released();
  if (!canary_.empty()) {
    if (canary_said_ == ChangeStatus::applied) {
      return decide(Kind::release, "job " + canary_ + " tried and kept it");
    }
    if (canary_said_ == ChangeStatus::rolled_back) {
      return decide(Kind::withdraw, "job " + canary_ + " tried it and rolled back: " + message_);
    }
    const bool is_here = std::ranges::find(jobs, canary_, &RolloutJob::id) != jobs.end();
    const bool is_late = now_ns - offered_at_ns_ > kCanaryLimitNs;
    if (is_here && !is_late && !canary_said_) return std::nullopt;
  }
  canary_.clear();
  canary_said_.reset();
  for (const RolloutJob& job : jobs) {
    if (asked_.contains(job.id)) continue;
    more_may_come = true;
    if (!job.is_connected) continue;
    canary_ = job.id;
    asked_.insert(canary_);
    offered_at_ns_ = now_ns;
    return RolloutAction{Kind::offer, version_, canary_, "to try before the others"};
  }
  if (more_may_come) return std::nullopt;
  return decide(Kind::release, asked_.empty() ? "no running job could try it"
                                              : "no further running job could try it");
}

}  // namespace hocket
