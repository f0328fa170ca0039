#pragma once

// The Store in an SQLite file (docs/formats/store.md). Thread-safe: one connection behind a mutex.
// Processes are kept apart by SQLite: readers never wait, writers wait for one another up to the
// connection's busy timeout.

#include <mutex>

#include "store/open.h"
#include "store/sqlite/connection.h"
#include "store/store.h"

namespace hocket::sqlite {

class SqliteStore final : public Store {
 public:
  /// `db` comes from open_database().
  SqliteStore(Connection db, WallClock now_unix_ns);

  Result<std::int64_t> upsert_topology(const Topology& topology) override;
  Result<std::int64_t> upsert_workload(const Workload& workload) override;
  Result<std::vector<TopologyRow>> topologies() override;
  Result<std::vector<WorkloadRow>> workloads(std::string_view selector) override;
  Result<StudyRow> create_study(const NewStudy& study) override;
  Result<void> update_study(std::int64_t study_id, const StudyUpdate& update) override;
  Result<std::vector<StudyRow>> studies() override;
  Result<StudyRow> study(std::string_view name_or_id) override;
  Result<std::optional<StudyRow>> latest_unfinished_study() override;
  Result<TrialRow> start_trial(const NewTrial& trial) override;
  Result<void> finish_trial(std::int64_t trial_id, const TrialResult& result) override;
  Result<std::int64_t> abandon_running_trials(std::int64_t study_id) override;
  Result<std::vector<TrialRow>> trials(std::int64_t study_id, TrialDetail detail) override;
  Result<PromotionRow> promote(const NewPromotion& promotion) override;
  Result<std::optional<PromotionRow>> current_promotion(
      std::string_view topology_fingerprint, std::string_view workload_fingerprint) override;
  Result<std::vector<PromotionRow>> promotions(const PromotionFilter& filter) override;

 private:
  /// Runs `body` in a transaction, committed when it returns a value.
  template <class Body>
  auto transact(Transaction::Kind kind, Body&& body) -> decltype(body());

  // All below run within a transaction.
  template <class Row>
  Result<std::vector<Row>> rows(Result<Query> query, Result<Row> (*read)(const Query&));
  template <class Row>
  Result<std::optional<Row>> first(Result<Query> query, Result<Row> (*read)(const Query&));

  /// The id that `select` finds for `key`, else that of a row that `insert` makes.
  Result<std::int64_t> upsert(std::string_view select, std::string_view insert,
                              const std::string& key, const std::string& name,
                              const nlohmann::json& document);
  Result<std::optional<StudyRow>> study_by_name(std::string_view name);
  /// not_found when there is none.
  Result<StudyRow> study_by_id(std::int64_t id);
  Result<std::string> new_name(const NewStudy& study, std::int64_t id);
  Result<void> check_references(std::optional<std::int64_t> topology_id,
                                std::optional<std::int64_t> workload_id);
  Result<void> touch_study(std::int64_t study_id);
  Result<void> read_measurements(std::int64_t study_id, std::vector<TrialRow>& trials);
  Result<void> write_result(std::int64_t trial_id, const TrialResult& result);

  const WallClock now_unix_ns_;

  std::mutex mutex_;
  Connection db_;  // guarded by mutex_
};

}  // namespace hocket::sqlite
