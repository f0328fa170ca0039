#pragma once

// Rules about where files are and who builds them. Pure functions.

#include "tests/style/source_tree.h"

namespace hocket::style {

/// Every source is named in the CMakeLists.txt of its folder or of one above it, so that no file is
/// dead and no test is left out.
Problems check_sources_are_built(const std::vector<SourceFile>& tree);

/// A test lies below tests/ in a folder that mirrors one of the sources; and where the same part of
/// the project has a source of its name, it lies where that source's mirror is.
Problems check_tests_mirror_sources(const std::vector<SourceFile>& tree);

}  // namespace hocket::style
