#pragma once

// A command with the setting of a trial, or of a promotion: words, and what is in its environment.
// Pure; thread-safe.

#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tuner/space/knob_file.h"
#include "tuner/space/space.h"
#include "tuner/trial/placeholder.h"

namespace hocket {

struct CommandCall {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;  ///< in addition to the inherited environment
  std::vector<std::string> absent = {};            ///< variables that the command does not inherit
  std::map<std::string, std::string> files = {};   ///< their text by their path, to be written
};

/// Returns what the placeholders of the parameters stand for, and `others`, which parameters hide.
PlaceholderValues placeholder_values(const Params& params, PlaceholderValues others = {});

/// Returns the call of `command` with `params` (tuner/trial/command_runner.h), without the files of
/// a trial. `others` are further values of placeholders. A value that is left out
/// (tuner/space/job_value.h) is in no word, and its variable is absent. invalid_argument for knob
/// values that the scheduler refuses, and for words of which it cannot be told what to leave out.
Result<CommandCall> call_with(const std::vector<std::string>& command, const Params& params,
                              PlaceholderValues others = {});

/// Refuses a command from which a parameter of the space cannot be left out although it may be.
Result<void> check_unset(const std::vector<std::string>& command, const Space& space);

/// Returns how values of the space may deceive the command: the word False, which many programs
/// take for true. One line each; none for those among `knobs`, whose words their tools know.
std::vector<std::string> boolean_notes(const std::vector<std::string>& command, const Space& space,
                                       const KnobPlaces& knobs = {});

}  // namespace hocket
