#pragma once

// Finds the declaration of a version (core/step/declaration.h) in the rows that have it. Pure;
// thread-safe.

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "core/step/declaration.h"

namespace hocket {

/// Returns the parameters of `declared` (PromotionRow::declared) and the knobs in the document of
/// the workload. A workload that cannot be read declares none.
Result<Declaration> declaration_of(const nlohmann::json& declared, const nlohmann::json& workload);

}  // namespace hocket
