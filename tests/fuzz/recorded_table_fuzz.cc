// Any text is refused with an error, or gives a table that is written as CSV and read back as the
// same measurements. The first line is the default.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "tuner/table/csv.h"
#include "tuner/table/recorded_table.h"

namespace {

using hocket::RecordedTable;

/// Returns a value as it is written: 0 has no sign, since an integer 0 has none.
std::string cell(const hocket::ParameterValue& value) {
  const auto* real = std::get_if<double>(&value);
  return hocket::csv_cell(hocket::to_text(real ? *real + 0.0 : value));
}

/// Returns a line for each measurement, sorted by text.
std::vector<std::string> lines_of(const RecordedTable& table) {
  std::vector<std::string> lines;
  table.for_each([&](const hocket::Params& params, const RecordedTable::Measurements& measured) {
    HOCKET_CHECK(table.find(params) == &measured, "a setting is not found");
    std::string settings;
    for (const auto& parameter : table.space().parameters())
      settings += ',' + cell(params.at(parameter.name));
    for (const auto& value : measured)
      lines.push_back((value ? cell(*value) : "failed") + settings + '\n');
  });
  std::ranges::sort(lines);
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t first = std::min(input.find('\n'), size);
  const std::string_view text = input.substr(std::min(first + 1, size));
  const auto table = RecordedTable::parse(
      text, {.objective_column = "value", .default_setting = std::string(input.substr(0, first))});
  if (!table) return 0;
  HOCKET_CHECK(table->find(table->space().defaults()), "the default is not in the table");

  std::string written = "value";
  for (const auto& column : table->columns()) written += ',' + hocket::csv_cell(column);
  const auto lines = lines_of(*table);
  written += '\n';
  for (const auto& line : lines) written += line;
  const auto again = RecordedTable::parse(written, {.objective_column = "value"});
  HOCKET_CHECK(again, "what was written cannot be read");
  HOCKET_CHECK(again->columns() == table->columns() && lines_of(*again) == lines,
               "it is not read back as it was written");
  return 0;
}
