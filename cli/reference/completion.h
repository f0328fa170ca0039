#pragma once

// Scripts by which shells complete command lines of the program. Each is one text that names all
// verbs, options and words; completing runs no program. Thread-safe.

#include <string>

#include "cli/reference/described_verb.h"

namespace hocket {

/// Returns the script for bash 4.4 or newer. It uses the package bash-completion where that is
/// loaded, to complete the command behind "--".
std::string bash_completion(const DescribedVerb& program);
/// Returns the script for zsh, which is both a file for its fpath and one to be sourced.
std::string zsh_completion(const DescribedVerb& program);
/// Returns the script for fish 3 or newer.
std::string fish_completion(const DescribedVerb& program);

}  // namespace hocket
