#pragma once

// The simple commands of a shell's text (POSIX.1-2017, Shell Command Language, 2.9.1). Pure;
// thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// Returns the words of each simple command of `text`, without redirections, and of a pipeline the
/// first command if filters alone follow it (`tee`, `grep`, …). Expansions stay in the words as
/// they are written. Nothing if the text has compound commands, alternatives (`||`), substitutions
/// or an open quote.
std::optional<std::vector<std::vector<std::string>>> shell_commands(std::string_view text);

}  // namespace hocket
