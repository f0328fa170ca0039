#pragma once

// A version of a promoted configuration and an entry of the audit, as the daemon and the verbs give
// them in JSON. Thread-safe as far as the store is.

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// Returns `{"version","stage","origin","study","study_removed","actor","note","promoted_at_ns",
/// "config","value","default_value","gain"}`; "study" and the last three are null where there are
/// none, "study_removed" says that the study is not in the store any more, "config" is empty for
/// the jobs' own default.
Result<nlohmann::json> version_json(Store& store, const PromotionRow& version);

/// Returns `{"id","at_ns","actor","action","subject","detail"}`.
nlohmann::json audit_json(const AuditRow& row);

}  // namespace hocket
