#pragma once

// The settings of PyTorch that `hocket tune --knobs torch` searches: those that hold before a model
// is wrapped or compiled, so that no running job can change them. A job gets each as a variable,
// which hocket.torch applies (plugins/python/hocket/torch/autorun/hocket_knobs.py). Pure functions;
// thread-safe.

#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tuner/space/parameter.h"

namespace hocket {

/// The objective of a search over these knobs unless another is named: the iterations that
/// hocket.torch prints in a trial (hocket_knobs.py). A program's wall time contains its
/// compilation.
inline constexpr std::string_view kTorchObjective =
    R"(iteration[ms]=regex:hocket: iteration_ms=([0-9.]+))";

/// Returns the parameters of a set, which is "torch" for all or "torch:ddp", "torch:compile" or
/// "torch:inductor". The default of each is "unset", the program's own (tuner/space/job_value.h).
/// Returns invalid_argument, naming the sets, for any other text.
Result<std::vector<Parameter>> torch_parameters(std::string_view set);

/// Returns whether a parameter of this name is one of them, although it starts with HOCKET_.
bool is_torch_knob(std::string_view name);

}  // namespace hocket
