#pragma once

// Searching a variable by which programs find others (core/base/system_variables.h) needs the
// user's consent. One thread.

#include <string>
#include <vector>

#include "cli/base/context.h"
#include "core/base/result.h"
#include "tuner/space/space.h"

namespace hocket {

/// Asks on the terminal for each such parameter that is not among `allowed`. invalid_argument where
/// the answer is no, or where there is no terminal to ask on.
Result<void> allow_variables(const Space& space, const std::vector<std::string>& allowed,
                             VerbContext& context);

}  // namespace hocket
