#pragma once

// Describes the origin of a configuration's version for people. Thread-safe.

#include <string>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// Returns "study gpt2-3, 2026-11-21", "push by ada@host, 2026-11-21" or "live tuning, 2026-11-21";
/// dates are in UTC. Errors as Store::study.
Result<std::string> origin_of(Store& store, const PromotionRow& promotion);

}  // namespace hocket
