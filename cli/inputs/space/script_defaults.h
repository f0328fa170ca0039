#pragma once

// The defaults that a Python script gives its own options, so that a study can measure its gain
// against what the script does by itself. The script is parsed, never run: its interpreter runs a
// short program of hocket's with the standard library alone (-I -S), which reads the script's
// syntax tree and prints the literal defaults of add_argument() calls. Starts a process, for at
// most a few seconds; one thread.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"

namespace hocket {

/// Returns the options behind which a command places parameters: {"BUCKET", "--bucket-mb"} for
/// "--bucket-mb {BUCKET}" and for "--bucket-mb={BUCKET}". A parameter that has several places, or
/// shares one with other text, is left out. Pure.
std::map<std::string, std::string> placed_options(const std::vector<std::string>& command);

/// The Python script of a command, and what interprets it. Pure but for whether a file is there.
struct PythonScript {
  std::string interpreter;  ///< the word before the script, or python3
  std::string path;

  bool operator==(const PythonScript&) const = default;
};

/// Returns the first argument that names an existing file "….py", also behind a launcher
/// (torchrun, `hocket run`); nothing for other commands and for `python -m`.
std::optional<PythonScript> python_script(const std::vector<std::string>& command);

/// Returns the defaults of those `options` for which the script has one add_argument() call with a
/// literal default, as text. Whatever cannot be known is left out: an expression, a default that
/// set_defaults() may change, an option that is added twice, a script that cannot be parsed, an
/// interpreter that is missing or does not answer in time.
std::map<std::string, std::string> argparse_defaults(const PythonScript& script,
                                                     const std::vector<std::string>& options,
                                                     const Clock& clock);

}  // namespace hocket
