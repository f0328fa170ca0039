#pragma once

// A table in plain text. Not thread-safe.

#include <iosfwd>
#include <string>
#include <vector>

namespace hocket {

class Table {
 public:
  explicit Table(std::vector<std::string> headings) : rows_{std::move(headings)} {}

  /// Requires one cell a heading.
  void add(std::vector<std::string> cells);

  /// Columns are as wide as their widest cell; nothing follows the last cell of a line.
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;  ///< the headings first
};

}  // namespace hocket
