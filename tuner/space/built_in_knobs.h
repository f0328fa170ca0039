#pragma once

// The files of knobs that hocket has itself, formats/knobs/*.json, embedded when the program is
// built (tuner/space/embed_knobs.cmake). Constant; any thread.

#include <string_view>
#include <vector>

#include "tuner/space/knob_file.h"

namespace hocket {

/// Returns the files by the name of their tools.
const std::vector<KnobFile>& built_in_knobs();

/// Returns the file of a tool; null if there is none.
const KnobFile* find_built_in_knobs(std::string_view tool);

}  // namespace hocket
