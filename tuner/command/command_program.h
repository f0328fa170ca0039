#pragma once

// Reads a command line as people mean it: what it runs once interpreters, launchers and wrappers
// are taken away. `env A=1 torchrun --nproc-per-node 2 train.py --lr 3` runs train.py. Pure;
// thread-safe.
//
// It knows tables of programs and of their options that take a value
// (tuner/command/wrappers.h). A program that it does not know is what runs.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hocket {

struct CommandProgram {
  enum class Kind {
    program,  ///< `text` is a program, found through PATH if it has no "/"
    script,   ///< `text` is the path of a file that an interpreter reads
    module,   ///< `text` is the dotted name of a module of Python
    code,     ///< `text` is source code on the command line that runs more than one program
    unknown,  ///< the command says nothing that could be run; `text` is empty
  };

  Kind kind = Kind::unknown;
  std::string text;
  /// Base name of the program that reads a script, a module or code ("python3", "sh"); of the
  /// command's first word if nothing is known.
  std::string reader;
  /// Folder in which the program starts, as `cd`, `env -C` or `srun --chdir` name it; relative to
  /// the command's own folder unless it begins with "/". Empty: that folder.
  std::string folder;
  /// Words behind a program; a program that is not known here may itself run one of them.
  std::vector<std::string> arguments = {};
  /// Ranks that the innermost launcher starts which says so in numbers; 0: none does.
  std::int64_t ranks = 0;

  bool operator==(const CommandProgram&) const = default;
};

/// Returns what `command` runs. Requires at least one word.
CommandProgram read_command(std::span<const std::string> command);

/// Returns a short name: the base name of a program or script, the name of a module, else the
/// reader's.
std::string short_name(const CommandProgram& program);

}  // namespace hocket
