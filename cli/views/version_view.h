#pragma once

// A version of a promoted configuration for people and programs: how it came to be, and what became
// of it. Thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// Of the study that a version came from; empty when it came from none.
Result<std::string> study_name(Store& store, const PromotionRow& version);

/// The version that a study promoted, if it did.
Result<std::optional<PromotionRow>> version_of(Store& store, const StudyRow& study);

/// "promoted by study gpt2-1 on 2026-11-21T03:12:30Z", "pushed by ada@host on …".
std::string made_text(const PromotionRow& version, const std::string& study);

/// "version 7, pushed by ada@host on …, is held, since its key was pinned".
std::string standing_text(const PromotionRow& version, const std::string& study);

/// `{"version":…,"stage":…,"origin":…,"study":…,"actor":…,"note":…,"promoted_at":…}`; `study` is
/// null where there is none.
nlohmann::json to_json(const PromotionRow& version, const std::string& study);

}  // namespace hocket
