#pragma once

// Questions to the user at the terminal. One thread.

#include <functional>
#include <iosfwd>
#include <string>

namespace hocket {

/// Returns what asks on `err`, which must outlive it, and reads the answer from standard input;
/// empty if that is no terminal. Anything but y or yes is no.
std::function<bool(const std::string& question)> questions_on_terminal(std::ostream& err);

/// Returns whether the answer is yes.
bool is_yes(const std::string& answer);

}  // namespace hocket
