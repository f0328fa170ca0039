#pragma once

// The streams that a verb writes to, and the status with which it ends the program. One thread.

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

enum ExitStatus : int {
  kDone = 0,
  kFailed = 1,        ///< any other error
  kBadInput = 2,      ///< invalid arguments, command, or store
  kDefaultStays = 3,  ///< `tune` ended and promoted nothing
  kInterrupted = 130,
};

struct VerbContext {
  std::ostream& out;    ///< results
  std::ostream& err;    ///< progress and the origin of results
  int err_columns = 0;  ///< width of the terminal if `err` is one, otherwise 0
  std::optional<std::vector<std::string>> command = {};  ///< arguments after the first "--"
  /// Gives the commands in a message the --store or --daemon of this one
  /// (cli/inputs/access/shown_commands.h). Errors that are returned get them anyway.
  std::function<std::string(const std::string&)> placed = [](const std::string& message) {
    return message;
  };
  /// Performs another verb, whose arguments these are, with the same streams. Returns its exit
  /// status.
  std::function<int(const std::vector<std::string>& arguments)> perform = {};
  /// Asks the user, who answers yes or no; empty without a terminal to ask on.
  std::function<bool(const std::string& question)> ask = {};
};

/// Performs a verb and returns the exit status. An error is printed, and its code determines the
/// exit status.
using VerbAction = std::function<Result<int>(VerbContext&)>;

}  // namespace hocket
