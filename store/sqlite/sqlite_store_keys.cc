// SqliteStore's functions for keys: versions, states, quarantine, and their audit.

#include <algorithm>

#include "store/rules/audit_entries.h"
#include "store/rules/row_rules.h"
#include "store/sqlite/read_rows.h"
#include "store/sqlite/sqlite_store.h"

namespace hocket::sqlite {
namespace {

using Kind = Transaction::Kind;

Result<ConfigKey> read_config_key(const Query& row) {
  return ConfigKey{row.text(0), row.text(1)};
}

Result<KeyState> read_key_state(const Query& row) {
  return KeyState{row.integer(0) != 0, row.integer(1) != 0};
}

Result<KeyRow> read_key(const Query& row) {
  return KeyRow{.topology_id = row.integer(0),
                .workload_id = row.integer(1),
                .key = {row.text(2), row.text(3)},
                .topology_name = row.text(4),
                .workload_name = row.text(5),
                .state = {row.integer(6) != 0, row.integer(7) != 0},
                .current_id = row.optional_integer(8)};
}

const PromotionRow* pointer_to(const std::optional<PromotionRow>& version) {
  return version ? &*version : nullptr;
}

}  // namespace

Result<ConfigKey> SqliteStore::key_of(std::int64_t topology_id, std::int64_t workload_id) {
  HOCKET_TRY(check_references(topology_id, workload_id));
  return first(db_.query("SELECT topologies.fingerprint, workloads.fingerprint "
                         "FROM topologies, workloads "
                         "WHERE topologies.id = ?1 AND workloads.id = ?2",
                         topology_id, workload_id),
               read_config_key)
      .map([](auto key) { return key.value_or(ConfigKey()); });
}

Result<KeyState> SqliteStore::state_of(std::int64_t topology_id, std::int64_t workload_id) {
  return first(db_.query("SELECT pinned, frozen FROM key_states "
                         "WHERE topology_id = ?1 AND workload_id = ?2",
                         topology_id, workload_id),
               read_key_state)
      .map([](auto state) { return state.value_or(KeyState()); });
}

Result<std::optional<PromotionRow>> SqliteStore::current_of(std::int64_t topology_id,
                                                            std::int64_t workload_id) {
  return first(db_.query("SELECT * FROM promotions WHERE topology_id = ?1 AND workload_id = ?2 "
                         "AND stage = 'released' ORDER BY id DESC LIMIT 1",
                         topology_id, workload_id),
               read_promotion);
}

Result<PromotionRow> SqliteStore::promote(const NewPromotion& promotion) {
  HOCKET_TRY(rules::check(promotion));
  const auto config = rules::object_text(promotion.config, "the promoted configuration");
  HOCKET_TRY(config);
  return transact(Kind::write, [&]() -> Result<PromotionRow> {
    const auto key = key_of(promotion.topology_id, promotion.workload_id);
    HOCKET_TRY(key);
    if (promotion.study_id) {
      HOCKET_TRY(study_by_id(*promotion.study_id));
    }
    const auto state = state_of(promotion.topology_id, promotion.workload_id);
    HOCKET_TRY(state);
    const auto before = current_of(promotion.topology_id, promotion.workload_id);
    HOCKET_TRY(before);
    PromotionRow row = rules::promoted(promotion, *state, now_unix_ns_());
    const auto measured = [&](double MeasuredGain::*member) {
      return row.measured ? std::optional((*row.measured).*member) : std::nullopt;
    };
    HOCKET_TRY(db_.execute(
        "INSERT INTO promotions (topology_id, workload_id, study_id, config, value, "
        "default_value, gain, promoted_at_ns, origin, stage, actor, note) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        row.topology_id, row.workload_id, row.study_id, *config, measured(&MeasuredGain::value),
        measured(&MeasuredGain::default_value), measured(&MeasuredGain::gain), row.promoted_at_ns,
        to_string(row.origin), to_string(row.stage), row.actor, row.note));
    row.id = db_.last_insert_id();
    HOCKET_TRY(write_audit(rules::audit_of(row, pointer_to(*before), *key)));
    return row;
  });
}

Result<void> SqliteStore::set_stage(std::int64_t promotion_id, PromotionStage stage,
                                    std::string_view actor, std::string_view note) {
  if (auto ok = rules::check_actor(actor, note); !ok) return ok;
  return transact(Kind::write, [&]() -> Result<void> {
    const auto row =
        first(db_.query("SELECT * FROM promotions WHERE id = ?1", promotion_id), read_promotion);
    HOCKET_TRY(row);
    if (!*row) return failure(rules::no_such("version", promotion_id));
    const auto must_move = rules::must_move(**row, stage);
    HOCKET_TRY(must_move);
    if (!*must_move) return {};
    const auto before = current_of((*row)->topology_id, (*row)->workload_id);
    HOCKET_TRY(before);
    auto ok = db_.execute("UPDATE promotions SET stage = ?2 WHERE id = ?1", promotion_id,
                          to_string(stage));
    if (!ok) return ok;
    const auto after = current_of((*row)->topology_id, (*row)->workload_id);
    HOCKET_TRY(after);
    const auto key = key_of((*row)->topology_id, (*row)->workload_id);
    HOCKET_TRY(key);
    return write_audit(rules::audit_of_stage(
        **row, stage, {pointer_to(*before), pointer_to(*after)}, actor, note, *key));
  });
}

Result<std::optional<PromotionRow>> SqliteStore::newest_promotion(
    std::string_view topology_fingerprint, std::string_view workload_fingerprint,
    PromotionStage stage) {
  return transact(Kind::read, [&] {
    return first(db_.query("SELECT promotions.* FROM promotions "
                           "JOIN topologies ON topologies.id = topology_id "
                           "JOIN workloads ON workloads.id = workload_id "
                           "WHERE topologies.fingerprint = ?1 AND workloads.fingerprint = ?2 "
                           "AND stage = ?3 ORDER BY promotions.id DESC LIMIT 1",
                           topology_fingerprint, workload_fingerprint, to_string(stage)),
                 read_promotion);
  });
}

Result<std::optional<PromotionRow>> SqliteStore::current_promotion(
    std::string_view topology_fingerprint, std::string_view workload_fingerprint) {
  return newest_promotion(topology_fingerprint, workload_fingerprint, PromotionStage::released);
}

Result<std::optional<PromotionRow>> SqliteStore::staged_promotion(
    std::string_view topology_fingerprint, std::string_view workload_fingerprint) {
  return newest_promotion(topology_fingerprint, workload_fingerprint, PromotionStage::staged);
}

Result<std::vector<PromotionRow>> SqliteStore::promotions(const PromotionFilter& filter) {
  const auto key = filter.key.value_or(ConfigKey());
  std::optional<std::string_view> stage;
  if (filter.stage) stage = to_string(*filter.stage);
  return transact(Kind::read, [&] {
    return rows(
        db_.query("SELECT * FROM promotions WHERE (?1 IS NULL OR topology_id = ?1) "
                  "AND (?2 IS NULL OR workload_id = ?2) AND (?3 IS NULL OR study_id = ?3) "
                  "AND (?4 IS NULL OR stage = ?4) AND (NOT ?5 OR "
                  "(topology_id = (SELECT id FROM topologies WHERE fingerprint = ?6) AND "
                  "workload_id = (SELECT id FROM workloads WHERE fingerprint = ?7))) ORDER BY id",
                  filter.topology_id, filter.workload_id, filter.study_id, stage,
                  std::int64_t{filter.key.has_value()}, key.topology, key.workload),
        read_promotion);
  });
}

Result<KeyState> SqliteStore::key_state(std::string_view topology_fingerprint,
                                        std::string_view workload_fingerprint) {
  return transact(Kind::read, [&] {
    return first(db_.query("SELECT pinned, frozen FROM key_states "
                           "JOIN topologies ON topologies.id = topology_id "
                           "JOIN workloads ON workloads.id = workload_id "
                           "WHERE topologies.fingerprint = ?1 AND workloads.fingerprint = ?2",
                           topology_fingerprint, workload_fingerprint),
                 read_key_state)
        .map([](auto state) { return state.value_or(KeyState()); });
  });
}

Result<void> SqliteStore::set_key_state(std::int64_t topology_id, std::int64_t workload_id,
                                        const KeyState& state, std::string_view actor) {
  if (auto ok = rules::check_actor(actor, ""); !ok) return ok;
  return transact(Kind::write, [&]() -> Result<void> {
    const auto key = key_of(topology_id, workload_id);
    HOCKET_TRY(key);
    const auto before = state_of(topology_id, workload_id);
    HOCKET_TRY(before);
    if (*before == state) return {};
    auto ok = db_.execute(
        "INSERT INTO key_states (topology_id, workload_id, pinned, frozen) "
        "VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET pinned = ?3, frozen = ?4",
        topology_id, workload_id, std::int64_t{state.pinned}, std::int64_t{state.frozen});
    if (!ok) return ok;
    return write_audit(rules::audit_of_state(state, actor, *key));
  });
}

Result<std::vector<KeyRow>> SqliteStore::keys() {
  return transact(Kind::read, [&] {
    return rows(db_.query("SELECT key.topology_id, key.workload_id, topologies.fingerprint, "
                          "workloads.fingerprint, topologies.name, workloads.name, "
                          "coalesce(pinned, 0), coalesce(frozen, 0), "
                          "(SELECT max(id) FROM promotions WHERE topology_id = key.topology_id "
                          "AND workload_id = key.workload_id AND stage = 'released') "
                          "FROM (SELECT topology_id, workload_id FROM promotions UNION "
                          "SELECT topology_id, workload_id FROM key_states) AS key "
                          "JOIN topologies ON topologies.id = key.topology_id "
                          "JOIN workloads ON workloads.id = key.workload_id "
                          "LEFT JOIN key_states ON key_states.topology_id = key.topology_id "
                          "AND key_states.workload_id = key.workload_id ORDER BY 1, 2"),
                read_key);
  });
}

Result<void> SqliteStore::quarantine(const NewQuarantine& quarantine) {
  if (auto ok = rules::check(quarantine); !ok) return ok;
  const auto config = rules::object_text(quarantine.config, "the quarantined configuration");
  HOCKET_TRY(config);
  return transact(Kind::write, [&]() -> Result<void> {
    const auto key = key_of(quarantine.topology_id, quarantine.workload_id);
    HOCKET_TRY(key);
    auto ok = db_.execute(
        "INSERT INTO quarantine (topology_id, workload_id, config, reason, actor, "
        "quarantined_at_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
        "ON CONFLICT DO UPDATE SET reason = ?4, actor = ?5, quarantined_at_ns = ?6",
        quarantine.topology_id, quarantine.workload_id, *config, quarantine.reason,
        quarantine.actor, now_unix_ns_());
    if (!ok) return ok;
    return write_audit(rules::audit_of(quarantine, *key));
  });
}

Result<std::vector<QuarantineRow>> SqliteStore::quarantined(std::int64_t topology_id,
                                                            std::int64_t workload_id) {
  return transact(Kind::read, [&] {
    return rows(db_.query("SELECT * FROM quarantine WHERE topology_id = ?1 AND workload_id = ?2 "
                          "ORDER BY id",
                          topology_id, workload_id),
                read_quarantine);
  });
}

Result<std::int64_t> SqliteStore::lift_quarantine(std::int64_t topology_id,
                                                  std::int64_t workload_id,
                                                  std::string_view actor) {
  HOCKET_TRY(rules::check_actor(actor, ""));
  return transact(Kind::write, [&]() -> Result<std::int64_t> {
    const auto key = key_of(topology_id, workload_id);
    HOCKET_TRY(key);
    HOCKET_TRY(db_.execute("DELETE FROM quarantine WHERE topology_id = ?1 AND workload_id = ?2",
                           topology_id, workload_id));
    const std::int64_t count = db_.changes();
    if (count == 0) return 0;
    HOCKET_TRY(write_audit(rules::audit_of_lifting(count, actor, *key)));
    return count;
  });
}

Result<void> SqliteStore::write_audit(const NewAudit& audit) {
  const auto detail = rules::object_text(audit.detail, "the audit's detail");
  HOCKET_TRY(detail);
  return db_.execute(
      "INSERT INTO audit (at_ns, actor, action, subject, detail) VALUES (?1, ?2, ?3, ?4, ?5)",
      now_unix_ns_(), audit.actor, audit.action, audit.subject, *detail);
}

Result<void> SqliteStore::record_audit(const NewAudit& audit) {
  if (auto ok = rules::check(audit); !ok) return ok;
  return transact(Kind::write, [&] { return write_audit(audit); });
}

Result<std::vector<AuditRow>> SqliteStore::audit(const AuditFilter& filter) {
  constexpr std::string_view kOldest =
      "SELECT * FROM audit WHERE id > ?1 AND (?2 IS NULL OR subject = ?2) ORDER BY id LIMIT ?3";
  constexpr std::string_view kNewest =
      "SELECT * FROM audit WHERE id > ?1 AND (?2 IS NULL OR subject = ?2) "
      "ORDER BY id DESC LIMIT ?3";
  // A negative limit means none in SQLite.
  const std::int64_t limit = filter.limit ? std::int64_t{*filter.limit} : -1;
  auto found = transact(Kind::read, [&] {
    return rows(
        db_.query(filter.newest ? kNewest : kOldest, filter.after_id, filter.subject, limit),
        read_audit);
  });
  if (found && filter.newest) std::ranges::reverse(*found);
  return found;
}

Result<std::int64_t> SqliteStore::change_count() {
  const std::lock_guard lock(mutex_);
  // data_version counts the changes of other connections; both counts only grow.
  const auto others = db_.integer("PRAGMA data_version");
  HOCKET_TRY(others);
  return others->value_or(0) + db_.total_changes();
}

}  // namespace hocket::sqlite
