#include "store/rules/audit_entries.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace hocket::rules {
namespace {

NewAudit entry(std::string_view actor, const char* action, const ConfigKey& key,
               nlohmann::json detail) {
  return {std::string(actor), action, to_string(key), std::move(detail)};
}

}  // namespace

NewAudit audit_of(const PromotionRow& promoted, const ConfigKey& key) {
  return entry(promoted.actor, "promote", key,
               {{"version", promoted.id},
                {"origin", to_string(promoted.origin)},
                {"stage", to_string(promoted.stage)},
                {"note", promoted.note}});
}

NewAudit audit_of_stage(const PromotionRow& before, PromotionStage stage, std::string_view actor,
                        std::string_view note, const ConfigKey& key) {
  return entry(actor, "set_stage", key,
               {{"version", before.id},
                {"from", to_string(before.stage)},
                {"stage", to_string(stage)},
                {"note", note}});
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

}  // namespace hocket::rules
