#pragma once

// Decides what becomes of a configuration that was found elsewhere. It is a default that what was
// found here always beats: it takes the place of no configuration, or of an older default. Pure
// functions; thread-safe.

#include <vector>

#include "core/base/result.h"
#include "store/rows.h"

namespace hocket::rules {

Result<void> check(const NewImport& import);

/// Returns PromotionRow::provenance of a version that is imported: what the importer keeps of it,
/// with "digest" and "at_ns"; it is never empty, since that makes the version an imported one.
nlohmann::json provenance_of(const NewImport& import);

/// Returns what becomes of `import`, of whose key these are all versions in the order of their ids,
/// the state and the configurations in quarantine. The outcome of an import has no version yet.
ImportOutcome import_decision(const NewImport& import, const std::vector<PromotionRow>& versions,
                              const KeyState& state, const std::vector<QuarantineRow>& quarantined);

}  // namespace hocket::rules
