#pragma once

// Describes the origin of a configuration's version for people. Thread-safe.

#include <string>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// Returns the name of the study that a version comes from, also of one that was removed; empty if
/// there is none, or if it was removed after `promotion` was read. Errors as Store::studies.
Result<std::string> study_name(Store& store, const PromotionRow& promotion);

/// Returns " (removed)" for a version whose study was removed, otherwise "". It follows the name.
std::string removal_text(const PromotionRow& promotion);

/// Returns "study gpt2-3, 2026-11-21", "push by ada@host, 2026-11-21", "live tuning, 2026-11-21" or
/// "imported from site cluster-a, measured 2026-11-21 by a study, sha256 0123456789ab, 2026-11-29";
/// dates are in UTC. Errors as Store::studies.
Result<std::string> origin_of(Store& store, const PromotionRow& promotion);

}  // namespace hocket
