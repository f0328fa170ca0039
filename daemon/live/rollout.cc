#include "daemon/live/rollout.h"

#include <algorithm>
#include <utility>

namespace hocket {

void Rollout::begin_staged(std::int64_t version, bool must_be_tried) {
  *this = Rollout();
  version_ = version;
  is_staged_ = true;
  must_be_tried_ = must_be_tried;
}

void Rollout::begin_released(std::int64_t version) {
  *this = Rollout();
  version_ = version;
}

void Rollout::outcome(const std::string& job, std::int64_t version, ChangeStatus status,
                      const std::string& message, const std::string& owner) {
  if (version != version_ || version == 0) return;
  if (is_staged_) {
    if (job != canary_) return;
    canary_said_ = status;
    message_ = message;
    return;
  }
  if (status == ChangeStatus::applied) kept_[owner].insert(job);
  if (status == ChangeStatus::rolled_back) rolled_back_[owner].insert(job);
}

void Rollout::ended_first(const std::string& job) {
  if (is_staged_ && job == canary_ && !canary_said_) canary_.clear();
}

RolloutAction Rollout::decide(RolloutAction::Kind kind, std::string reason) {
  RolloutAction action{kind, version_, std::exchange(canary_, {}), std::move(reason), 0, {}};
  if (kind == RolloutAction::Kind::hold) {
    *this = Rollout();
    return action;
  }
  action.owners = left_;
  const std::string owner = canary_owner_;
  begin_released(version_);
  left_ = action.owners;
  if (!action.job.empty()) kept_[owner].insert(action.job);
  return action;
}

RolloutAction Rollout::withdraw(std::set<std::string> owners, std::string reason) {
  using Kind = RolloutAction::Kind;
  if (owners.contains("")) owners.clear();
  RolloutAction action{Kind::withdraw, version_, canary_, std::move(reason), 0, std::move(owners)};
  if (action.owners.empty()) {
    *this = Rollout();
  } else if (is_staged_) {
    begin_released(version_);
    left_ = action.owners;
  } else {
    left_.insert(action.owners.begin(), action.owners.end());
  }
  return action;
}

std::optional<RolloutAction> Rollout::watch_released() {
  for (const auto& [owner, jobs] : rolled_back_) {
    const std::size_t kept = kept_[owner].size();
    if (left_.contains(owner) || jobs.size() < kMostRollbacks || jobs.size() <= kept) continue;
    return withdraw({owner}, std::to_string(jobs.size()) + " jobs " +
                                 (owner.empty() ? std::string() : "of " + owner + " ") +
                                 "rolled it back, " + std::to_string(kept) + " kept it");
  }
  return std::nullopt;
}

void Rollout::leave_owner() {
  if (first_rollback_.empty())
    first_rollback_ = "job " + canary_ + " tried it and rolled back: " + message_;
  left_.insert(canary_owner_);
  canary_.clear();
  canary_said_.reset();
}

std::optional<RolloutAction> Rollout::conclude(std::span<const RolloutJob> jobs) {
  using Kind = RolloutAction::Kind;
  if (!left_.empty()) return withdraw(left_, first_rollback_);
  if (!rejection_.empty()) return decide(Kind::hold, rejection_);
  if (unanswered_ >= kMostUnanswered) {
    return decide(Kind::hold, std::to_string(unanswered_) +
                                  " jobs left or were silent before they had decided on it");
  }
  if (unanswered_ > 0 || must_be_tried_) return std::nullopt;
  const auto can_start = [](const RolloutJob& job) { return job.fit.fit != JobFitKind::never; };
  if (!jobs.empty() && std::ranges::none_of(jobs, can_start)) {
    return decide(Kind::hold,
                  "job " + jobs.front().id + " cannot run it: " + jobs.front().fit.reason);
  }
  return decide(Kind::release, jobs.empty() ? "no job is running"
                                            : "no running job can change to it; jobs take it when "
                                              "they start");
}

bool Rollout::is_decided(bool is_here) {
  if (!canary_said_) {
    if (is_here) return false;
    ++unanswered_;
  } else if (rejection_.empty()) {
    rejection_ = "job " + canary_ + " rejected it: " + message_;
  }
  canary_.clear();
  canary_said_.reset();
  return true;
}

std::optional<RolloutAction> Rollout::next(std::span<const RolloutJob> jobs, bool more_may_come,
                                           std::int64_t now_ns) {
  using Kind = RolloutAction::Kind;
  if (version_ == 0) return std::nullopt;
  if (!is_staged_) return watch_released();
  bool is_pending = false;
  if (!canary_.empty()) {
    if (canary_said_ == ChangeStatus::applied) {
      return decide(Kind::release, "job " + canary_ + " tried and kept it");
    }
    if (canary_said_ == ChangeStatus::rolled_back) {
      leave_owner();
      if (left_.contains("")) return withdraw({}, first_rollback_);
    } else {
      is_pending = !is_decided(std::ranges::any_of(jobs, [this](const RolloutJob& job) {
        return job.id == canary_ && job.number == canary_number_;
      }));
    }
    if (is_pending && now_ns - offered_at_ns_ <= kCanaryLimitNs) return std::nullopt;
  }
  for (const RolloutJob& job : jobs) {
    if (asked_.contains({job.id, job.number}) || left_.contains(job.owner)) continue;
    if (job.fit.fit != JobFitKind::now) continue;
    more_may_come = true;
    if (!job.is_connected) continue;
    if (is_pending) ++unanswered_;
    canary_ = job.id;
    canary_owner_ = job.owner;
    canary_number_ = job.number;
    asked_.emplace(canary_, canary_number_);
    offered_at_ns_ = now_ns;
    return RolloutAction{Kind::offer, version_, canary_, "to try before the others", job.number};
  }
  if (is_pending || more_may_come) return std::nullopt;
  return conclude(jobs);
}

}  // namespace hocket
