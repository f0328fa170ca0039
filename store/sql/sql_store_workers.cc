// The workers of a SqlStore that share a study's trials.

#include <utility>

#include "store/rules/row_rules.h"
#include "store/sql/read_rows.h"
#include "store/sql/sql_store.h"

namespace hocket::sql {

Result<std::vector<WorkerRow>> SqlStore::workers(std::int64_t study_id) {
  return transact(Access::read, [&]() -> Result<std::vector<WorkerRow>> {
    HOCKET_TRY(study_by_id(study_id));
    const auto at_ns = now_ns();
    HOCKET_TRY(at_ns);
    return rows(db_.query("SELECT * FROM workers WHERE study_id = ?1 AND lease_until_ns > ?2 "
                          "ORDER BY joined_at_ns, name",
                          study_id, *at_ns),
                read_worker);
  });
}

Result<std::int64_t> SqlStore::write_worker(std::int64_t study_id, const NewClaim& claim,
                                            std::int64_t at_ns) {
  const std::int64_t until_ns = rules::lease_end_ns(at_ns, claim.lease_ns);
  HOCKET_TRY(
      db_.execute("INSERT INTO workers (study_id, name, host, joined_at_ns, lease_until_ns) "
                  "VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (study_id, name) DO UPDATE SET "
                  "host = excluded.host, lease_until_ns = excluded.lease_until_ns",
                  study_id, claim.worker, claim.host, at_ns, until_ns));
  return until_ns;
}

Result<std::int64_t> SqlStore::give_back(std::int64_t study_id, std::string_view worker,
                                         bool is_lost) {
  return db_.execute(
      "UPDATE trials SET offered = 1, worker = '', lease_until_ns = NULL, losses = losses + ?3 "
      "WHERE study_id = ?1 AND worker = ?2 AND state = 'running' AND offered = 0",
      study_id, worker, std::int64_t{is_lost});
}

Result<std::optional<TrialRow>> SqlStore::claim_trial(std::int64_t study_id,
                                                      const NewClaim& claim) {
  HOCKET_TRY(rules::check(claim));
  return transact(Access::write, [&]() -> Result<std::optional<TrialRow>> {
    HOCKET_TRY(locked_study(study_id, StudyLock::reference));
    const auto at_ns = now_ns();
    HOCKET_TRY(at_ns);
    const auto until_ns = write_worker(study_id, claim, *at_ns);
    HOCKET_TRY(until_ns);
    const auto given_back = give_back(study_id, claim.worker, /*is_lost=*/true);
    HOCKET_TRY(given_back);
    auto claimed = first(
        db_.query("UPDATE trials SET offered = 0, worker = ?2, lease_until_ns = ?4 WHERE id = "
                  "(SELECT id FROM trials WHERE study_id = ?1 AND state = 'running' "
                  "AND offered = 1 AND (worker IN ('', ?2) OR NOT EXISTS (SELECT 1 FROM workers "
                  "WHERE workers.study_id = ?1 AND name = trials.worker "
                  "AND workers.lease_until_ns > ?3)) "
                  "ORDER BY number LIMIT 1 {FOR UPDATE SKIP LOCKED}) RETURNING *",
                  study_id, claim.worker, *at_ns, *until_ns),
        read_trial);
    if (!claimed || (!*claimed && *given_back == 0)) return claimed;
    HOCKET_TRY(touch_study(study_id));
    return claimed;
  });
}

Result<void> SqlStore::renew_worker(std::int64_t study_id, const NewClaim& claim) {
  HOCKET_TRY(rules::check(claim));
  return transact(Access::write, [&]() -> Result<void> {
    HOCKET_TRY(locked_study(study_id, StudyLock::reference));
    const auto at_ns = now_ns();
    HOCKET_TRY(at_ns);
    const auto until_ns = write_worker(study_id, claim, *at_ns);
    HOCKET_TRY(until_ns);
    HOCKET_TRY(
        db_.execute("UPDATE trials SET lease_until_ns = ?3 WHERE study_id = ?1 AND worker = ?2 "
                    "AND state = 'running' AND offered = 0",
                    study_id, claim.worker, *until_ns));
    return {};
  });
}

Result<void> SqlStore::leave_worker(std::int64_t study_id, std::string_view worker, bool is_lost) {
  HOCKET_TRY(rules::check_worker(worker));
  return transact(Access::write, [&]() -> Result<void> {
    HOCKET_TRY(locked_study(study_id, StudyLock::reference));
    HOCKET_TRY(
        db_.execute("DELETE FROM workers WHERE study_id = ?1 AND name = ?2", study_id, worker));
    const auto count = give_back(study_id, worker, is_lost);
    HOCKET_TRY(count);
    return *count == 0 ? Result<void>() : touch_study(study_id);
  });
}

Result<std::int64_t> SqlStore::offer_lost_trials(std::int64_t study_id) {
  return transact(Access::write, [&]() -> Result<std::int64_t> {
    HOCKET_TRY(locked_study(study_id, StudyLock::reference));
    const auto at_ns = now_ns();
    HOCKET_TRY(at_ns);
    HOCKET_TRY(
        db_.execute("DELETE FROM workers WHERE study_id = ?1 AND name IN (SELECT name FROM workers "
                    "WHERE study_id = ?1 AND lease_until_ns <= ?2 {FOR UPDATE SKIP LOCKED})",
                    study_id, *at_ns));
    const auto count = db_.execute(
        "UPDATE trials SET offered = 1, worker = '', lease_until_ns = NULL, losses = losses + 1 "
        "WHERE id IN (SELECT id FROM trials WHERE study_id = ?1 AND state = 'running' "
        "AND offered = 0 AND lease_until_ns <= ?2 {FOR UPDATE SKIP LOCKED})",
        study_id, *at_ns);
    if (!count || *count == 0) return count;
    HOCKET_TRY(touch_study(study_id));
    return count;
  });
}

}  // namespace hocket::sql
