// The trials of a SqlStore; sql_store_workers.cc gives them to workers.

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "store/rules/row_rules.h"
#include "store/sql/read_rows.h"
#include "store/sql/sql_store.h"

namespace hocket::sql {

Result<std::optional<TrialRow>> SqlStore::locked_trial(std::int64_t id) {
  return first(db_.query("SELECT * FROM trials WHERE id = ?1 {FOR UPDATE}", id), read_trial);
}

Result<TrialRow> SqlStore::start_trial(const NewTrial& trial) {
  HOCKET_TRY(rules::check(trial));
  const auto params = rules::object_text(trial.params, "the trial's parameters");
  HOCKET_TRY(params);
  return transact(Access::write, [&]() -> Result<TrialRow> {
    HOCKET_TRY(locked_study(trial.study_id));
    const auto at_ns = now_ns();
    HOCKET_TRY(at_ns);
    std::optional<std::int64_t> until_ns;
    if (trial.lease_ns && !trial.is_offered) {
      until_ns = rules::lease_end_ns(*at_ns, *trial.lease_ns);
    }
    auto row = first(
        db_.query("INSERT INTO trials (study_id, number, phase, state, params, message, "
                  "started_at_ns, worker, lease_until_ns, offered) "
                  "SELECT ?1, coalesce(max(number), 0) + 1, ?2, 'running', ?3, ?7, ?4, ?5, ?6, ?8 "
                  "FROM trials WHERE study_id = ?1 RETURNING *",
                  trial.study_id, to_string(trial.phase), *params, *at_ns, trial.worker, until_ns,
                  AnyText{""}, std::int64_t{trial.is_offered}),
        read_trial);
    HOCKET_TRY(row);
    if (!*row) return failure(rules::no_such("study", trial.study_id));
    HOCKET_TRY(touch_study(trial.study_id));
    return std::move(**row);
  });
}

Result<void> SqlStore::finish_trial(std::int64_t trial_id, const TrialOutcome& outcome,
                                    std::string_view worker) {
  const auto told = rules::checked(outcome);
  HOCKET_TRY(told);
  return transact(Access::write, [&]() -> Result<void> {
    const auto study_id = db_.integer("SELECT study_id FROM trials WHERE id = ?1", trial_id);
    HOCKET_TRY(study_id);
    if (!*study_id) return failure(rules::no_such("trial", trial_id));
    HOCKET_TRY(locked_study(**study_id));
    // It may have been removed while this waited.
    auto locked = locked_trial(trial_id);
    HOCKET_TRY(locked);
    if (!*locked) return failure(rules::no_such("trial", trial_id));
    std::vector<TrialRow> stored{std::move(**locked)};
    TrialRow& trial = stored.front();
    HOCKET_TRY(rules::check_holder(trial, worker));
    if (trial.state != TrialState::running) {
      if (auto ok = read_measurements(trial.study_id, stored); !ok) return ok;
    }
    const auto must_end = rules::must_end(trial, *told);
    HOCKET_TRY(must_end);
    if (!*must_end) return {};
    if (auto ok = write_outcome(trial_id, *told); !ok) return ok;
    return touch_study(trial.study_id);
  });
}

Result<void> SqlStore::write_outcome(std::int64_t trial_id, const TrialOutcome& outcome) {
  const auto at_ns = now_ns();
  HOCKET_TRY(at_ns);
  // Nobody has run a trial that is still offered, so the worker that was to run it is not kept.
  HOCKET_TRY(db_.execute(
      "UPDATE trials SET state = ?2, value = ?3, spread = ?4, message = ?5, finished_at_ns = ?6, "
      "worker = CASE offered WHEN 1 THEN '' ELSE worker END, offered = 0 WHERE id = ?1",
      trial_id, to_string(outcome.state), outcome.value, outcome.spread, AnyText{outcome.message},
      *at_ns));
  const Measurements measurements = measurements_of(outcome);
  std::vector<std::vector<Value>> measured;  // refers to the names in `measurements`
  for (const auto& [metric, values] : measurements) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      measured.push_back({trial_id, AnyText{metric}, static_cast<std::int64_t>(i), values[i]});
    }
  }
  HOCKET_TRY(db_.change_each("INSERT INTO measurements VALUES (?1, ?2, ?3, ?4)", measured));
  return outcome.output.is_empty() ? Result<void>() : write_output(trial_id, outcome.output);
}

Result<void> SqlStore::write_output(std::int64_t trial_id, const TrialOutput& output) {
  HOCKET_TRY(db_.execute("INSERT INTO trial_outputs VALUES (?1, ?2, ?3)", trial_id,
                         AnyText{output.stdout_text}, AnyText{output.stderr_text}));
  HOCKET_TRY(
      db_.execute("DELETE FROM trial_outputs WHERE trial_id IN (SELECT trial_id FROM trial_outputs "
                  "WHERE trial_id <= "
                  "(SELECT trial_id FROM trial_outputs ORDER BY trial_id DESC LIMIT 1 OFFSET ?1) "
                  "{FOR UPDATE SKIP LOCKED})",
                  kMostTrialOutputs));
  return {};
}

Result<std::optional<TrialOutput>> SqlStore::trial_output(std::int64_t trial_id) {
  return transact(Access::read, [&] {
    return first(db_.query("SELECT * FROM trial_outputs WHERE trial_id = ?1", trial_id),
                 read_trial_output);
  });
}

Result<std::int64_t> SqlStore::abandon_running_trials(std::int64_t study_id) {
  return transact(Access::write, [&]() -> Result<std::int64_t> {
    HOCKET_TRY(locked_study(study_id));
    const auto count =
        db_.execute("DELETE FROM trials WHERE study_id = ?1 AND state = 'running'", study_id);
    HOCKET_TRY(count);
    HOCKET_TRY(touch_study(study_id));
    return count;
  });
}

Result<std::int64_t> SqlStore::renew_lease(std::int64_t trial_id, std::int64_t lease_ns) {
  return transact(Access::write, [&]() -> Result<std::int64_t> {
    const auto stored = locked_trial(trial_id);
    HOCKET_TRY(stored);
    if (!*stored) return failure(rules::no_such("trial", trial_id));
    HOCKET_TRY(rules::check_renewable(**stored));
    const auto at_ns = now_ns();
    HOCKET_TRY(at_ns);
    const std::int64_t until_ns = rules::lease_end_ns(*at_ns, lease_ns);
    HOCKET_TRY(
        db_.execute("UPDATE trials SET lease_until_ns = ?2 WHERE id = ?1", trial_id, until_ns));
    return until_ns;
  });
}

Result<std::int64_t> SqlStore::expire_leases(std::int64_t study_id) {
  return transact(Access::write, [&]() -> Result<std::int64_t> {
    HOCKET_TRY(study_by_id(study_id));
    const auto at_ns = now_ns();
    HOCKET_TRY(at_ns);
    const auto count = db_.execute(
        "DELETE FROM trials WHERE id IN (SELECT id FROM trials WHERE study_id = ?1 "
        "AND state = 'running' AND lease_until_ns <= ?2 {FOR UPDATE SKIP LOCKED})",
        study_id, *at_ns);
    if (!count || *count == 0) return count;
    HOCKET_TRY(touch_study(study_id));
    return count;
  });
}

Result<void> SqlStore::read_measurements(std::int64_t study_id, std::vector<TrialRow>& trials) {
  auto query = db_.query(
      "SELECT trial_id, metric, measurements.value FROM measurements "
      "JOIN trials ON trials.id = trial_id WHERE study_id = ?1 ORDER BY trial_id, metric, position",
      study_id);
  HOCKET_TRY(query);
  std::map<std::int64_t, Measurements*> by_trial;
  for (auto& trial : trials) by_trial[trial.id] = &trial.measurements;
  for (;;) {
    const auto more = (*query)->next();
    HOCKET_TRY(more);
    if (!*more) return {};
    const auto it = by_trial.find((*query)->integer(0));
    if (it != by_trial.end()) (*it->second)[(*query)->text(1)].push_back((*query)->real(2));
  }
}

Result<std::vector<TrialRow>> SqlStore::trials(std::int64_t study_id, TrialDetail detail,
                                               UnreadRows* unread) {
  return transact(Access::read, [&]() -> Result<std::vector<TrialRow>> {
    HOCKET_TRY(study_by_id(study_id));
    auto found =
        rows(db_.query("SELECT * FROM trials WHERE study_id = ?1 ORDER BY number", study_id),
             read_trial, "trial", unread);
    if (!found || detail == TrialDetail::summary) return found;
    HOCKET_TRY(read_measurements(study_id, *found));
    return found;
  });
}

}  // namespace hocket::sql
