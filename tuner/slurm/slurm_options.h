#pragma once

// The options that a user gives for sbatch, in one text: `--slurm '--nodes 4 --time 10:00'`. Pure
// functions; thread-safe.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Splits the text into words as a shell does, without expansions, and checks them:
/// invalid_argument, with the reason, for an open quote, a word that is no option nor the value of
/// one, and for options of sbatch that do not go with workers (--array, --wrap, --wait, …).
/// sbatch itself checks whether other options exist.
Result<std::vector<std::string>> slurm_options(std::string_view text);

/// Returns the value of the last option of a long name ("output") or short name ('o', 0 for none)
/// among words that slurm_options() returned, "" if there is none.
std::string slurm_option(std::span<const std::string> options, std::string_view name, char letter);

}  // namespace hocket
