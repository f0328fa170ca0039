// SqlStore's functions for keys: versions, states, quarantine, and their audit.

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "store/declared.h"
#include "store/rules/audit_entries.h"
#include "store/rules/row_rules.h"
#include "store/sql/read_rows.h"
#include "store/sql/sql_store.h"

namespace hocket::sql {
namespace {

Result<ConfigKey> read_config_key(const Rows& row) {
  return ConfigKey{row.text(0), row.text(1)};
}

Result<KeyState> read_key_state(const Rows& row) {
  return KeyState{row.integer(0) != 0, row.integer(1) != 0};
}

Result<KeyRow> read_key(const Rows& row) {
  return KeyRow{.topology_id = row.integer(0),
                .workload_id = row.integer(1),
                .key = {row.text(2), row.text(3)},
                .topology_name = row.text(4),
                .workload_name = row.text(5),
                .state = {row.integer(6) != 0, row.integer(7) != 0},
                .current_id = row.optional_integer(8),
                .is_at_default = row.integer(9) != 0};
}

/// Returns the origin as the table has it: that of an imported version is known by its provenance,
/// since programs of earlier versions do not know the word.
std::string_view written_origin(const PromotionRow& row) {
  return to_string(row.origin == PromotionOrigin::imported ? PromotionOrigin::push : row.origin);
}

const PromotionRow* pointer_to(const std::optional<PromotionRow>& version) {
  return version ? &*version : nullptr;
}

}  // namespace

Result<ConfigKey> SqlStore::key_of(std::int64_t topology_id, std::int64_t workload_id) {
  HOCKET_TRY(check_references(topology_id, workload_id));
  return first(db_.query("SELECT topologies.fingerprint, workloads.fingerprint "
                         "FROM topologies, workloads "
                         "WHERE topologies.id = ?1 AND workloads.id = ?2",
                         topology_id, workload_id),
               read_config_key)
      .map([](auto key) { return key.value_or(ConfigKey()); });
}

Result<ConfigKey> SqlStore::locked_key(std::int64_t topology_id, std::int64_t workload_id) {
  // One lock for all keys of the workload: they are not changed so often. Rows that refer to the
  // workload can still be added.
  HOCKET_TRY(
      db_.integer("SELECT id FROM workloads WHERE id = ?1 {FOR NO KEY UPDATE}", workload_id));
  return key_of(topology_id, workload_id);
}

Result<KeyState> SqlStore::state_of(std::int64_t topology_id, std::int64_t workload_id) {
  return first(db_.query("SELECT pinned, frozen FROM key_states "
                         "WHERE topology_id = ?1 AND workload_id = ?2",
                         topology_id, workload_id),
               read_key_state)
      .map([](auto state) { return state.value_or(KeyState()); });
}

Result<std::optional<PromotionRow>> SqlStore::current_of(std::int64_t topology_id,
                                                         std::int64_t workload_id) {
  return first(db_.query("SELECT * FROM promotions WHERE topology_id = ?1 AND workload_id = ?2 "
                         "AND stage = 'released' ORDER BY id DESC LIMIT 1",
                         topology_id, workload_id),
               read_promotion);
}

Result<nlohmann::json> SqlStore::declared_for(const NewPromotion& promotion,
                                              std::string_view config) {
  if (promotion.study_id) {
    const auto study = locked_study(*promotion.study_id, StudyLock::reference);
    HOCKET_TRY(study);
    return rules::declared_in(study->definition);
  }
  auto earlier =
      first(db_.query("SELECT * FROM promotions WHERE topology_id = ?1 AND workload_id = ?2 "
                      "AND config = ?3 AND declared <> '{}' ORDER BY id DESC LIMIT 1",
                      promotion.topology_id, promotion.workload_id, config),
            read_promotion);
  HOCKET_TRY(earlier);
  return *earlier ? std::move((*earlier)->declared) : nlohmann::json::object();
}

Result<PromotionRow> SqlStore::write_version(const NewPromotion& promotion, const ConfigKey& key,
                                             nlohmann::json declared, nlohmann::json provenance) {
  const auto config = rules::object_text(promotion.config, "the promoted configuration");
  HOCKET_TRY(config);
  const auto workload = first(
      db_.query("SELECT * FROM workloads WHERE id = ?1", promotion.workload_id), read_workload);
  HOCKET_TRY(workload);
  const auto declaration = declaration_of(declared, (*workload)->document);
  HOCKET_TRY(declaration);
  const auto is_declared = check_declared(promotion.config, *declaration);
  if (!is_declared) return failure(is_declared.error().in("the promoted configuration"));
  const auto state = state_of(promotion.topology_id, promotion.workload_id);
  HOCKET_TRY(state);
  const auto before = current_of(promotion.topology_id, promotion.workload_id);
  HOCKET_TRY(before);
  const auto at_ns = now_ns();
  HOCKET_TRY(at_ns);
  PromotionRow row = rules::promoted(promotion, *state, *at_ns);
  row.declared = std::move(declared);
  row.provenance = std::move(provenance);
  const auto measured = [&](double MeasuredGain::*member) {
    return row.measured ? std::optional((*row.measured).*member) : std::nullopt;
  };
  const auto id = db_.integer(
      "INSERT INTO promotions (topology_id, workload_id, study_id, config, value, "
      "default_value, gain, promoted_at_ns, origin, stage, actor, note, declared, "
      "kept_by, provenance) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) RETURNING id",
      row.topology_id, row.workload_id, row.study_id, *config, measured(&MeasuredGain::value),
      measured(&MeasuredGain::default_value), measured(&MeasuredGain::gain), row.promoted_at_ns,
      written_origin(row), to_string(row.stage), row.actor, row.note, row.declared.dump(),
      nlohmann::json(row.kept_by).dump(), row.provenance.dump());
  HOCKET_TRY(id);
  row.id = id->value_or(0);
  HOCKET_TRY(write_audit(rules::audit_of(row, pointer_to(*before), key)));
  HOCKET_TRY(db_.notify({key, row.id, row.stage}));
  return row;
}

Result<PromotionRow> SqlStore::promote(const NewPromotion& promotion) {
  HOCKET_TRY(rules::check(promotion));
  const auto config = rules::object_text(promotion.config, "the promoted configuration");
  HOCKET_TRY(config);
  return transact(Access::write, [&]() -> Result<PromotionRow> {
    const auto key = locked_key(promotion.topology_id, promotion.workload_id);
    HOCKET_TRY(key);
    auto declared = declared_for(promotion, *config);
    HOCKET_TRY(declared);
    return write_version(promotion, *key, std::move(*declared), nlohmann::json::object());
  });
}

Result<PromotionRow> SqlStore::version(std::int64_t id) {
  auto row = first(db_.query("SELECT * FROM promotions WHERE id = ?1", id), read_promotion);
  HOCKET_TRY(row);
  if (!*row) return failure(rules::no_such("version", id));
  return std::move(**row);
}

Result<void> SqlStore::set_stage(std::int64_t promotion_id, PromotionStage stage,
                                 std::string_view actor, std::string_view note) {
  if (auto ok = rules::check_actor(actor, note); !ok) return ok;
  return transact(Access::write, [&]() -> Result<void> {
    const auto seen = version(promotion_id);
    HOCKET_TRY(seen);
    const auto key = locked_key(seen->topology_id, seen->workload_id);
    HOCKET_TRY(key);
    // Its stage may have changed while this waited.
    const auto row = version(promotion_id);
    HOCKET_TRY(row);
    const auto must_move = rules::must_move(*row, stage);
    HOCKET_TRY(must_move);
    if (!*must_move) return {};
    const auto before = current_of(row->topology_id, row->workload_id);
    HOCKET_TRY(before);
    HOCKET_TRY(db_.execute("UPDATE promotions SET stage = ?2 WHERE id = ?1", promotion_id,
                           to_string(stage)));
    const auto after = current_of(row->topology_id, row->workload_id);
    HOCKET_TRY(after);
    HOCKET_TRY(write_audit(rules::audit_of_stage(
        *row, stage, {pointer_to(*before), pointer_to(*after)}, actor, note, *key)));
    return db_.notify({*key, row->id, stage});
  });
}

Result<void> SqlStore::add_keeper(std::int64_t promotion_id, std::string_view owner,
                                  std::string_view actor, std::string_view note) {
  if (auto ok = rules::check_actor(actor, note); !ok) return ok;
  if (owner.empty() || !rules::is_text(owner)) {
    return failure(ErrorCode::invalid_argument, "the owner of jobs that keep a version has a name");
  }
  return transact(Access::write, [&]() -> Result<void> {
    const auto seen = version(promotion_id);
    HOCKET_TRY(seen);
    const auto key = locked_key(seen->topology_id, seen->workload_id);
    HOCKET_TRY(key);
    // It may have changed while this waited.
    auto row = version(promotion_id);
    HOCKET_TRY(row);
    const bool is_there = std::ranges::find(row->kept_by, owner) != row->kept_by.end();
    if (is_there || row->stage != PromotionStage::staged) return {};
    row->kept_by.emplace_back(owner);
    HOCKET_TRY(db_.execute("UPDATE promotions SET kept_by = ?2 WHERE id = ?1", promotion_id,
                           nlohmann::json(row->kept_by).dump()));
    HOCKET_TRY(write_audit(rules::audit_of_keeper(*row, owner, actor, note, *key)));
    return db_.notify({*key, row->id, row->stage});
  });
}

Result<std::optional<PromotionRow>> SqlStore::newest_promotion(
    std::string_view topology_fingerprint, std::string_view workload_fingerprint,
    PromotionStage stage) {
  if (!rules::is_text(topology_fingerprint) || !rules::is_text(workload_fingerprint)) {
    return std::nullopt;
  }
  return transact(Access::read, [&] {
    return first(db_.query("SELECT promotions.* FROM promotions "
                           "JOIN topologies ON topologies.id = topology_id "
                           "JOIN workloads ON workloads.id = workload_id "
                           "WHERE topologies.fingerprint = ?1 AND workloads.fingerprint = ?2 "
                           "AND stage = ?3 ORDER BY promotions.id DESC LIMIT 1",
                           topology_fingerprint, workload_fingerprint, to_string(stage)),
                 read_promotion);
  });
}

Result<std::optional<PromotionRow>> SqlStore::current_promotion(
    std::string_view topology_fingerprint, std::string_view workload_fingerprint) {
  return newest_promotion(topology_fingerprint, workload_fingerprint, PromotionStage::released);
}

Result<std::optional<PromotionRow>> SqlStore::staged_promotion(
    std::string_view topology_fingerprint, std::string_view workload_fingerprint) {
  return newest_promotion(topology_fingerprint, workload_fingerprint, PromotionStage::staged);
}

Result<std::vector<PromotionRow>> SqlStore::promotions(const PromotionFilter& filter,
                                                       UnreadRows* unread) {
  const auto key = filter.key.value_or(ConfigKey());
  std::optional<std::string_view> stage;
  if (filter.stage) stage = to_string(*filter.stage);
  if (!rules::is_text(key.topology) || !rules::is_text(key.workload)) {
    return std::vector<PromotionRow>();
  }
  return transact(Access::read, [&] {
    return rows(
        db_.query("SELECT * FROM promotions WHERE (?1 IS NULL OR topology_id = ?1) "
                  "AND (?2 IS NULL OR workload_id = ?2) AND (?3 IS NULL OR study_id = ?3) "
                  "AND (?4 IS NULL OR stage = ?4) AND (?5 = 0 OR "
                  "(topology_id = (SELECT id FROM topologies WHERE fingerprint = ?6) AND "
                  "workload_id = (SELECT id FROM workloads WHERE fingerprint = ?7))) ORDER BY id",
                  filter.topology_id, filter.workload_id, filter.study_id, stage,
                  std::int64_t{filter.key.has_value()}, key.topology, key.workload),
        read_promotion, "version", unread);
  });
}

Result<KeyState> SqlStore::key_state(std::string_view topology_fingerprint,
                                     std::string_view workload_fingerprint) {
  if (!rules::is_text(topology_fingerprint) || !rules::is_text(workload_fingerprint)) {
    return KeyState();
  }
  return transact(Access::read, [&] {
    return first(db_.query("SELECT pinned, frozen FROM key_states "
                           "JOIN topologies ON topologies.id = topology_id "
                           "JOIN workloads ON workloads.id = workload_id "
                           "WHERE topologies.fingerprint = ?1 AND workloads.fingerprint = ?2",
                           topology_fingerprint, workload_fingerprint),
                 read_key_state)
        .map([](auto state) { return state.value_or(KeyState()); });
  });
}

Result<void> SqlStore::set_key_state(std::int64_t topology_id, std::int64_t workload_id,
                                     const KeyState& state, std::string_view actor) {
  if (auto ok = rules::check_actor(actor, ""); !ok) return ok;
  return transact(Access::write, [&]() -> Result<void> {
    const auto key = locked_key(topology_id, workload_id);
    HOCKET_TRY(key);
    const auto before = state_of(topology_id, workload_id);
    HOCKET_TRY(before);
    if (*before == state) return {};
    HOCKET_TRY(db_.execute(
        "INSERT INTO key_states (topology_id, workload_id, pinned, frozen) "
        "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (topology_id, workload_id) "
        "DO UPDATE SET pinned = ?3, frozen = ?4",
        topology_id, workload_id, std::int64_t{state.pinned}, std::int64_t{state.frozen}));
    HOCKET_TRY(write_audit(rules::audit_of_state(state, actor, *key)));
    return db_.notify({.key = *key});
  });
}

Result<std::vector<KeyRow>> SqlStore::keys() {
  return transact(Access::read, [&] {
    return rows(db_.query("SELECT key.topology_id, key.workload_id, topologies.fingerprint, "
                          "workloads.fingerprint, topologies.name, workloads.name, "
                          "coalesce(pinned, 0), coalesce(frozen, 0), "
                          "version.id, CASE WHEN version.config = ?1 THEN 1 ELSE 0 END "
                          "FROM (SELECT topology_id, workload_id FROM promotions UNION "
                          "SELECT topology_id, workload_id FROM key_states) AS key "
                          "JOIN topologies ON topologies.id = key.topology_id "
                          "JOIN workloads ON workloads.id = key.workload_id "
                          "LEFT JOIN promotions AS version ON version.id = (SELECT max(id) "
                          "FROM promotions WHERE topology_id = key.topology_id "
                          "AND workload_id = key.workload_id AND stage = 'released') "
                          "LEFT JOIN key_states ON key_states.topology_id = key.topology_id "
                          "AND key_states.workload_id = key.workload_id ORDER BY 1, 2",
                          std::string_view("{}")),
                read_key);
  });
}

Result<void> SqlStore::quarantine(const NewQuarantine& quarantine) {
  if (auto ok = rules::check(quarantine); !ok) return ok;
  const auto config = rules::object_text(quarantine.config, "the quarantined configuration");
  HOCKET_TRY(config);
  return transact(Access::write, [&]() -> Result<void> {
    const auto key = locked_key(quarantine.topology_id, quarantine.workload_id);
    HOCKET_TRY(key);
    const auto at_ns = now_ns();
    HOCKET_TRY(at_ns);
    const auto write = [&](std::string_view sql) {
      return db_.execute(sql, quarantine.topology_id, quarantine.workload_id, *config,
                         quarantine.reason, quarantine.actor, *at_ns);
    };
    const auto known = write(
        "UPDATE quarantine SET reason = ?4, actor = ?5, quarantined_at_ns = ?6 "
        "WHERE topology_id = ?1 AND workload_id = ?2 AND config = ?3");
    HOCKET_TRY(known);
    if (*known == 0) {
      HOCKET_TRY(
          write("INSERT INTO quarantine (topology_id, workload_id, config, reason, actor, "
                "quarantined_at_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
    }
    return write_audit(rules::audit_of(quarantine, *key));
  });
}

Result<std::vector<QuarantineRow>> SqlStore::quarantined(std::int64_t topology_id,
                                                         std::int64_t workload_id) {
  return transact(Access::read, [&] {
    return rows(db_.query("SELECT * FROM quarantine WHERE topology_id = ?1 AND workload_id = ?2 "
                          "ORDER BY id",
                          topology_id, workload_id),
                read_quarantine);
  });
}

Result<std::int64_t> SqlStore::lift_quarantine(std::int64_t topology_id, std::int64_t workload_id,
                                               std::string_view actor) {
  HOCKET_TRY(rules::check_actor(actor, ""));
  return transact(Access::write, [&]() -> Result<std::int64_t> {
    const auto key = locked_key(topology_id, workload_id);
    HOCKET_TRY(key);
    const auto count =
        db_.execute("DELETE FROM quarantine WHERE topology_id = ?1 AND workload_id = ?2",
                    topology_id, workload_id);
    if (!count || *count == 0) return count;
    HOCKET_TRY(write_audit(rules::audit_of_lifting(*count, actor, *key)));
    return count;
  });
}

Result<void> SqlStore::write_audit(const NewAudit& audit) {
  const auto detail = rules::object_text(audit.detail, "the audit's detail");
  HOCKET_TRY(detail);
  // Readers ask for what is behind an id, so ids must become visible in their order.
  HOCKET_TRY(db_.hold("audit"));
  const auto at_ns = now_ns();
  HOCKET_TRY(at_ns);
  HOCKET_TRY(db_.execute(
      "INSERT INTO audit (at_ns, actor, action, subject, detail) VALUES (?1, ?2, ?3, ?4, ?5)",
      *at_ns, audit.actor, audit.action, audit.subject, *detail));
  return {};
}

Result<void> SqlStore::record_audit(const NewAudit& audit) {
  if (auto ok = rules::check(audit); !ok) return ok;
  return transact(Access::write, [&] { return write_audit(audit); });
}

Result<std::vector<AuditRow>> SqlStore::audit(const AuditFilter& filter, UnreadRows* unread) {
  constexpr std::string_view kOldest =
      "SELECT * FROM audit WHERE id > ?1 AND (?2 IS NULL OR subject = ?2) ORDER BY id LIMIT ?3";
  constexpr std::string_view kNewest =
      "SELECT * FROM audit WHERE id > ?1 AND (?2 IS NULL OR subject = ?2) "
      "ORDER BY id DESC LIMIT ?3";
  if (filter.subject && !rules::is_text(*filter.subject)) return std::vector<AuditRow>();
  const std::int64_t limit =
      filter.limit ? std::int64_t{*filter.limit} : std::numeric_limits<std::int64_t>::max();
  auto found = transact(Access::read, [&] {
    return rows(
        db_.query(filter.newest ? kNewest : kOldest, filter.after_id, filter.subject, limit),
        read_audit, "entry of the audit", unread);
  });
  if (found && filter.newest) std::ranges::reverse(*found);
  return found;
}

Result<std::int64_t> SqlStore::prune_audit(std::int64_t before_ns, std::string_view actor) {
  HOCKET_TRY(rules::check_actor(actor, ""));
  return transact(Access::write, [&]() -> Result<std::int64_t> {
    HOCKET_TRY(db_.hold("audit"));
    const auto count = db_.execute(
        "DELETE FROM audit WHERE id IN "
        "(SELECT id FROM audit WHERE at_ns < ?1 ORDER BY id LIMIT ?2)",
        before_ns, kMostPrunedAuditEntries);
    if (!count || *count == 0) return count;
    HOCKET_TRY(write_audit(rules::audit_of_pruning(*count, before_ns, actor)));
    return count;
  });
}

Result<std::int64_t> SqlStore::change_count() {
  const std::lock_guard lock(mutex_);
  return db_.change_count();
}

Result<std::unique_ptr<ChangeListener>> SqlStore::listen(OnKeyChange on_change) {
  return db_.listen(std::move(on_change));
}

Result<std::unique_ptr<KeyClaim>> SqlStore::claim_key(std::int64_t topology_id,
                                                      std::int64_t workload_id) {
  HOCKET_TRY(transact(Access::read, [&] { return key_of(topology_id, workload_id); }));
  return db_.claim(topology_id, workload_id);
}

}  // namespace hocket::sql
