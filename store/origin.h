#pragma once

// Where a version of a configuration comes from, for people. Thread-safe.

#include <string>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// "study gpt2-3, 2026-11-21", "push by ada@host, 2026-11-21", "live tuning, 2026-11-21"; dates are
/// in UTC. Errors as Store::study.
Result<std::string> origin_of(Store& store, const PromotionRow& promotion);

}  // namespace hocket
