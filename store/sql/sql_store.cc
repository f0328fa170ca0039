#include "store/sql/sql_store.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/text.h"
#include "store/rules/audit_entries.h"
#include "store/rules/row_rules.h"
#include "store/sql/read_rows.h"

namespace hocket::sql {
namespace {

constexpr std::size_t kUnreadWhyBytes = 300;

}  // namespace

SqlStore::SqlStore(std::unique_ptr<Database> db, WallClock now_unix_ns)
    : now_unix_ns_(std::move(now_unix_ns)), owned_(std::move(db)) {}

Result<std::int64_t> SqlStore::now_ns() {
  return now_unix_ns_ ? Result<std::int64_t>(now_unix_ns_()) : db_.now_ns();
}

Result<std::int64_t> SqlStore::write_once(std::string_view select, std::string_view insert,
                                          const std::string& key, const std::string& name,
                                          const nlohmann::json& document) {
  HOCKET_TRY(rules::check_text(name, "the description's name"));
  const auto text = rules::object_text(document, "the description");
  HOCKET_TRY(text);
  // Another process may insert it between the two statements, after which the first one finds it.
  for (;;) {
    const auto known = db_.integer(select, key);
    HOCKET_TRY(known);
    if (*known) return **known;
    const auto added = db_.integer(insert, key, name, *text);
    HOCKET_TRY(added);
    if (*added) return **added;
  }
}

Result<std::int64_t> SqlStore::write_topology(const Topology& topology) {
  return write_once("SELECT id FROM topologies WHERE fingerprint = ?1",
                    "INSERT INTO topologies (fingerprint, name, document) VALUES (?1, ?2, ?3) "
                    "ON CONFLICT DO NOTHING RETURNING id",
                    fingerprint(topology), readable_name(topology), to_json(topology));
}

Result<std::int64_t> SqlStore::write_workload(const Workload& workload) {
  return write_once("SELECT id FROM workloads WHERE fingerprint = ?1",
                    "INSERT INTO workloads (fingerprint, name, document) VALUES (?1, ?2, ?3) "
                    "ON CONFLICT DO NOTHING RETURNING id",
                    fingerprint(workload), workload.name, to_json(workload));
}

Result<std::int64_t> SqlStore::upsert_topology(const Topology& topology) {
  return transact(Access::write, [&] { return write_topology(topology); });
}

Result<std::int64_t> SqlStore::upsert_workload(const Workload& workload) {
  return transact(Access::write, [&] { return write_workload(workload); });
}

std::string SqlStore::unread_text(const Rows& row, const char* what, const Error& error) {
  return std::string(what) + " " + std::to_string(row.integer(0)) +
         " of the store cannot be read: " + printable(error.message, kUnreadWhyBytes);
}

Result<std::vector<TopologyRow>> SqlStore::topologies(UnreadRows* unread) {
  return transact(Access::read, [&] {
    return rows(db_.query("SELECT * FROM topologies ORDER BY id"), read_topology, "topology",
                unread);
  });
}

Result<std::vector<WorkloadRow>> SqlStore::workloads(std::string_view selector,
                                                     UnreadRows* unread) {
  auto found = transact(Access::read, [&] {
    return rows(db_.query("SELECT * FROM workloads ORDER BY id"), read_workload, "workload",
                unread);
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

Result<std::vector<StudyRow>> SqlStore::studies(UnreadRows* unread) {
  return transact(Access::read, [&] {
    return rows(db_.query("SELECT * FROM studies ORDER BY id"), read_study, "study", unread);
  });
}

Result<std::vector<StudyRow>> SqlStore::studies_of_key(std::int64_t topology_id,
                                                       std::int64_t workload_id,
                                                       UnreadRows* unread) {
  return transact(Access::read, [&] {
    return rows(db_.query("SELECT * FROM studies WHERE topology_id = ?1 AND workload_id = ?2 "
                          "ORDER BY id",
                          topology_id, workload_id),
                read_study, "study", unread);
  });
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

}  // namespace hocket::sql
