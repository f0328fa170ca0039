#pragma once

// The JSON form of an explanation. Pure function; thread-safe.

#include <nlohmann/json_fwd.hpp>

#include "archive/studies/explanation/explained_study.h"

namespace hocket {

/// Returns the document described in docs/formats/explanation.md.
nlohmann::json to_json(const StudyExplanation& explained);

}  // namespace hocket
