#pragma once

// The form in which a value of a parameter reaches a job. Pure functions; thread-safe.
//
// The choice "unset" is no word: the job does not get the parameter at all. A job that needs the
// word itself has the choice "\unset". The value keeps this meaning wherever it is kept, as it is
// part of its text.

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "tuner/space/parameter.h"
#include "tuner/space/params.h"

namespace hocket {

/// The choice that leaves a parameter out.
inline constexpr std::string_view kUnset = "unset";

/// Returns the text that a job gets; nothing for the choice kUnset.
std::optional<std::string> job_text(const ParameterValue& value);

/// Returns the choice with which a job gets `text`.
std::string choice_of(const std::string& text);

bool is_unset(const ParameterValue& value);

/// Returns whether one of the values leaves the parameter out.
bool may_be_unset(const Domain& domain);

/// Returns whether people read the text as false: 0, false, no, off, in any case of letters.
bool is_false_text(std::string_view text);

/// Returns whether the values are the levels 0 and 1, as those of NAME=bool.
bool is_boolean(const Domain& domain);

/// Returns a choice that people read as false and programs that test for a text may take for true,
/// such as "False"; empty if there is none.
std::string word_for_false(const Domain& domain);

}  // namespace hocket
