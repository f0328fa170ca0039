#include "cli/output/table.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "core/base/check.h"
#include "core/base/plain_text.h"

namespace hocket {
namespace {

/// Returns the number of code points in UTF-8 text, which equals its columns for the characters
/// used here.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

}  // namespace

TextTable::TextTable(std::vector<std::string> headings) {
  for (std::string& heading : headings) heading = plain_line(heading);
  rows_.push_back(std::move(headings));
}

void TextTable::add(std::vector<std::string> cells) {
  HOCKET_CHECK(cells.size() == rows_.front().size(), "a row has a cell for each heading");
  for (std::string& cell : cells) cell = plain_line(cell);
  rows_.push_back(std::move(cells));
}

void TextTable::print(std::ostream& out) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - width(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

}  // namespace hocket
