#pragma once

// Formats a table as plain text. Not thread-safe.

#include <iosfwd>
#include <string>
#include <vector>

namespace hocket {

class TextTable {
 public:
  /// Cells, headings too, are shown as plain lines (core/base/plain_text.h).
  explicit TextTable(std::vector<std::string> headings);

  /// Adds a row. Requires one cell per heading.
  void add(std::vector<std::string> cells);

  /// Prints the table. Columns are as wide as their widest cell; lines have no trailing spaces.
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;  ///< headings first
};

}  // namespace hocket
