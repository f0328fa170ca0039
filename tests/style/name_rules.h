#pragma once

// Rules about names. Pure functions.

#include "tests/style/source_tree.h"

namespace hocket::style {

/// Checks that no two headers define a type of the same name in the same namespace: a program with
/// both is undefined, which neither compiler nor linker reports (C++20, [basic.def.odr]).
Problems check_types_are_defined_once(const std::vector<SourceFile>& tree);

}  // namespace hocket::style
