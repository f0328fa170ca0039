#pragma once

// Rules on the location of files and the builds that include them. Pure functions.

#include "tests/style/rooms.h"
#include "tests/style/source_tree.h"

namespace hocket::style {

/// Requires every source to be in a room, of which CMake makes a library, or to be named in the
/// CMakeLists.txt of its folder or of one above it, so that no file is dead and no test is left
/// out.
Problems check_sources_are_built(const std::vector<SourceFile>& tree, const Rooms& rooms);

/// Requires each test to lie below tests/ in a folder that mirrors a source folder; if the same
/// part of the project has a source of the test's name, in that source's mirror.
Problems check_tests_mirror_sources(const std::vector<SourceFile>& tree);

}  // namespace hocket::style
