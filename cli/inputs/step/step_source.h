#pragma once

// Reads the step for `hocket simulate` and `hocket explain`: a description, with changes from the
// command line. One thread.

#include <iosfwd>
#include <string>

#include "archive/profiles/step_changes.h"
#include "core/base/result.h"
#include "core/description/step_description.h"

namespace CLI {
class App;
}

namespace hocket {

/// Reads the description from the file `path`, or from standard input if `path` is "-". Errors
/// begin with the file's name; a file that cannot be read is invalid_argument.
Result<StepDescription> read_step(const std::string& path);

/// Declares the options of the changes.
void add_step_changes(CLI::App& verb, StepChanges& changes);

/// Returns the options that give the changes, each with a blank in front and quoted for a shell;
/// "" for none.
std::string step_change_arguments(const StepChanges& changes);

/// Reads the description and applies the changes. Tells `err` where other ranks do not change the
/// cost of collectives.
Result<StepDescription> read_changed_step(const std::string& path, const StepChanges& changes,
                                          std::ostream& err);

}  // namespace hocket
