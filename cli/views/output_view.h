#pragma once

// The output of a trial as people read it: line by line, without control characters, which could
// change the terminal. Not thread-safe.

#include <cstddef>
#include <iosfwd>

#include "core/protocol/trial_output.h"

namespace hocket {

/// Prints all lines of stdout as they are, and those of stderr after "stderr:" where there are any.
void print_output(std::ostream& out, const TrialOutput& output);

/// Prints the last `lines` lines of each stream that are not empty, behind its name.
void print_output_end(std::ostream& out, const TrialOutput& output, std::size_t lines);

}  // namespace hocket
