#pragma once

// The whole command line of `hocket`: its verbs, their options and what follows "--". One thread.

#include <array>
#include <memory>
#include <string_view>

#include "cli/verbs/verb.h"

namespace hocket {

/// Verbs that run the command behind "--".
inline constexpr std::array<std::string_view, 5> kVerbsWithCommand{"fetch", "run", "torch", "tune",
                                                                   "with"};

/// Declares the program with all its verbs. Parsing a command line sets `action`, which must
/// outlive the program, and which may use the program.
std::unique_ptr<CLI::App> make_program(Action& action);

}  // namespace hocket
