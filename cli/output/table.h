#pragma once

// Formats a table as plain text. Not thread-safe.

#include <iosfwd>
#include <string>
#include <vector>

namespace hocket {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headings) : rows_{std::move(headings)} {}

  /// Adds a row. Requires one cell per heading.
  void add(std::vector<std::string> cells);

  /// Prints the table. Columns are as wide as their widest cell; lines have no trailing spaces.
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;  ///< headings first
};

}  // namespace hocket
