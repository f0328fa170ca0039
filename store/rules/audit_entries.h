#pragma once

// Builds the audit entries for the changes that a store makes itself. Pure functions. Thread-safe.

#include "core/protocol/config_key.h"
#include "store/rows.h"

namespace hocket::rules {

NewAudit audit_of(const PromotionRow& promoted, const ConfigKey& key);

/// Returns the entry for a version that leaves its stage in `before`.
NewAudit audit_of_stage(const PromotionRow& before, PromotionStage stage, std::string_view actor,
                        std::string_view note, const ConfigKey& key);

NewAudit audit_of_state(const KeyState& state, std::string_view actor, const ConfigKey& key);

NewAudit audit_of(const NewQuarantine& quarantine, const ConfigKey& key);

NewAudit audit_of_lifting(std::int64_t count, std::string_view actor, const ConfigKey& key);

}  // namespace hocket::rules
