#pragma once

// The space that a study searches, as `hocket tune` is told it, and how the default of each of its
// parameters is known. May read a script (cli/inputs/space/script_defaults.h); one thread.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "tuner/space/knob_file.h"
#include "tuner/space/space.h"
#include "tuner/study/default_source.h"
#include "tuner/trial/call/knob_call.h"

namespace hocket {

struct SpaceRequest {
  /// Empty, as `knobs`: the scheduler's knobs worth searching, with `communication` where there are
  /// servers.
  std::vector<std::string> params;
  std::vector<KnobFile> knobs = {};   ///< those of other tools that were selected
  std::vector<std::string> defaults;  ///< NAME=VALUE
  std::vector<std::string> constraints;
  std::vector<std::string> command;
  /// Looks up the variable of a parameter's name; empty: the environment says nothing.
  std::function<std::optional<std::string>(const char*)> environment = {};
  bool has_servers = false;  ///< the job has parameter servers
  /// Tells the values of knobs that the command has itself (tuner/trial/call/knob_call.h).
  KnobSurroundings surroundings = {};
};

/// Returns whether the job that `command` starts has parameter servers: `hocket run` starts some,
/// or `addresses`, the value of HOCKET_SERVERS that the job inherits, names some.
bool has_servers(const std::vector<std::string>& command,
                 const std::optional<std::string>& addresses);

/// Returns whether `hocket torch` is among the words of a command: it hands PyTorch its knobs.
bool starts_torch(const std::vector<std::string>& command);

struct TunedSpace {
  Space space;
  DefaultSources sources;
  KnobPlaces knobs = {};                ///< of the knobs of other tools
  std::vector<std::string> notes = {};  ///< knobs that are left out, and why, one line each
  std::string objective = {};           ///< of the first of these tools that has one
};

/// A parameter of `params` takes the place of a knob of its name. Knobs of PyTorch need `hocket
/// torch` in the command. A default is, in this order: the one that is given, the value of the
/// environment's variable, the one that the command's Python script gives to the option behind
/// which the parameter is placed, of a knob the one that the command has, a knob's own. What is
/// left is assumed: the middle of the range. A default of the environment that lies outside the
/// parameter's range is an error, since the user asked for it; one of the script is not taken, and
/// `detail` of its source says so.
Result<TunedSpace> tuned_space(const SpaceRequest& request, const Clock& clock);

}  // namespace hocket
