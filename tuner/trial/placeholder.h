#pragma once

// Placeholders, "{NAME}" in the words of a command or in the path of a file, which a trial fills
// in. "${NAME}" is none: it is a shell's. "{NAME?TEXT}" stands for TEXT unless the value is false
// (tuner/space/job_value.h) or left out, "{NAME?TEXT:OTHER}" for OTHER then. Pure functions;
// thread-safe.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Filled in beside the parameters: the number of the trial, from 1, and a name of the worker that
/// no other has, for names of files. A parameter of that name hides it.
inline constexpr const char* kTrialPlaceholder = "TRIAL";
inline constexpr const char* kWorkerPlaceholder = "WORKER";

/// The values of placeholders; nothing for one that is left out.
using PlaceholderValues = std::map<std::string, std::optional<std::string>>;

/// Returns `text` with the value of each placeholder in place of it, "unset" for one that is left
/// out; those without a value stay. Values are not filled in again.
std::string filled_text(std::string_view text, const PlaceholderValues& values);

/// The words of a command, filled in.
struct FilledWords {
  std::vector<std::string> words;
  /// Environment variables that the command was to get by a word NAME={…} which was dropped.
  std::vector<std::string> absent = {};

  bool operator==(const FilledWords&) const = default;
};

/// Returns `words` filled in. A value that is left out takes the word "--option={NAME}" with it, or
/// "--option" and "{NAME}" behind it, or the assignment "VARIABLE={NAME}" with the option -x, -e,
/// -E, --env or --setenv in front, or "{NAME}" as the last word. Words of "{NAME?TEXT}" alone that
/// come out empty are dropped. invalid_argument where it cannot be told what belongs to the value.
Result<FilledWords> filled_words(const std::vector<std::string>& words,
                                 const PlaceholderValues& values);

/// Returns the names in "{NAME}" and "{NAME?…}" within `words`, each once, in order.
std::vector<std::string> placeholders_of(const std::vector<std::string>& words);

/// Returns the names in "{NAME}" alone.
std::vector<std::string> plain_placeholders_of(const std::vector<std::string>& words);

/// Refuses a placeholder that is none of `known` and looks like a misspelt one of them.
Result<void> check_placeholders(const std::vector<std::string>& words,
                                const std::vector<std::string>& known);

}  // namespace hocket
