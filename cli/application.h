#pragma once

// The program `hocket` without its process: arguments in, texts and an exit status out. One thread.

#include <iosfwd>
#include <string>
#include <vector>

namespace hocket {

/// Runs the verb that `arguments` (without the program's name) ask for. Results go to `out`,
/// progress and errors to `err`; `err_columns` is the width of the terminal that `err` is, 0 when
/// it is none. Returns the exit status (cli/verbs/verb.h).
int run_hocket(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err,
               int err_columns);

}  // namespace hocket
