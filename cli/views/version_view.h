#pragma once

// Formats a version of a promoted configuration, as text and as JSON: its origin and its state.
// Thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// Returns the version that a study promoted, if there is one.
Result<std::optional<PromotionRow>> version_of(Store& store, const StudyRow& study);

/// Returns for example "promoted by study gpt2-1 on 2026-11-21T03:12:30Z" or "pushed by ada@host on
/// …". `study` is the version's (store/origin.h).
std::string made_text(const PromotionRow& version, const std::string& study);

/// Returns for example "version 7, pushed by ada@host on …, is held, since its key was pinned".
std::string standing_text(const PromotionRow& version, const std::string& study);

/// Returns `{"version":…,"stage":…,"origin":…,"study":…,"study_removed":…,"actor":…,"note":…,
/// "promoted_at":…}`; `study` is null if there is none.
nlohmann::json to_json(const PromotionRow& version, const std::string& study);

}  // namespace hocket
