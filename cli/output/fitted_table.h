#pragma once

// A table that fits a screen: columns that have no room are left out, those that are worth least
// first, and text is cut where a column allows it. Not thread-safe.

#include <cstddef>
#include <string>
#include <vector>

namespace hocket {

struct FittedColumn {
  const char* heading = "";
  int worth = 0;  ///< the column with the lowest value is left out first
  bool is_right = false;
  std::size_t least = 0;  ///< minimum width of text that may be cut; 0: it must not be cut
  std::size_t most = std::string::npos;
};

class FittedTable {
 public:
  explicit FittedTable(std::vector<FittedColumn> columns);

  /// Adds a row. Requires one cell per column, of plain text (core/base/plain_text.h).
  void add(const std::vector<std::string>& cells);

  /// Returns the headings and the rows, each exactly as wide as the columns that `width` has room
  /// for.
  std::vector<std::string> lines(std::size_t width) const;

 private:
  std::vector<FittedColumn> columns_;
  std::vector<std::vector<std::string>> rows_;  ///< headings first
};

}  // namespace hocket
