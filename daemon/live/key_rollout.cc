#include "daemon/live/key_rollout.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/live/job_fit.h"
#include "store/origin.h"
#include "store/promoted_schedule.h"

namespace hocket {

namespace {

/// Returns whether versions of this origin reach running jobs in stages.
bool is_staged_first(PromotionOrigin origin) {
  return origin == PromotionOrigin::study || origin == PromotionOrigin::push ||
         origin == PromotionOrigin::imported;
}

}  // namespace

KeyRollout::KeyRollout(LiveParts& parts, LiveCounts& counts, DaemonStart started, ConfigKey key,
                       std::int64_t topology_id, std::int64_t workload_id, std::int64_t version)
    : parts_(parts),
      counts_(counts),
      started_(started),
      key_(std::move(key)),
      topology_id_(topology_id),
      workload_id_(workload_id),
      known_version_(version),
      jobs_awaited_from_ns_(started.ns) {
  rollout_.begin_released(version);
}

void KeyRollout::add_outcome(JobOutcome outcome) {
  outcome.outcome.current_ns = {};
  outcome.outcome.candidate_ns = {};
  outcomes_.push_back(std::move(outcome));
}

Result<void> KeyRollout::take_outcomes() {
  while (!outcomes_.empty()) {
    if (auto ok = take_outcome(outcomes_.front()); !ok) return ok;
    outcomes_.pop_front();
  }
  return {};
}

Result<void> KeyRollout::take_outcome(const JobOutcome& taken) {
  const auto& [job, owner, number, outcome, has_ended] = taken;
  const auto rows = parts_.store.promotions({.key = key_});
  HOCKET_TRY(rows);
  const auto row = std::ranges::find(*rows, *outcome.version, &PromotionRow::id);
  if (row == rows->end()) return {};  // not a version of this key
  const auto owned = owned_.find(owner);
  if (has_ended && outcome.status == ChangeStatus::rejected) {
    rollout_.ended_first(job);
    if (owned != owned_.end()) owned->second.rollout.ended_first(job);
  } else {
    rollout_.outcome(job, row->id, outcome.status, outcome.message, owner);
    if (owned != owned_.end())
      owned->second.rollout.outcome(job, row->id, outcome.status, outcome.message, owner);
  }
  if (outcome.status == ChangeStatus::applied) {
    const auto config = promoted_schedule(*row);
    HOCKET_TRY(config);
    parts_.jobs.runs_with(number, *config, row->id);
    return {};
  }
  return parts_.store.record_audit(
      {.actor = "job " + job,
       .action = std::string(to_string(outcome.status)),
       .subject = to_string(key_),
       .detail = {{"version", row->id}, {"message", outcome.message}}});
}

Result<std::int64_t> KeyRollout::newest_staged(std::int64_t released,
                                               const std::vector<PromotionRow>& pushed) {
  if (pushed.empty()) return 0;
  const std::int64_t newest = std::max(released, pushed.back().id);
  for (const PromotionRow& row : pushed) {
    if (row.id == newest) continue;
    HOCKET_TRY(parts_.store.set_stage(row.id, PromotionStage::withdrawn, kDaemonActor,
                                      "replaced by version " + std::to_string(newest)));
  }
  if (newest == released) return 0;
  if (newest != rollout_.staged()) {
    const bool is_taken_over = jobs_awaited_from_ns_ > started_.ns;
    is_from_before_ = is_taken_over || pushed.back().promoted_at_ns < started_.unix_ns;
  }
  return newest;
}

Result<void> KeyRollout::look_for_versions(bool decides) {
  const auto state = parts_.store.key_state(key_.topology, key_.workload);
  HOCKET_TRY(state);
  state_ = *state;
  const auto current = parts_.store.current_promotion(key_.topology, key_.workload);
  HOCKET_TRY(current);
  const std::int64_t released = *current ? (*current)->id : 0;
  auto pushed = parts_.store.promotions({.key = key_, .stage = PromotionStage::staged});
  HOCKET_TRY(pushed);
  std::vector<PromotionRow> owned;
  std::ranges::copy_if(*pushed, std::back_inserter(owned), [&](const PromotionRow& row) {
    return !row.kept_by.empty() && row.id > released;
  });
  std::erase_if(*pushed, [](const PromotionRow& row) { return !row.kept_by.empty(); });
  if (auto ok = refresh(released, std::move(owned)); !ok) return ok;
  const auto staged = decides ? newest_staged(released, *pushed) : Result<std::int64_t>(0);
  HOCKET_TRY(staged);
  if (*staged != 0) {
    if (*staged != rollout_.staged()) HOCKET_TRY(begin_staged(*staged));
  } else if (released > known_version_) {
    is_from_before_ = false;
    if (is_staged_first((*current)->origin)) {
      // New jobs already receive it; running jobs receive it in stages.
      HOCKET_TRY(begin_staged(released));
    } else {
      known_version_ = released;
      rollout_.begin_released(released);
      parts_.board.publish(key_);
    }
  } else if (rollout_.staged() != 0 && rollout_.staged() != released) {
    rollout_.begin_released(released);  // the staged version was withdrawn by another process
  }
  HOCKET_TRY(look_for_owned(*current));
  publish();
  return {};
}

Result<void> KeyRollout::begin_staged(std::int64_t version) {
  const auto rows = parts_.store.promotions({.key = key_});
  HOCKET_TRY(rows);
  const auto row = std::ranges::find(*rows, version, &PromotionRow::id);
  if (row == rows->end()) return {};  // withdrawn by another process just now
  auto config = promoted_schedule(*row);
  HOCKET_TRY(config);
  staged_config_ = std::move(*config);
  known_version_ = version;
  rollout_.begin_staged(version);
  return {};
}

Result<void> KeyRollout::refresh(std::int64_t released, std::vector<PromotionRow> owned) {
  const auto entry = parts_.board.cached(to_string(key_));
  const std::int64_t shown = entry ? entry->version : 0;
  const bool is_shown = shown == released && (!entry || entry->state == state_);
  if (is_shown && owned == owned_rows_) return {};
  HOCKET_TRY(parts_.board.refresh(key_));
  owned_rows_ = std::move(owned);
  return {};
}

void KeyRollout::publish() {
  for (const std::string& owner : parts_.jobs.owners(key_)) {
    if (owner.empty()) continue;  // published when it is released
    const auto entry = parts_.board.cached(to_string(key_), owner);
    if (entry && entry->version != rollout_.staged()) parts_.board.publish(key_, owner);
  }
}

bool KeyRollout::has_seen(const PromotionRow& staged) const {
  return staged.id == rollout_.staged() ||
         std::ranges::find(owned_rows_, staged) != owned_rows_.end();
}

Result<void> KeyRollout::advance() {
  HOCKET_TRY(advance_all_jobs());
  // Versions for all come first, and a pinned key keeps what its jobs have.
  for (auto& [owner, owned] : owned_) {
    const bool may_begin = rollout_.staged() == 0 && !state_.pinned;
    if (owned.rollout.staged() == 0 || may_begin) HOCKET_TRY(advance_owned(owner, owned));
  }
  return {};
}

Result<void> KeyRollout::advance_all_jobs() {
  for (;;) {
    std::vector<RolloutJob> jobs;
    if (rollout_.staged() != 0) {
      parts_.jobs.for_each(key_, [&](const RunningJob& job) {
        jobs.push_back({job.description.id, job.is_connected(),
                        fit_of(job.description, staged_config_), job.number,
                        job.owner.speaks_for()});
        return true;
      });
    }
    const std::int64_t now_ns = parts_.clock.now_ns();
    const bool more_may_come = is_from_before_ && now_ns - jobs_awaited_from_ns_ <= kJobSilenceNs;
    Rollout next = rollout_;
    const auto action = next.next(jobs, more_may_come, now_ns);
    if (action) {
      if (auto ok = carry_out(*action); !ok) return ok;
    }
    // The offer to the previous canary is decided, or another job is the canary now.
    const bool is_left = next.canary().empty() || rollout_.canary_number() != next.canary_number();
    if (!rollout_.canary().empty() && is_left) {
      parts_.feed.forget(job_config_topic(rollout_.canary_number()));
    }
    rollout_ = std::move(next);
    if (!action) return {};
  }
}

Result<void> KeyRollout::carry_out(const RolloutAction& action) {
  const auto rows = parts_.store.promotions({.key = key_});
  HOCKET_TRY(rows);
  const auto row = std::ranges::find(*rows, action.version, &PromotionRow::id);
  if (row == rows->end()) {
    return failure(ErrorCode::not_found,
                   "version " + std::to_string(action.version) + " is not in the store any more");
  }
  switch (action.kind) {
    case RolloutAction::Kind::offer:
      return offer(action, *row);
    case RolloutAction::Kind::release: {
      if (row->stage == PromotionStage::staged) {
        const auto ok =
            parts_.store.set_stage(row->id, PromotionStage::released, kDaemonActor, action.reason);
        if (!ok) return ok;
      }
      for (const std::string& owner : action.owners)
        HOCKET_TRY(withdraw_from(owner, *row, "its canary rolled it back", *rows));
      HOCKET_TRY(parts_.board.refresh(key_));
      parts_.board.publish(key_);
      for (const std::string& owner : parts_.jobs.owners(key_)) parts_.board.publish(key_, owner);
      ++counts_.releases;
      return {};
    }
    case RolloutAction::Kind::withdraw:
      // Nobody has a staged version yet.
      if (action.owners.empty() || row->stage == PromotionStage::staged)
        return withdraw(action, *rows);
      for (const std::string& owner : action.owners)
        HOCKET_TRY(withdraw_from(owner, *row, action.reason, *rows));
      return {};
    case RolloutAction::Kind::hold:
      return hold(action, *row);
  }
  return {};
}

Result<void> KeyRollout::offer(const RolloutAction& action, const PromotionRow& row) {
  const auto config = promoted_schedule(row);
  HOCKET_TRY(config);
  const auto origin = origin_of(parts_.store, row);
  HOCKET_TRY(origin);
  parts_.feed.publish(job_config_topic(action.number), event_of({row.id, *config, *origin}));
  return {};
}

Result<void> KeyRollout::withdraw(const RolloutAction& action,
                                  const std::vector<PromotionRow>& rows) {
  const PromotionRow* withdrawn = nullptr;
  const PromotionRow* previous = nullptr;
  std::int64_t current = 0;
  for (const PromotionRow& row : rows) {
    if (row.id == action.version) withdrawn = &row;
    if (row.stage != PromotionStage::released) continue;
    current = row.id;
    if (row.id < action.version) previous = &row;
  }
  const auto quarantined = parts_.store.quarantine({.topology_id = topology_id_,
                                                    .workload_id = workload_id_,
                                                    .config = withdrawn->config,
                                                    .reason = action.reason,
                                                    .actor = kDaemonActor});
  if (!quarantined) return quarantined;
  // Promotes the previous configuration as a new version, because version numbers never decrease.
  // Done before the withdrawal, so that a repetition after an error sees that it was done.
  if (current == action.version) {
    HOCKET_TRY(parts_.store.promote(
        {.topology_id = topology_id_,
         .workload_id = workload_id_,
         .config = previous ? previous->config : nlohmann::json::object(),
         .origin = PromotionOrigin::rollback,
         .stage = PromotionStage::released,
         .actor = kDaemonActor,
         .note = "version " + std::to_string(action.version) + ": " + action.reason}));
  }
  const auto ok = parts_.store.set_stage(action.version, PromotionStage::withdrawn, kDaemonActor,
                                         action.reason);
  if (!ok) return ok;
  ++counts_.withdrawals;
  return {};
}

Result<void> KeyRollout::hold(const RolloutAction& action, const PromotionRow& row) {
  if (row.stage == PromotionStage::staged) {
    return parts_.store.set_stage(row.id, PromotionStage::held, kDaemonActor, action.reason);
  }
  // A study has measured it in jobs that start, and these keep it.
  return parts_.store.record_audit({.actor = kDaemonActor,
                                    .action = "hold",
                                    .subject = to_string(key_),
                                    .detail = {{"version", row.id}, {"note", action.reason}}});
}

}  // namespace hocket
