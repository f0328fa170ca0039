#include "store/sqlite/sqlite_store.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "store/rules/audit_entries.h"
#include "store/rules/row_rules.h"
#include "store/sqlite/read_rows.h"

namespace hocket::sqlite {
namespace {

using Kind = Transaction::Kind;

}  // namespace

SqliteStore::SqliteStore(Connection db, WallClock now_unix_ns)
    : now_unix_ns_(std::move(now_unix_ns)), db_(std::move(db)) {}

Result<std::int64_t> SqliteStore::upsert(std::string_view select, std::string_view insert,
                                         const std::string& key, const std::string& name,
                                         const nlohmann::json& document) {
  const auto text = rules::object_text(document, "the description");
  HOCKET_TRY(text);
  return transact(Kind::write, [&]() -> Result<std::int64_t> {
    const auto known = db_.integer(select, key);
    HOCKET_TRY(known);
    if (*known) return **known;
    HOCKET_TRY(db_.execute(insert, key, name, *text));
    return db_.last_insert_id();
  });
}

Result<std::int64_t> SqliteStore::upsert_topology(const Topology& topology) {
  return upsert("SELECT id FROM topologies WHERE fingerprint = ?1",
                "INSERT INTO topologies (fingerprint, name, document) VALUES (?1, ?2, ?3)",
                fingerprint(topology), readable_name(topology), to_json(topology));
}

Result<std::int64_t> SqliteStore::upsert_workload(const Workload& workload) {
  return upsert("SELECT id FROM workloads WHERE fingerprint = ?1",
                "INSERT INTO workloads (fingerprint, name, document) VALUES (?1, ?2, ?3)",
                fingerprint(workload), workload.name, to_json(workload));
}

Result<std::vector<TopologyRow>> SqliteStore::topologies() {
  return transact(Kind::read, [&] {
    return rows(db_.query("SELECT * FROM topologies ORDER BY id"), read_topology);
  });
}

Result<std::vector<WorkloadRow>> SqliteStore::workloads(std::string_view selector) {
  auto found = transact(Kind::read, [&] {
    return rows(db_.query("SELECT * FROM workloads ORDER BY id"), read_workload);
  });
  if (found) std::erase_if(*found, [&](const auto& row) { return !rules::matches(row, selector); });
  return found;
}

Result<void> SqliteStore::check_references(std::optional<std::int64_t> topology_id,
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

Result<std::string> SqliteStore::new_name(const NewStudy& study, std::int64_t id) {
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

Result<std::string> SqliteStore::name_of_workload(std::optional<std::int64_t> workload_id) {
  if (!workload_id) return std::string();
  const auto workload =
      first(db_.query("SELECT * FROM workloads WHERE id = ?1", *workload_id), read_workload);
  HOCKET_TRY(workload);
  return *workload ? (*workload)->name : std::string();
}

Result<StudyRow> SqliteStore::create_study(const NewStudy& study) {
  HOCKET_TRY(rules::check(study));
  const auto command = rules::command_text(study.command);
  HOCKET_TRY(command);
  const auto definition = rules::object_text(study.definition, "the study's definition");
  HOCKET_TRY(definition);
  return transact(Kind::write, [&]() -> Result<StudyRow> {
    HOCKET_TRY(check_references(study.topology_id, study.workload_id));
    const auto next = db_.integer(
        "SELECT coalesce(max(id), 0) + 1 FROM "
        "(SELECT id FROM studies UNION ALL SELECT id FROM removed_studies)");
    HOCKET_TRY(next);
    const std::int64_t id = next->value_or(1);
    const auto name = new_name(study, id);
    HOCKET_TRY(name);
    HOCKET_TRY(db_.execute(
        "INSERT INTO studies (id, name, command, definition, state, owner, topology_id, "
        "workload_id, created_at_ns, updated_at_ns, origin) "
        "VALUES (?1, ?2, ?3, ?4, 'running', ?5, ?6, ?7, ?8, ?8, ?9)",
        id, *name, *command, *definition, study.owner, study.topology_id, study.workload_id,
        now_unix_ns_(), to_string(study.origin)));
    return study_by_id(id);
  });
}

Result<void> SqliteStore::update_study(std::int64_t study_id, const StudyUpdate& update) {
  HOCKET_TRY(rules::check(update));
  return transact(Kind::write, [&]() -> Result<void> {
    auto row = study_by_id(study_id);
    HOCKET_TRY(row);
    if (auto ok = rules::check_owner(*row, update); !ok) return ok;
    if (auto ok = check_references(update.topology_id, update.workload_id); !ok) return ok;
    rules::apply(*row, update);
    std::optional<std::string> result;
    if (!row->result.is_null()) result = row->result.dump();
    return db_.execute(
        "UPDATE studies SET state = ?2, owner = ?3, topology_id = ?4, workload_id = ?5, "
        "result = ?6, updated_at_ns = ?7, definition = ?8 WHERE id = ?1",
        study_id, to_string(row->state), row->owner, row->topology_id, row->workload_id, result,
        now_unix_ns_(), row->definition.dump());
  });
}

Result<void> SqliteStore::remove_study(std::int64_t study_id, std::string_view expected_owner,
                                       std::string_view actor) {
  HOCKET_TRY(rules::check_actor(actor, ""));
  return transact(Kind::write, [&]() -> Result<void> {
    const auto study = study_by_id(study_id);
    HOCKET_TRY(study);
    HOCKET_TRY(rules::check_owner(*study, {.expected_owner = std::string(expected_owner)}));
    HOCKET_TRY(
        db_.execute("UPDATE promotions SET study_id = NULL, removed_study = ?2 WHERE study_id = ?1",
                    study_id, study->name));
    HOCKET_TRY(db_.execute("DELETE FROM trials WHERE study_id = ?1", study_id));
    const std::int64_t trials = db_.changes();
    HOCKET_TRY(db_.execute("DELETE FROM studies WHERE id = ?1", study_id));
    HOCKET_TRY(db_.execute("INSERT INTO removed_studies VALUES (?1)", study_id));
    return write_audit(rules::audit_of_removal(*study, trials, actor));
  });
}

Result<std::vector<StudyRow>> SqliteStore::studies() {
  return transact(Kind::read,
                  [&] { return rows(db_.query("SELECT * FROM studies ORDER BY id"), read_study); });
}

Result<std::optional<StudyRow>> SqliteStore::study_by_name(std::string_view name) {
  return first(db_.query("SELECT * FROM studies WHERE name = ?1", name), read_study);
}

Result<StudyRow> SqliteStore::study_by_id(std::int64_t id) {
  auto row = first(db_.query("SELECT * FROM studies WHERE id = ?1", id), read_study);
  HOCKET_TRY(row);
  if (!*row) return failure(rules::no_such("study", id));
  return std::move(**row);
}

Result<StudyRow> SqliteStore::study(std::string_view name_or_id) {
  return transact(Kind::read, [&]() -> Result<StudyRow> {
    const auto id = rules::parse_id(name_or_id);
    auto row = id ? first(db_.query("SELECT * FROM studies WHERE id = ?1", *id), read_study)
                  : study_by_name(name_or_id);
    HOCKET_TRY(row);
    if (!*row) return failure(rules::no_such_study(name_or_id));
    return std::move(**row);
  });
}

Result<std::optional<StudyRow>> SqliteStore::latest_unfinished_study() {
  return transact(Kind::read, [&] {
    return first(
        // A daemon of an older version, which has the file open, writes no origin.
        db_.query("SELECT * FROM studies WHERE state <> 'finished' AND origin = 'tune' AND "
                  "owner <> ?1 AND owner <> ?2 ORDER BY id DESC LIMIT 1",
                  kWorkersOwner, kDaemonOwner),
        read_study);
  });
}

Result<void> SqliteStore::touch_study(std::int64_t study_id) {
  return db_.execute("UPDATE studies SET updated_at_ns = ?2 WHERE id = ?1", study_id,
                     now_unix_ns_());
}

Result<TrialRow> SqliteStore::start_trial(const NewTrial& trial) {
  HOCKET_TRY(rules::check(trial));
  const auto params = rules::object_text(trial.params, "the trial's parameters");
  HOCKET_TRY(params);
  return transact(Kind::write, [&]() -> Result<TrialRow> {
    HOCKET_TRY(study_by_id(trial.study_id));
    HOCKET_TRY(db_.execute(
        "INSERT INTO trials (study_id, number, phase, state, params, message, started_at_ns, "
        "worker, lease_until_ns) "
        "SELECT ?1, coalesce(max(number), 0) + 1, ?2, 'running', ?3, '', ?4, ?5, ?6 "
        "FROM trials WHERE study_id = ?1",
        trial.study_id, to_string(trial.phase), *params, now_unix_ns_(), trial.worker,
        trial.lease_until_ns));
    const std::int64_t id = db_.last_insert_id();
    HOCKET_TRY(touch_study(trial.study_id));
    auto row = first(db_.query("SELECT * FROM trials WHERE id = ?1", id), read_trial);
    HOCKET_TRY(row);
    if (!*row) return failure(rules::no_such("trial", id));
    return std::move(**row);
  });
}

Result<void> SqliteStore::finish_trial(std::int64_t trial_id, const TrialResult& result) {
  const auto told = rules::checked(result);
  HOCKET_TRY(told);
  return transact(Kind::write, [&]() -> Result<void> {
    auto stored = rows(db_.query("SELECT * FROM trials WHERE id = ?1", trial_id), read_trial);
    HOCKET_TRY(stored);
    if (stored->empty()) return failure(rules::no_such("trial", trial_id));
    TrialRow& trial = stored->front();
    if (trial.state != TrialState::running) {
      if (auto ok = read_measurements(trial.study_id, *stored); !ok) return ok;
    }
    const auto must_end = rules::must_end(trial, *told);
    HOCKET_TRY(must_end);
    if (!*must_end) return {};
    if (auto ok = write_result(trial_id, *told); !ok) return ok;
    return touch_study(trial.study_id);
  });
}

Result<void> SqliteStore::write_result(std::int64_t trial_id, const TrialResult& result) {
  auto ok = db_.execute(
      "UPDATE trials SET state = ?2, value = ?3, spread = ?4, message = ?5, finished_at_ns = ?6 "
      "WHERE id = ?1",
      trial_id, to_string(result.state), result.value, result.spread, result.message,
      now_unix_ns_());
  if (!ok) return ok;
  for (const auto& [metric, values] : result.measurements) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto inserted = db_.execute("INSERT INTO measurements VALUES (?1, ?2, ?3, ?4)", trial_id,
                                  metric, static_cast<std::int64_t>(i), values[i]);
      if (!inserted) return inserted;
    }
  }
  return result.output.is_empty() ? Result<void>() : write_output(trial_id, result.output);
}

Result<void> SqliteStore::write_output(std::int64_t trial_id, const TrialOutput& output) {
  HOCKET_TRY(db_.execute("INSERT INTO trial_outputs VALUES (?1, ?2, ?3)", trial_id,
                         output.stdout_text, output.stderr_text));
  return db_.execute(
      "DELETE FROM trial_outputs WHERE trial_id <= "
      "(SELECT trial_id FROM trial_outputs ORDER BY trial_id DESC LIMIT 1 OFFSET ?1)",
      kMostTrialOutputs);
}

Result<std::optional<TrialOutput>> SqliteStore::trial_output(std::int64_t trial_id) {
  return transact(Kind::read, [&] {
    return first(db_.query("SELECT * FROM trial_outputs WHERE trial_id = ?1", trial_id),
                 read_trial_output);
  });
}

Result<std::int64_t> SqliteStore::abandon_running_trials(std::int64_t study_id) {
  return transact(Kind::write, [&]() -> Result<std::int64_t> {
    HOCKET_TRY(study_by_id(study_id));
    HOCKET_TRY(
        db_.execute("DELETE FROM trials WHERE study_id = ?1 AND state = 'running'", study_id));
    const std::int64_t count = db_.changes();
    HOCKET_TRY(touch_study(study_id));
    return count;
  });
}

Result<void> SqliteStore::renew_lease(std::int64_t trial_id, std::int64_t lease_until_ns) {
  return transact(Kind::write, [&]() -> Result<void> {
    const auto stored =
        first(db_.query("SELECT * FROM trials WHERE id = ?1", trial_id), read_trial);
    HOCKET_TRY(stored);
    if (!*stored) return failure(rules::no_such("trial", trial_id));
    if (auto ok = rules::check_renewable(**stored); !ok) return ok;
    return db_.execute("UPDATE trials SET lease_until_ns = ?2 WHERE id = ?1", trial_id,
                       lease_until_ns);
  });
}

Result<std::int64_t> SqliteStore::expire_leases(std::int64_t study_id, std::int64_t now_ns) {
  return transact(Kind::write, [&]() -> Result<std::int64_t> {
    HOCKET_TRY(study_by_id(study_id));
    HOCKET_TRY(db_.execute(
        "DELETE FROM trials WHERE study_id = ?1 AND state = 'running' AND lease_until_ns <= ?2",
        study_id, now_ns));
    const std::int64_t count = db_.changes();
    if (count == 0) return 0;
    HOCKET_TRY(touch_study(study_id));
    return count;
  });
}

Result<void> SqliteStore::read_measurements(std::int64_t study_id, std::vector<TrialRow>& trials) {
  auto query = db_.query(
      "SELECT trial_id, metric, measurements.value FROM measurements "
      "JOIN trials ON trials.id = trial_id WHERE study_id = ?1 ORDER BY trial_id, metric, position",
      study_id);
  HOCKET_TRY(query);
  std::map<std::int64_t, Measurements*> by_trial;
  for (auto& trial : trials) by_trial[trial.id] = &trial.measurements;
  for (;;) {
    const auto more = query->next();
    HOCKET_TRY(more);
    if (!*more) return {};
    const auto it = by_trial.find(query->integer(0));
    if (it != by_trial.end()) (*it->second)[query->text(1)].push_back(query->real(2));
  }
}

Result<std::vector<TrialRow>> SqliteStore::trials(std::int64_t study_id, TrialDetail detail) {
  return transact(Kind::read, [&]() -> Result<std::vector<TrialRow>> {
    HOCKET_TRY(study_by_id(study_id));
    auto found =
        rows(db_.query("SELECT * FROM trials WHERE study_id = ?1 ORDER BY number", study_id),
             read_trial);
    if (!found || detail == TrialDetail::summary) return found;
    HOCKET_TRY(read_measurements(study_id, *found));
    return found;
  });
}

}  // namespace hocket::sqlite
