#pragma once

// The program `hocket` as a function: arguments in, text and an exit status out. One thread.

#include <iosfwd>
#include <string>
#include <vector>

namespace hocket {

/// Runs the verb given by `arguments`, which exclude the program's name. Writes results to `out`,
/// progress and errors to `err`, both through a gate (cli/output/text_gate.h), so that only plain
/// text, newlines, tabs and hocket's own control of the terminal arrive. `err_columns`: width of
/// the terminal if `err` is one, otherwise 0. Returns the exit status (cli/base/context.h).
int run_hocket(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
               int err_columns);

}  // namespace hocket
