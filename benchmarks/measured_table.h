#pragma once

// MeasuredTable of a benchmark program, in the form that `benchmarks/table` turns into a table of a
// page. For one thread.
//
// The form is JSON, one object a line. A table begins with its name, the titles of the labels that
// name a row, and the peer if there is one:
//
//   {"table": "collectives", "labels": ["ranks, bytes", "method"],
//    "peer": {"label": "gloo", "column": "time, ms", "title": "over gloo", "is_speed": false}}
//
// The cells follow. Each has all samples, so that the median, the quartiles and the ratio to the
// peer are computed in one place:
//
//   {"row": ["2, 1 MiB", "gloo"], "column": "time, ms", "values": [3.5, 3.4]}

#include <optional>
#include <string>
#include <vector>

namespace hocket {

/// The row that the others are compared with: of those with the same labels, except the last, the
/// row whose last label is `label`.
struct MeasuredPeer {
  std::string label;
  std::string column;     ///< The column whose ratios are formed.
  std::string title;      ///< Title of the column that has the ratios.
  bool is_speed = false;  ///< Whether the ratio is the peer's time over the row's.
};

class MeasuredTable {
 public:
  MeasuredTable(std::string table, std::vector<std::string> labels,
                std::optional<MeasuredPeer> peer = std::nullopt);

  void add(std::vector<std::string> row, std::string column, std::vector<double> values);
  /// Adds a count, which is printed whole.
  void add_count(std::vector<std::string> row, std::string column, std::size_t count);

  const std::string& text() const { return text_; }
  /// Prints the text to the standard output.
  void print() const;

 private:
  std::string text_;
};

/// Returns values divided by `unit`, for example nanoseconds in milliseconds.
std::vector<double> in_unit(std::vector<double> values, double unit);

}  // namespace hocket
