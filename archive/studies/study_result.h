#pragma once

// The JSON form of what came of a study, as the store keeps it (docs/formats/store.md). Pure
// functions; thread-safe.

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.h"
#include "tuner/study/study.h"

namespace hocket {

/// `{"default":{"params":…,"value":…,"spread":…},"best":…,"promoted":…,"gain":…,"needed":…,
/// "gain_interval":{"low":…,"high":…,"confidence":0.9},"reason":…,"stopped":…}`; the interval is
/// null when fewer than two pairs were compared; a value is null when there is none. With several
/// objectives a setting has "others" and "other_spreads" beside its value, and there is "front":
/// `[{"number":…,"params":…,"value":…,"spread":…,"others":[…],"other_spreads":[…],
/// "state":"confirmed","runs":2},…]`. Without the trials.
nlohmann::json to_json(const StudyResult& result);

/// Reads the JSON form; the result has no trials. invalid_argument names the field that is wrong.
Result<StudyResult> study_result_from_json(const nlohmann::json& document);

}  // namespace hocket
