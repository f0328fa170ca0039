#pragma once

// The files of knobs that a user has: hocket's own, and those in the user's folder, which stand in
// for hocket's of the same tool. Reads files; one thread.

#include <string>
#include <string_view>
#include <vector>

#include "client/link/environment.h"
#include "core/base/result.h"
#include "tuner/space/knob_file.h"

namespace hocket {

struct KnownKnobs {
  KnobFile file;
  std::string path = {};      ///< empty: hocket's own
  bool is_replacing = false;  ///< hocket has knobs of this tool, too
};

struct KnobCatalog {
  std::vector<KnownKnobs> files;      ///< by tool
  std::vector<std::string> problems;  ///< files of the user that cannot be read, one line each
};

/// Returns $XDG_CONFIG_HOME/hocket/knobs, otherwise ~/.config/hocket/knobs; empty if neither
/// variable says where that is.
std::string own_knobs_folder(const Environment& environment);

/// Reads all files TOOL.json in `folder`, which may be empty or missing, and hocket's own.
KnobCatalog read_knob_catalog(const std::string& folder);

/// Returns the knobs of a selection: of a tool in `folder` or of hocket's own, or of a file by its
/// path.
Result<KnownKnobs> find_knobs(const KnobSelection& selection, const std::string& folder);

/// Returns the knob of a parameter's name among hocket's own, those in `folder` and those in the
/// files `paths`; not_found says how to declare one.
Result<ToolKnob> find_knob_of(const std::string& parameter, const std::string& folder,
                              const std::vector<std::string>& paths);

/// Checks that `value` is one of the knob's, or within its range or between two of its levels.
Result<void> check_knob_value(const ToolKnob& knob, const ParameterValue& value);

}  // namespace hocket
