#pragma once

// Knobs of other tools (tuner/space/knob_file.h) in the call of a command, and what the command
// says of them without hocket. Pure functions; thread-safe.
//
// A knob at its default changes nothing, so the default of a study is the command as the user
// writes it. Any other value takes the place of the one that the user gave in the same place: an
// option of the command is written again at its end, a flag behind the others of its variable, a
// field in a copy of the document, to which the command's option then points.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tuner/space/knob_file.h"
#include "tuner/space/params.h"
#include "tuner/trial/command_call.h"

namespace hocket {

/// Environment, files and folder beside a command, for the application of knobs.
struct KnobSurroundings {
  /// Looks up a variable that the command inherits.
  std::function<std::optional<std::string>(const std::string& name)> variable;
  /// Returns the content of a file by the path in the command.
  std::function<Result<std::string>(const std::string& path)> read;
  std::string folder = {};  ///< for copies of files
};

/// Returns the surroundings of a command that this process starts in `working_directory`, which may
/// be empty for its own: its environment, and files of at most 16 MiB.
KnobSurroundings surroundings_of(const std::string& working_directory, const std::string& folder);

/// Returns the parameter of a knob for a command: its default is the value that the command has
/// without hocket, if that is one of the knob's or between two of them, otherwise the tool's. One
/// that is left to a framework ("auto") is the default "unset". invalid_argument says why the knob
/// cannot be searched with this command: the user gives it another value, or sets its place where
/// hocket cannot reach.
Result<Parameter> parameter_in(const ToolKnob& knob, const std::vector<std::string>& command,
                               const KnobSurroundings& surroundings);

/// Adds to `call` the knobs among `params` that differ from `defaults`: words, variables, and files
/// (CommandCall::files), which the caller writes. A knob with a place {NAME} of its own in
/// `command` stands there alone. invalid_argument where a place cannot be found, or a file not be
/// read.
Result<void> apply_knobs(const KnobPlaces& places, const std::vector<std::string>& command,
                         const Params& params, const Params& defaults,
                         const KnobSurroundings& surroundings, CommandCall& call);

/// Writes the files of a call, for this user alone.
Result<void> write_files(const CommandCall& call);

}  // namespace hocket
