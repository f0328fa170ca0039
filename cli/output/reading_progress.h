#pragma once

// Shows how far the reading of long files is, on one line of a terminal. One thread.

#include <cstdint>
#include <iosfwd>
#include <string>

#include "core/base/clock.h"

namespace hocket {

/// Shows nothing during the first second, and nothing without a terminal.
class ReadingLine {
 public:
  /// `columns`: width of the terminal if `err` is one, otherwise 0. Both must outlive this object.
  ReadingLine(std::ostream& err, int columns, const Clock& clock);
  ~ReadingLine() { clear(); }
  ReadingLine(const ReadingLine&) = delete;
  ReadingLine& operator=(const ReadingLine&) = delete;

  /// `of_bytes`: 0 if it is not known.
  void show(const std::string& name, std::int64_t bytes, std::int64_t of_bytes);

  void clear();  ///< Removes the line.

 private:
  std::ostream& err_;
  const int columns_;
  const Clock& clock_;
  std::int64_t next_ns_;
  bool line_open_ = false;
};

}  // namespace hocket
