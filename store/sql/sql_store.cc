#include "store/sql/sql_store.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "store/rules/audit_entries.h"
#include "store/rules/row_rules.h"
#include "store/sql/read_rows.h"

namespace hocket::sql {

SqlStore::SqlStore(std::unique_ptr<Database> db, WallClock now_unix_ns)
    : now_unix_ns_(std::move(now_unix_ns)), owned_(std::move(db)) {}

Result<std::int64_t> SqlStore::now_ns() {
  return now_unix_ns_ ? Result<std::int64_t>(now_unix_ns_()) : db_.now_ns();
}

Result<std::int64_t> SqlStore::upsert(std::string_view select, std::string_view insert,
                                      const std::string& key, const std::string& name,
                                      const nlohmann::json& document) {
  HOCKET_TRY(rules::check_text(name, "the description's name"));
  const auto text = rules::object_text(document, "the description");
  HOCKET_TRY(text);
  return transact(Access::write, [&]() -> Result<std::int64_t> {
    // Another process may insert it between the two statements, after which the first one finds it.
    for (;;) {
      const auto known = db_.integer(select, key);
      HOCKET_TRY(known);
      if (*known) return **known;
      const auto added = db_.integer(insert, key, name, *text);
      HOCKET_TRY(added);
      if (*added) return **added;
    }
  });
}

Result<std::int64_t> SqlStore::upsert_topology(const Topology& topology) {
  return upsert("SELECT id FROM topologies WHERE fingerprint = ?1",
                "INSERT INTO topologies (fingerprint, name, document) VALUES (?1, ?2, ?3) "
                "ON CONFLICT DO NOTHING RETURNING id",
                fingerprint(topology), readable_name(topology), to_json(topology));
}

Result<std::int64_t> SqlStore::upsert_workload(const Workload& workload) {
  return upsert("SELECT id FROM workloads WHERE fingerprint = ?1",
                "INSERT INTO workloads (fingerprint, name, document) VALUES (?1, ?2, ?3) "
                "ON CONFLICT DO NOTHING RETURNING id",
                fingerprint(workload), workload.name, to_json(workload));
}

Result<std::vector<TopologyRow>> SqlStore::topologies() {
  return transact(Access::read, [&] {
    return rows(db_.query("SELECT * FROM topologies ORDER BY id"), read_topology);
  });
}

Result<std::vector<WorkloadRow>> SqlStore::workloads(std::string_view selector) {
  auto found = transact(Access::read, [&] {
    return rows(db_.query("SELECT * FROM workloads ORDER BY id"), read_workload);
  });
  if (found) std::erase_if(*found, [&](const auto& row) { return !rules::matches(row, selector); });
  return found;
}

Result<void> SqlStore::check_references(std::optional<std::int64_t> topology_id,
                                        std::optional<std::int64_t> workload_id) {
  if (topology_id) {
    const auto id = db_.integer("SELECT id FROM topologies WHERE id = ?1", *topology_id);
    HOCKET_TRY(id);
    if (!*id) return failure(rules::no_such("topology", *topology_id));
  }
  if (workload_id) {
    const auto id = db_.integer("SELECT id FROM workloads WHERE id = ?1", *workload_id);
    HOCKET_TRY(id);
    if (!*id) return failure(rules::no_such("workload", *workload_id));
  }
  return {};
}

Result<std::string> SqlStore::new_name(const NewStudy& study, std::int64_t id) {
  const auto taken = [&](const std::string& name) {
    return study_by_name(name).map([](const auto& row) { return row.has_value(); });
  };
  if (!study.name.empty()) {
    const auto is_taken = taken(study.name);
    HOCKET_TRY(is_taken);
    if (*is_taken) return failure(rules::name_taken(study.name));
    return study.name;
  }
  const auto workload_name = name_of_workload(study.workload_id);
  HOCKET_TRY(workload_name);
  return rules::generated_name(rules::name_stem(study.command, *workload_name), id, taken);
}

Result<std::string> SqlStore::name_of_workload(std::optional<std::int64_t> workload_id) {
  if (!workload_id) return std::string();
  const auto workload =
      first(db_.query("SELECT * FROM workloads WHERE id = ?1", *workload_id), read_workload);
  HOCKET_TRY(workload);
  return *workload ? (*workload)->name : std::string();
}

Result<StudyRow> SqlStore::create_study(const NewStudy& study) {
  HOCKET_TRY(rules::check(study));
  const auto command = rules::command_text(study.command);
  HOCKET_TRY(command);
  const auto definition = rules::object_text(study.definition, "the study's definition");
  HOCKET_TRY(definition);
  return transact(Access::write, [&]() -> Result<StudyRow> {
    HOCKET_TRY(check_references(study.topology_id, study.workload_id));
    HOCKET_TRY(db_.hold("studies"));
    const auto next = db_.integer(
        "SELECT coalesce(max(id), 0) + 1 FROM "
        "(SELECT id FROM studies UNION ALL SELECT id FROM removed_studies) AS ids");
    HOCKET_TRY(next);
    const std::int64_t id = next->value_or(1);
    const auto name = new_name(study, id);
    HOCKET_TRY(name);
    const auto at_ns = now_ns();
    HOCKET_TRY(at_ns);
    HOCKET_TRY(db_.execute(
        "INSERT INTO studies (id, name, command, definition, state, owner, topology_id, "
        "workload_id, created_at_ns, updated_at_ns, origin) "
        "VALUES (?1, ?2, ?3, ?4, 'running', ?5, ?6, ?7, ?8, ?8, ?9)",
        id, *name, *command, *definition, study.owner, study.topology_id, study.workload_id, *at_ns,
        to_string(study.origin)));
    return study_by_id(id);
  });
}

Result<void> SqlStore::update_study(std::int64_t study_id, const StudyUpdate& update) {
  HOCKET_TRY(rules::check(update));
  return transact(Access::write, [&]() -> Result<void> {
    auto row = locked_study(study_id);
    HOCKET_TRY(row);
    if (auto ok = rules::check_owner(*row, update); !ok) return ok;
    if (auto ok = check_references(update.topology_id, update.workload_id); !ok) return ok;
    rules::apply(*row, update);
    std::optional<std::string> result;
    if (!row->result.is_null()) result = row->result.dump();
    const auto at_ns = now_ns();
    HOCKET_TRY(at_ns);
    HOCKET_TRY(db_.execute(
        "UPDATE studies SET state = ?2, owner = ?3, topology_id = ?4, workload_id = ?5, "
        "result = ?6, updated_at_ns = ?7, definition = ?8 WHERE id = ?1",
        study_id, to_string(row->state), row->owner, row->topology_id, row->workload_id, result,
        *at_ns, row->definition.dump()));
    return {};
  });
}

Result<void> SqlStore::remove_study(std::int64_t study_id, std::string_view expected_owner,
                                    std::string_view actor) {
  HOCKET_TRY(rules::check_actor(actor, ""));
  return transact(Access::write, [&]() -> Result<void> {
    const auto study = locked_study(study_id, StudyLock::removal);
    HOCKET_TRY(study);
    HOCKET_TRY(rules::check_owner(*study, {.expected_owner = std::string(expected_owner)}));
    HOCKET_TRY(
        db_.execute("UPDATE promotions SET study_id = NULL, removed_study = ?2 WHERE study_id = ?1",
                    study_id, study->name));
    const auto trials = db_.execute("DELETE FROM trials WHERE study_id = ?1", study_id);
    HOCKET_TRY(trials);
    HOCKET_TRY(db_.execute("DELETE FROM studies WHERE id = ?1", study_id));
    HOCKET_TRY(db_.execute("INSERT INTO removed_studies VALUES (?1)", study_id));
    return write_audit(rules::audit_of_removal(*study, *trials, actor));
  });
}

Result<std::vector<StudyRow>> SqlStore::studies() {
  return transact(Access::read,
                  [&] { return rows(db_.query("SELECT * FROM studies ORDER BY id"), read_study); });
}

Result<std::optional<StudyRow>> SqlStore::study_by_name(std::string_view name) {
  if (!rules::is_text(name)) return std::nullopt;
  return first(db_.query("SELECT * FROM studies WHERE name = ?1", name), read_study);
}

Result<StudyRow> SqlStore::study_by_id(std::int64_t id) {
  auto row = first(db_.query("SELECT * FROM studies WHERE id = ?1", id), read_study);
  HOCKET_TRY(row);
  if (!*row) return failure(rules::no_such("study", id));
  return std::move(**row);
}

Result<StudyRow> SqlStore::locked_study(std::int64_t id, StudyLock lock) {
  constexpr std::array<std::string_view, 3> kStatements = {
      "SELECT * FROM studies WHERE id = ?1 {FOR NO KEY UPDATE}",
      "SELECT * FROM studies WHERE id = ?1 {FOR UPDATE}",
      "SELECT * FROM studies WHERE id = ?1 {FOR KEY SHARE}"};
  auto row = first(db_.query(kStatements.at(static_cast<std::size_t>(lock)), id), read_study);
  HOCKET_TRY(row);
  if (!*row) return failure(rules::no_such("study", id));
  return std::move(**row);
}

Result<std::optional<TrialRow>> SqlStore::locked_trial(std::int64_t id) {
  return first(db_.query("SELECT * FROM trials WHERE id = ?1 {FOR UPDATE}", id), read_trial);
}

Result<StudyRow> SqlStore::study(std::string_view name_or_id) {
  return transact(Access::read, [&]() -> Result<StudyRow> {
    const auto id = rules::parse_id(name_or_id);
    auto row = id ? first(db_.query("SELECT * FROM studies WHERE id = ?1", *id), read_study)
                  : study_by_name(name_or_id);
    HOCKET_TRY(row);
    if (!*row) return failure(rules::no_such_study(name_or_id));
    return std::move(**row);
  });
}

Result<std::optional<StudyRow>> SqlStore::latest_unfinished_study() {
  return transact(Access::read, [&] {
    return first(
        // A daemon of an older version, which has the file open, writes no origin.
        db_.query("SELECT * FROM studies WHERE state <> 'finished' AND origin = 'tune' AND "
                  "owner <> ?1 AND owner <> ?2 ORDER BY id DESC LIMIT 1",
                  kWorkersOwner, kDaemonOwner),
        read_study);
  });
}

Result<void> SqlStore::touch_study(std::int64_t study_id) {
  const auto at_ns = now_ns();
  HOCKET_TRY(at_ns);
  // Whoever has locked the study changes this time, too.
  HOCKET_TRY(
      db_.execute("UPDATE studies SET updated_at_ns = ?2 WHERE id = "
                  "(SELECT id FROM studies WHERE id = ?1 {FOR NO KEY UPDATE SKIP LOCKED})",
                  study_id, *at_ns));
  return {};
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
    if (trial.lease_ns) until_ns = rules::lease_end_ns(*at_ns, *trial.lease_ns);
    auto row = first(
        db_.query("INSERT INTO trials (study_id, number, phase, state, params, message, "
                  "started_at_ns, worker, lease_until_ns) "
                  "SELECT ?1, coalesce(max(number), 0) + 1, ?2, 'running', ?3, ?7, ?4, ?5, ?6 "
                  "FROM trials WHERE study_id = ?1 RETURNING *",
                  trial.study_id, to_string(trial.phase), *params, *at_ns, trial.worker, until_ns,
                  AnyText{""}),
        read_trial);
    HOCKET_TRY(row);
    if (!*row) return failure(rules::no_such("study", trial.study_id));
    HOCKET_TRY(touch_study(trial.study_id));
    return std::move(**row);
  });
}

Result<void> SqlStore::finish_trial(std::int64_t trial_id, const TrialResult& result) {
  const auto told = rules::checked(result);
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
    if (trial.state != TrialState::running) {
      if (auto ok = read_measurements(trial.study_id, stored); !ok) return ok;
    }
    const auto must_end = rules::must_end(trial, *told);
    HOCKET_TRY(must_end);
    if (!*must_end) return {};
    if (auto ok = write_result(trial_id, *told); !ok) return ok;
    return touch_study(trial.study_id);
  });
}

Result<void> SqlStore::write_result(std::int64_t trial_id, const TrialResult& result) {
  const auto at_ns = now_ns();
  HOCKET_TRY(at_ns);
  HOCKET_TRY(db_.execute(
      "UPDATE trials SET state = ?2, value = ?3, spread = ?4, message = ?5, finished_at_ns = ?6 "
      "WHERE id = ?1",
      trial_id, to_string(result.state), result.value, result.spread, AnyText{result.message},
      *at_ns));
  std::vector<std::vector<Value>> measured;
  for (const auto& [metric, values] : result.measurements) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      measured.push_back({trial_id, AnyText{metric}, static_cast<std::int64_t>(i), values[i]});
    }
  }
  HOCKET_TRY(db_.change_each("INSERT INTO measurements VALUES (?1, ?2, ?3, ?4)", measured));
  return result.output.is_empty() ? Result<void>() : write_output(trial_id, result.output);
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

Result<std::vector<TrialRow>> SqlStore::trials(std::int64_t study_id, TrialDetail detail) {
  return transact(Access::read, [&]() -> Result<std::vector<TrialRow>> {
    HOCKET_TRY(study_by_id(study_id));
    auto found =
        rows(db_.query("SELECT * FROM trials WHERE study_id = ?1 ORDER BY number", study_id),
             read_trial);
    if (!found || detail == TrialDetail::summary) return found;
    HOCKET_TRY(read_measurements(study_id, *found));
    return found;
  });
}

}  // namespace hocket::sql
