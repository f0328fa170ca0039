#pragma once

// The programs that run another one, and the options of theirs that take a value. Names are
// separated by blanks; "_" in an option counts as "-", and an option with "*" behind it takes two
// words. Constants.

#include <span>
#include <string_view>

namespace hocket {

/// The words that follow a wrapper's own arguments.
enum class WrappedKind {
  command,  ///< another command
  python,   ///< the path of a script for Python, or a module after -m
};

struct CommandWrapper {
  std::string_view names;        ///< names of the program
  std::string_view subcommands;  ///< one of these words follows the name; empty: none does
  std::string_view valued;       ///< options whose value is the next word
  std::string_view folder = "";  ///< valued options whose value is the folder to start in
  int positionals = 0;           ///< words between the options and the command
  WrappedKind runs = WrappedKind::command;
  std::string_view counts = "";  ///< valued options whose values, multiplied, are the ranks
};

/// A program that reads a script, or source code on its command line.
struct ScriptInterpreter {
  std::string_view names;
  std::string_view valued;       ///< letters of short options that take a value
  std::string_view valued_long;  ///< long options whose value is the next word
  std::string_view code;         ///< letters of short options whose value is source code
  std::string_view code_long;    ///< long options whose value is source code
  std::string_view module = "";  ///< letters of short options whose value is a module
  bool is_shell = false;         ///< a shell: its code follows all options
};

std::span<const CommandWrapper> wrappers();
std::span<const ScriptInterpreter> interpreters();

/// Returns the wrapper that a module of Python is (`python -m torch.distributed.run`), or null.
const CommandWrapper* module_wrapper(std::string_view module);

/// Returns whether `word` is among the names in `list`.
bool is_among(std::string_view list, std::string_view word);

}  // namespace hocket
