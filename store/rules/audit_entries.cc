#include "store/rules/audit_entries.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace hocket::rules {
namespace {

NewAudit entry(std::string_view actor, const char* action, const ConfigKey& key,
               nlohmann::json detail) {
  return {std::string(actor), action, to_string(key), std::move(detail)};
}

/// Adds the configurations of `change` where they differ; null stands for none.
void add_change(nlohmann::json& detail, const CurrentChange& change) {
  const auto config_of = [](const PromotionRow* version) {
    return version == nullptr || version->config.empty() ? nlohmann::json() : version->config;
  };
  if (config_of(change.before) == config_of(change.after)) return;
  detail["old"] = config_of(change.before);
  detail["new"] = config_of(change.after);
}

}  // namespace

NewAudit audit_of_removal(const StudyRow& study, std::int64_t trials, std::string_view actor) {
  return {std::string(actor),
          "remove_study",
          study.name,
          {{"id", study.id}, {"state", to_string(study.state)}, {"trials", trials}}};
}

NewAudit audit_of(const PromotionRow& promoted, const PromotionRow* before, const ConfigKey& key) {
  nlohmann::json detail = {{"version", promoted.id},
                           {"origin", to_string(promoted.origin)},
                           {"stage", to_string(promoted.stage)},
                           {"note", promoted.note}};
  if (!promoted.kept_by.empty()) detail["kept_by"] = promoted.kept_by;
  add_change(detail, {before, &promoted});
  return entry(promoted.actor, "promote", key, std::move(detail));
}

NewAudit audit_of_stage(const PromotionRow& version, PromotionStage stage,
                        const CurrentChange& current, std::string_view actor, std::string_view note,
                        const ConfigKey& key) {
  nlohmann::json detail = {{"version", version.id},
                           {"from", to_string(version.stage)},
                           {"stage", to_string(stage)},
                           {"note", note}};
  add_change(detail, current);
  return entry(actor, "set_stage", key, std::move(detail));
}

NewAudit audit_of_keeper(const PromotionRow& version, std::string_view owner,
                         std::string_view actor, std::string_view note, const ConfigKey& key) {
  return entry(actor, "add_keeper", key,
               {{"version", version.id}, {"owner", owner}, {"note", note}});
}

NewAudit audit_of_state(const KeyState& state, std::string_view actor, const ConfigKey& key) {
  return entry(actor, "set_key_state", key, {{"pinned", state.pinned}, {"frozen", state.frozen}});
}

NewAudit audit_of(const NewQuarantine& quarantine, const ConfigKey& key) {
  return entry(quarantine.actor, "quarantine", key,
               {{"config", quarantine.config}, {"reason", quarantine.reason}});
}

NewAudit audit_of_lifting(std::int64_t count, std::string_view actor, const ConfigKey& key) {
  return entry(actor, "lift_quarantine", key, {{"configurations", count}});
}

NewAudit audit_of_pruning(std::int64_t count, std::int64_t before_ns, std::string_view actor) {
  return {std::string(actor), "prune_audit", "", {{"entries", count}, {"before_ns", before_ns}}};
}

}  // namespace hocket::rules
