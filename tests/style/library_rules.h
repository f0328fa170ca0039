#pragma once

// Libraries whose headers reach far, and the few files that may include them. Pure functions.

#include "tests/style/source_tree.h"

namespace hocket::style {

/// Includes of libraries that one part of the project keeps to itself.
Problems check_library_includes(const SourceFile& file);

}  // namespace hocket::style
