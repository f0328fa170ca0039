#include "cli/output/fitted_table.h"

#include <algorithm>
#include <utility>

#include "cli/output/columns.h"
#include "core/base/check.h"

namespace hocket {
namespace {

constexpr std::size_t kGap = 2;

/// A column that is shown.
struct SizedColumn {
  std::size_t index = 0;
  const FittedColumn* column = nullptr;
  std::size_t width = 0;
};

std::size_t least_of(const SizedColumn& sized) {
  return sized.column->least == 0 ? sized.width : std::min(sized.column->least, sized.width);
}

/// Leaves out columns that do not fit `width`, and distributes the remaining space.
void fit(std::vector<SizedColumn>& columns, std::size_t width) {
  const auto needed = [&] {
    std::size_t sum = kGap * (columns.size() - 1);
    for (const SizedColumn& sized : columns) sum += least_of(sized);
    return sum;
  };
  const auto worth = [](const SizedColumn& sized) { return sized.column->worth; };
  while (columns.size() > 1 && needed() > width)
    columns.erase(std::ranges::min_element(columns, {}, worth));
  std::size_t spare = width > needed() ? width - needed() : 0;
  for (SizedColumn& sized : columns) {
    const std::size_t wanted = sized.width;
    sized.width = std::min(least_of(sized), width);
    // The first column takes at most half of the space that the last one could also use.
    const bool is_first = &sized == &columns.front();
    const bool shares = is_first && columns.back().column->least > 0 && columns.size() > 1;
    const std::size_t more =
        std::min(wanted - std::min(wanted, sized.width), shares ? (spare + 1) / 2 : spare);
    sized.width += more;
    spare -= more;
  }
}

}  // namespace

FittedTable::FittedTable(std::vector<FittedColumn> columns) : columns_(std::move(columns)) {
  std::vector<std::string> headings;
  for (const FittedColumn& column : columns_) headings.emplace_back(column.heading);
  rows_.push_back(std::move(headings));
}

void FittedTable::add(const std::vector<std::string>& cells) {
  HOCKET_CHECK(cells.size() == columns_.size(), "one cell per column");
  rows_.push_back(cells);
}

std::vector<std::string> FittedTable::lines(std::size_t width) const {
  std::vector<SizedColumn> columns;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    SizedColumn sized{i, &columns_[i]};
    for (const auto& row : rows_) sized.width = std::max(sized.width, columns_of(row[i]));
    sized.width = std::min(sized.width, columns_[i].most);
    columns.push_back(sized);
  }
  fit(columns, width);
  std::vector<std::string> lines;
  for (const auto& row : rows_) {
    std::string& line = lines.emplace_back();
    for (const SizedColumn& sized : columns) {
      if (!line.empty()) line += std::string(kGap, ' ');
      const std::string& cell = row[sized.index];
      line += sized.column->is_right ? fitted_right(cell, sized.width) : fitted(cell, sized.width);
    }
  }
  return lines;
}

}  // namespace hocket
