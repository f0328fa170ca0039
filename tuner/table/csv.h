#pragma once

// Reads comma-separated values (RFC 4180) record by record. Accepts quoted cells, LF or CRLF, a
// byte order mark, and empty lines between records. Blanks around an unquoted cell are dropped. One
// thread at a time.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Returns `text` as a cell, quoted only if necessary.
std::string csv_cell(std::string_view text);

class CsvReader {
 public:
  static constexpr std::size_t kMostCells = 1 << 16;

  /// `text` must outlive this.
  explicit CsvReader(std::string_view text);

  /// Stores the cells of the next record in `cells`; returns false at the end. invalid_argument
  /// names the line of a quote that is not closed or is not followed by a comma or the end of the
  /// record, and of a record with more than kMostCells cells.
  Result<bool> next(std::vector<std::string>& cells);

  /// Returns the line at which the last record read begins, counted from 1.
  std::size_t line() const { return record_line_; }

 private:
  Result<std::string> quoted_cell();
  std::string plain_cell();
  /// Skips a line break at the current position; returns whether there was one.
  bool skip_line_break();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t record_line_ = 1;
};

}  // namespace hocket
