// KeyRollout's versions that the jobs of some owners have kept, and others not yet.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/live/job_fit.h"
#include "daemon/live/key_rollout.h"
#include "store/promoted_schedule.h"

namespace hocket {

bool KeyRollout::is_trying(const std::string& explorer) const {
  if (!rollout_.canary().empty()) return true;
  return !explorer.empty() && std::ranges::any_of(owned_, [&](const auto& owned) {
    return owned.second.rollout.canary() == explorer;
  });
}

bool KeyRollout::is_waiting() const {
  return rollout_.staged() != 0 || std::ranges::any_of(owned_, [](const auto& owned) {
           return !owned.second.rollout.canary().empty();
         });
}

Result<void> KeyRollout::look_for_owned(const std::optional<PromotionRow>& current) {
  std::erase_if(owned_, [&](const auto& owned) {
    const std::int64_t version = owned.second.rollout.version();
    const bool is_there =
        std::ranges::find(owned_rows_, version, &PromotionRow::id) != owned_rows_.end();
    if (is_there) return false;
    // It was replaced or withdrawn.
    const std::uint64_t canary = owned.second.rollout.canary_number();
    const bool is_others = !rollout_.canary().empty() && canary == rollout_.canary_number();
    if (!owned.second.rollout.canary().empty() && !is_others)
      parts_.feed.forget(job_config_topic(canary));
    return true;
  });
  if (owned_rows_.empty()) return {};
  for (const std::string& owner : parts_.jobs.owners(key_))
    HOCKET_TRY(look_for_owned(owner, current ? &*current : nullptr));
  return {};
}

Result<void> KeyRollout::look_for_owned(const std::string& owner, const PromotionRow* current) {
  const PromotionRow* kept = newest_for(owned_rows_, owner);
  if (kept != nullptr) current = kept;
  const auto known = owned_.find(owner);
  std::int64_t after = current == nullptr ? 0 : current->id;
  if (known != owned_.end()) after = std::max(after, known->second.declined);
  // The newest that another owner's job has measured while it trained. What was brought back to
  // another owner's jobs is for these alone.
  for (auto row = owned_rows_.rbegin(); row != owned_rows_.rend() && row->id > after; ++row) {
    if (row->origin != PromotionOrigin::live) continue;
    if (current != nullptr && current->config == row->config)
      return keep(*row, owner, "it is what these jobs have");
    return begin_owned(owned_[owner], *row);
  }
  if (kept != nullptr && owned_[owner].rollout.version() != kept->id)
    owned_[owner].rollout.begin_released(kept->id);
  return {};
}

Result<void> KeyRollout::begin_owned(Owned& owned, const PromotionRow& row) {
  if (owned.rollout.staged() == row.id) return {};
  auto config = promoted_schedule(row);
  HOCKET_TRY(config);
  owned.config = std::move(*config);
  owned.rollout.begin_staged(row.id, /*must_be_tried=*/true);
  return {};
}

Result<void> KeyRollout::advance_owned(const std::string& owner, Owned& owned) {
  for (;;) {
    std::vector<RolloutJob> jobs;
    if (owned.rollout.staged() != 0) {
      parts_.jobs.for_each(key_, [&](const RunningJob& job) {
        if (job.owner.speaks_for() != owner) return true;
        jobs.push_back({job.description.id, job.is_connected(),
                        fit_of(job.description, owned.config), job.number, owner});
        return true;
      });
    }
    Rollout next = owned.rollout;
    const auto action = next.next(jobs, false, parts_.clock.now_ns());
    if (action) HOCKET_TRY(carry_out_owned(*action, owner, owned));
    const bool is_left =
        !owned.rollout.canary().empty() &&
        (next.canary().empty() || owned.rollout.canary_number() != next.canary_number());
    if (is_left) parts_.feed.forget(job_config_topic(owned.rollout.canary_number()));
    owned.rollout = std::move(next);
    if (!action) return {};
  }
}

Result<void> KeyRollout::carry_out_owned(const RolloutAction& action, const std::string& owner,
                                         Owned& owned) {
  const auto rows = parts_.store.promotions({.key = key_});
  HOCKET_TRY(rows);
  const auto row = std::ranges::find(*rows, action.version, &PromotionRow::id);
  if (row == rows->end()) return {};
  using Kind = RolloutAction::Kind;
  if (action.kind == Kind::offer) return offer(action, *row);
  if (action.kind == Kind::release) return keep(*row, owner, action.reason);
  if (action.kind == Kind::withdraw && is_for(*row, owner))
    return withdraw_from(owner, *row, action.reason, *rows);
  HOCKET_TRY(parts_.store.record_audit(
      {.actor = kDaemonActor,
       .action = "decline",
       .subject = to_string(key_),
       .detail = {{"version", row->id}, {"owner", owner}, {"note", action.reason}}}));
  owned.declined = std::max(owned.declined, row->id);
  return {};
}

Result<void> KeyRollout::keep(const PromotionRow& row, const std::string& owner,
                              const std::string& reason) {
  HOCKET_TRY(owner.empty()
                 ? parts_.store.set_stage(row.id, PromotionStage::released, kDaemonActor, reason)
                 : parts_.store.add_keeper(row.id, owner, kDaemonActor, reason));
  HOCKET_TRY(parts_.board.refresh(key_));
  parts_.board.publish(key_, owner);
  ++counts_.releases;
  return {};
}

Result<void> KeyRollout::withdraw_from(const std::string& owner, const PromotionRow& row,
                                       const std::string& reason,
                                       const std::vector<PromotionRow>& rows) {
  // Done before the withdrawal, so that a repetition after an error sees that it was done.
  const PromotionRow* const newest = newest_for(rows, owner);
  if (newest == nullptr || newest->id <= row.id) {
    const PromotionRow* previous = nullptr;
    for (const PromotionRow& earlier : rows) {
      if (earlier.id < row.id && is_for(earlier, owner)) previous = &earlier;
    }
    HOCKET_TRY(
        parts_.store.promote({.topology_id = topology_id_,
                              .workload_id = workload_id_,
                              .config = previous ? previous->config : nlohmann::json::object(),
                              .origin = PromotionOrigin::rollback,
                              .stage = PromotionStage::staged,
                              .actor = kDaemonActor,
                              .note = "version " + std::to_string(row.id) + ": " + reason,
                              .kept_by = {owner}}));
  }
  if (row.kept_by == std::vector<std::string>{owner}) {
    HOCKET_TRY(parts_.store.set_stage(row.id, PromotionStage::withdrawn, kDaemonActor, reason));
  }
  HOCKET_TRY(parts_.board.refresh(key_));
  parts_.board.publish(key_, owner);
  ++counts_.withdrawals;
  return {};
}

}  // namespace hocket
