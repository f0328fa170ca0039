#pragma once

// The #include lines of a source. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/style/source_tree.h"

namespace hocket::style {

struct Include {
  std::string_view path;
  bool quoted = false;   ///< "path" rather than <path>
  std::size_t line = 0;  ///< from 1
};

/// Returns the includes of `text`, in order, without commented lines and macros.
std::vector<Include> includes_of(std::string_view text);

/// "FILE:LINE: includes "HEADER", ", the beginning of a problem.
std::string at(const SourceFile& file, const Include& include);

}  // namespace hocket::style
