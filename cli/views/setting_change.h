#pragma once

// Describes the differences between two promoted configurations for people. Pure; thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace hocket {

/// Returns "streams 2 -> 4, X 3" with what changes from `before` to `after`, which are promoted
/// configurations, empty for the jobs' own default; where only one of them has a value, that alone.
/// "the default" if `after` is empty, "the same" if nothing differs.
std::string setting_change(const nlohmann::json& before, const nlohmann::json& after);

/// Returns "X=3, Y=4", the values of a promoted configuration, those of knobs where they are not
/// the scheduler's default; "the default" if it is empty or has no other value.
std::string setting_text(const nlohmann::json& config);

}  // namespace hocket
