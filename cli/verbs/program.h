#pragma once

// The whole command line of `hocket`: its verbs, their options and what follows "--". One thread.

#include <memory>
#include <string_view>

#include "cli/base/context.h"

namespace CLI {
class App;
}

namespace hocket {

/// Declares the program with all its verbs. Parsing a command line sets `action`, which must
/// outlive the program, and which may use the program.
std::unique_ptr<CLI::App> make_program(VerbAction& action);

/// Returns whether the verb may run a command behind "--".
bool takes_command(std::string_view verb);

}  // namespace hocket
