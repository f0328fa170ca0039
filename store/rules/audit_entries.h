#pragma once

// Builds the audit entries for the changes that a store makes itself. Pure functions. Thread-safe.

#include "core/protocol/config_key.h"
#include "store/rows.h"

namespace hocket::rules {

/// The entry of a removed study, which had `trials`. Its subject is the study's name.
NewAudit audit_of_removal(const StudyRow& study, std::int64_t trials, std::string_view actor);

/// `before` is the version that was current, or null.
NewAudit audit_of(const PromotionRow& promoted, const PromotionRow* before, const ConfigKey& key);

/// The current versions before and after a change, or null.
struct CurrentChange {
  const PromotionRow* before = nullptr;
  const PromotionRow* after = nullptr;
};

/// Returns the entry for `version`, which leaves the stage that it still has for `stage`.
NewAudit audit_of_stage(const PromotionRow& version, PromotionStage stage,
                        const CurrentChange& current, std::string_view actor, std::string_view note,
                        const ConfigKey& key);

/// The entry for `owner`, whose jobs have kept a version.
NewAudit audit_of_keeper(const PromotionRow& version, std::string_view owner,
                         std::string_view actor, std::string_view note, const ConfigKey& key);

NewAudit audit_of_state(const KeyState& state, std::string_view actor, const ConfigKey& key);

NewAudit audit_of(const NewQuarantine& quarantine, const ConfigKey& key);

NewAudit audit_of_lifting(std::int64_t count, std::string_view actor, const ConfigKey& key);

/// The entry for `count` removed entries from before `before_ns`. It has no subject.
NewAudit audit_of_pruning(std::int64_t count, std::int64_t before_ns, std::string_view actor);

}  // namespace hocket::rules
