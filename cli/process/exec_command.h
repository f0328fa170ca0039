#pragma once

// Replaces this process by a command. One thread.

#include "core/base/result.h"
#include "tuner/trial/command_call.h"

namespace hocket {

/// Runs the call in place of this process, with its environment on top of this one's. Returns only
/// if the command cannot be started.
Error exec_command(const CommandCall& call);

}  // namespace hocket
