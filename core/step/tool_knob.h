#pragma once

// Names of knobs of other tools, which files declare (tuner/space/knob_file.h). Pure; thread-safe.

#include <string_view>

namespace hocket {

/// Returns whether `name` has the form of such a name, "xla.xla_gpu_enable_pipelined_all_reduce":
/// names of letters, digits and "_" that begin with no digit, joined by dots, at most 128 bytes, of
/// which the first is neither "job" nor "regions" (core/step/knob.h).
bool is_tool_knob(std::string_view name);

}  // namespace hocket
