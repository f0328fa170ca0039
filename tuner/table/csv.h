#pragma once

// Reads comma-separated values (RFC 4180) record by record: quoted cells, LF or CRLF, a byte order
// mark, empty lines between records. Blanks around a cell that is not quoted do not count. One
// thread at a time.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// A cell, quoted where it must be.
std::string csv_cell(std::string_view text);

class CsvReader {
 public:
  /// `text` must outlive this.
  explicit CsvReader(std::string_view text);

  /// Puts the cells of the next record into `cells`; false at the end. invalid_argument names the
  /// line of a quote that is not closed, or is followed by more than a comma.
  Result<bool> next(std::vector<std::string>& cells);

  /// Where the record that was read last begins, counted from 1.
  std::size_t line() const { return record_line_; }

 private:
  Result<std::string> quoted_cell();
  std::string plain_cell();
  /// Passes a line break at the position, if there is one.
  bool skip_line_break();

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t record_line_ = 1;
};

}  // namespace hocket
