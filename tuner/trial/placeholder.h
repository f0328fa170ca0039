#pragma once

// Placeholders, "{NAME}" in the words of a command or in the path of a file, which a trial fills
// in. "${NAME}" is none: it is a shell's. Pure functions; thread-safe.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Filled in beside the parameters: the number of the trial, from 1, and that of the worker among
/// those of its host. A parameter of that name hides it.
inline constexpr const char* kTrialPlaceholder = "TRIAL";
inline constexpr const char* kWorkerPlaceholder = "WORKER";

/// Returns `text` with the value of each placeholder in place of it; those without a value stay.
/// Values are not filled in again.
std::string filled_text(std::string_view text, const std::map<std::string, std::string>& values);

/// Returns the names in "{NAME}" within `words`, each once, in order.
std::vector<std::string> placeholders_of(const std::vector<std::string>& words);

/// Refuses a placeholder that is none of `known` and looks like a misspelt one of them.
Result<void> check_placeholders(const std::vector<std::string>& words,
                                const std::vector<std::string>& known);

}  // namespace hocket
