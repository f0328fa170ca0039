#pragma once

// The verbs `hocket configs export` and `hocket configs import`. One thread.

#include "cli/base/context.h"
#include "cli/verbs/verb.h"

namespace hocket {

/// Adds both below `hocket configs`.
void add_shared_configs(CLI::App& configs, VerbAction& action);

}  // namespace hocket
