#include "tuner/table/recorded_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <unordered_map>

#include "core/base/memory_budget.h"
#include "core/base/text.h"
#include "tuner/space/parameter_syntax.h"
#include "tuner/table/csv.h"

namespace hocket {
namespace {

/// Most bytes of a cell or a name in a message.
constexpr std::size_t kShownCellBytes = 60;

std::string quoted_cell(std::string_view text) {
  return '"' + printable(text, kShownCellBytes) + '"';
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + quoted_cell(name);
  return text;
}

/// Returns the number that fills the whole of `text`, or nothing; infinity and NaN are not
/// accepted.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  if (text.starts_with('+') && text.substr(1).find_first_of("+-") != 0) text.remove_prefix(1);
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(number)) return std::nullopt;
  }
  return number;
}

/// One parameter column while rows are read: cells become numbers, since most values occur many
/// times.
struct Column {
  std::string name;
  std::unordered_map<std::string, std::uint32_t> ids;
  std::vector<std::string> texts;  ///< in order of first occurrence
};

struct Rows {
  std::vector<Column> columns;     ///< one per parameter
  std::vector<std::uint32_t> ids;  ///< one for each parameter of each row
  RecordedTable::Measurements objectives;
};

/// Column names of the table, with the roles of the columns.
struct Header {
  std::vector<std::string> names;
  std::size_t objective = 0;
  std::vector<std::size_t> parameters;
};

Result<void> check_names(const std::vector<std::string>& names) {
  if (names.size() > RecordedTable::kMaxColumns) {
    return invalid("the header has " + std::to_string(names.size()) + " columns; at most " +
                   std::to_string(RecordedTable::kMaxColumns) + " can be read");
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) {
      return invalid("the header has no name for column " + std::to_string(i + 1));
    }
    if (!seen.insert(names[i]).second) {
      return invalid("the header has column " + quoted_cell(names[i]) + " twice");
    }
  }
  return {};
}

Result<Header> read_header(CsvReader& reader, const RecordedTableOptions& options) {
  Header header;
  const auto more = reader.next(header.names);
  HOCKET_TRY(more);
  if (!*more) return invalid("the table is empty; its first line must name the columns");
  HOCKET_TRY(check_names(header.names));
  const auto find = [&](const std::string& name) {
    return std::find(header.names.begin(), header.names.end(), name);
  };
  std::vector<std::string> others = options.ignored_columns;
  others.push_back(options.objective_column);
  for (const auto& name : others) {
    if (find(name) != header.names.end()) continue;
    return invalid("the table has no column " + quoted_cell(name) + "; it has " +
                   joined(header.names));
  }
  const auto& ignored = options.ignored_columns;
  for (std::size_t i = 0; i < header.names.size(); ++i) {
    if (header.names[i] == options.objective_column) {
      header.objective = i;
    } else if (!header.names[i].starts_with(RecordedTable::kObjectivePrefix) &&
               !header.names[i].starts_with(RecordedTable::kTrialPrefix) &&
               std::find(ignored.begin(), ignored.end(), header.names[i]) == ignored.end()) {
      header.parameters.push_back(i);
    }
  }
  if (header.parameters.empty()) {
    return invalid("the table has no column beside the objective, so there is nothing to choose");
  }
  return header;
}

bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

Result<std::uint32_t> intern(Column& column, const std::string& cell) {
  if (const auto it = column.ids.find(cell); it != column.ids.end()) return it->second;
  if (cell.empty()) return invalid("column " + quoted_cell(column.name) + " is empty");
  if (cell.find('\0') != std::string::npos || !is_utf8(cell)) {
    return invalid("column " + quoted_cell(column.name) + " holds what is not UTF-8 text");
  }
  const auto id = static_cast<std::uint32_t>(column.texts.size());
  column.ids.emplace(cell, id);
  column.texts.push_back(cell);
  return id;
}

Result<void> add_row(Rows& rows, const Header& header, const std::vector<std::string>& cells) {
  if (cells.size() != header.names.size()) {
    return invalid("expected " + std::to_string(header.names.size()) + " cells, found " +
                   std::to_string(cells.size()));
  }
  if (rows.objectives.size() == RecordedTable::kMaxRows) {
    return invalid("the table has more than " + std::to_string(RecordedTable::kMaxRows) + " rows");
  }
  for (std::size_t i = 0; i < header.parameters.size(); ++i) {
    const auto id = intern(rows.columns[i], cells[header.parameters[i]]);
    HOCKET_TRY(id);
    rows.ids.push_back(*id);
  }
  rows.objectives.push_back(number_in<double>(cells[header.objective]));
  return {};
}

/// Looks from time to time whether memory suffices for what a loop makes of the rows.
Result<void> look(MemoryBudget& memory, std::size_t rows) {
  constexpr std::size_t kRowsBetweenLooks = 1 << 14;
  if (rows % kRowsBetweenLooks != 0) return {};
  const auto over = memory.problem();
  return over ? invalid(*over) : Result<void>();
}

Result<Rows> read_rows(std::string_view text, const RecordedTableOptions& options,
                       MemoryBudget& memory) {
  CsvReader reader(text);
  const auto header = read_header(reader, options);
  HOCKET_TRY(header);
  Rows rows;
  for (const std::size_t i : header->parameters) {
    rows.columns.push_back(Column{header->names[i], {}, {}});
  }
  std::vector<std::string> cells;
  for (;;) {
    const auto more = reader.next(cells);
    HOCKET_TRY(more);
    if (!*more) break;
    if (auto ok = add_row(rows, *header, cells); !ok) {
      return failure(ok.error().in("line " + std::to_string(reader.line())));
    }
    HOCKET_TRY(look(memory, rows.objectives.size()));
  }
  if (rows.objectives.empty()) return invalid("the table has a header and no rows");
  return rows;
}

/// The values of a column, and the index of the value that each of its texts stands for.
struct Values {
  Domain domain;
  std::vector<std::uint32_t> index_of_text;
};

template <class Number>
std::optional<Values> levels_of(const std::vector<std::string>& texts) {
  std::vector<Number> numbers;
  for (const auto& text : texts) {
    const auto number = number_in<Number>(text);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  std::vector<Number> rising = numbers;
  std::sort(rising.begin(), rising.end());
  rising.erase(std::unique(rising.begin(), rising.end()), rising.end());
  Values values{Levels{{rising.begin(), rising.end()}}, {}};
  for (const Number number : numbers) {
    const auto it = std::lower_bound(rising.begin(), rising.end(), number);
    values.index_of_text.push_back(static_cast<std::uint32_t>(it - rising.begin()));
  }
  return values;
}

Values values_of(const std::vector<std::string>& texts) {
  if (auto integers = levels_of<std::int64_t>(texts)) return *integers;
  if (auto reals = levels_of<double>(texts)) return *reals;
  Values values{Choices{texts}, std::vector<std::uint32_t>(texts.size())};
  std::iota(values.index_of_text.begin(), values.index_of_text.end(), 0U);
  return values;
}

/// Returns `column` changed to a valid parameter name that differs from those of `parameters`.
std::string parameter_name(const std::string& column, const std::vector<Parameter>& parameters) {
  std::string name;
  for (const char c : column) {
    const bool is_fit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += is_fit ? c : '_';
  }
  if ((name[0] >= '0' && name[0] <= '9') || name.starts_with("HOCKET_")) name = '_' + name;
  const auto is_taken = [&] {
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const Parameter& parameter) { return parameter.name == name; });
  };
  while (is_taken()) name += '_';
  return name;
}

/// Splits "a=1,b=x,y" into "a=1" and "b=x,y".
std::vector<std::string> assignments_in(std::string_view text) {
  std::vector<std::string> assignments;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const auto piece = text.substr(0, comma);
    if (piece.find('=') == std::string_view::npos && !assignments.empty()) {
      assignments.back() += ',' + std::string(piece);
    } else {
      assignments.emplace_back(piece);
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return assignments;
}

/// Sets the defaults given by `text`, and adds the names of their parameters to `named`.
Result<void> set_defaults(std::vector<Parameter>& parameters,
                          const std::vector<std::string>& columns, std::string_view text,
                          std::set<std::string>& named) {
  for (const auto& assignment : assignments_in(text)) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos) {
      return invalid("default: expected COLUMN=VALUE,…, found " + quoted_cell(assignment));
    }
    const std::string name = assignment.substr(0, equals);
    const auto column = std::find(columns.begin(), columns.end(), name);
    if (column == columns.end()) {
      return invalid("default: the parameters have no column " + quoted_cell(name) +
                     "; there are " + joined(columns));
    }
    const auto& parameter = parameters[static_cast<std::size_t>(column - columns.begin())];
    if (!named.insert(parameter.name).second) {
      return invalid("default: column " + quoted_cell(name) + " is named twice");
    }
    HOCKET_TRY(set_default(parameters, parameter.name + assignment.substr(equals)));
  }
  return {};
}

}  // namespace

Result<RecordedTable> RecordedTable::parse(std::string_view text,
                                           const RecordedTableOptions& options) {
  MemoryBudget memory = MemoryBudget::of_process();
  const auto rows = read_rows(text, options, memory);
  HOCKET_TRY(rows);
  std::vector<std::string> columns;
  std::vector<Parameter> parameters;
  std::vector<Values> values;
  for (const Column& column : rows->columns) {
    values.push_back(values_of(column.texts));
    columns.push_back(column.name);
    const Domain& domain = values.back().domain;
    parameters.push_back({parameter_name(column.name, parameters), domain, middle_value(domain)});
  }
  std::set<std::string> named;
  HOCKET_TRY(set_defaults(parameters, columns, options.default_setting, named));
  auto space = Space::make(parameters);
  HOCKET_TRY(space);

  Settings settings;
  for (std::size_t row = 0; row < rows->objectives.size(); ++row) {
    Setting setting(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      setting[i] = values[i].index_of_text[rows->ids[row * columns.size() + i]];
    }
    settings[std::move(setting)].push_back(rows->objectives[row]);
    HOCKET_TRY(look(memory, row));
  }
  RecordedTable table(std::move(*space), std::move(columns), std::move(settings));

  const Params wanted = table.space_.defaults();
  const auto start = table.nearest(wanted, [&](const Params& params) {
    return std::all_of(named.begin(), named.end(),
                       [&](const std::string& name) { return params.at(name) == wanted.at(name); });
  });
  if (!start) {
    return invalid("default: " + options.default_setting +
                   " is not in the table; name a setting that was recorded, or fewer columns");
  }
  for (auto& parameter : parameters) parameter.default_value = start->at(parameter.name);
  table.space_ = *Space::make(std::move(parameters));
  return table;
}

Params RecordedTable::params_of(const Setting& setting) const {
  Params params;
  for (std::size_t i = 0; i < setting.size(); ++i) {
    const Parameter& parameter = space_.parameters()[i];
    params[parameter.name] = value_at(parameter.domain, setting[i]);
  }
  return params;
}

RecordedTable::Setting RecordedTable::setting_of(const Params& params) const {
  Setting setting;
  for (const auto& parameter : space_.parameters()) {
    const auto count = static_cast<double>(hocket::value_count(parameter.domain));
    const double middle_of_bin = encode(parameter.domain, params.at(parameter.name)) * count;
    setting.push_back(static_cast<std::uint32_t>(middle_of_bin));
  }
  return setting;
}

const RecordedTable::Measurements* RecordedTable::find(const Params& params) const {
  const auto it = settings_.find(setting_of(params));
  return it == settings_.end() ? nullptr : &it->second;
}

double RecordedTable::distance(const Setting& a, const Setting& b) const {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Domain& domain = space_.parameters()[i].domain;
    const bool is_choice = std::holds_alternative<Choices>(domain);
    const double apart = (static_cast<double>(a[i]) - static_cast<double>(b[i])) /
                         static_cast<double>(hocket::value_count(domain));
    sum += is_choice ? (a[i] == b[i] ? 0 : 1) : apart * apart;
  }
  return sum;
}

std::optional<Params> RecordedTable::nearest(
    const Params& params, const std::function<bool(const Params&)>& accepts) const {
  const Setting from = setting_of(params);
  if (settings_.contains(from) && accepts(params)) return params;
  std::optional<Params> best;
  double least = INFINITY;
  for (const auto& [setting, ignored] : settings_) {
    const double away = distance(from, setting);
    if (away >= least) continue;
    Params candidate = params_of(setting);
    if (!accepts(candidate)) continue;
    least = away;
    best = std::move(candidate);
  }
  return best;
}

void RecordedTable::for_each(
    const std::function<void(const Params&, const Measurements&)>& visit) const {
  for (const auto& [setting, measurements] : settings_) visit(params_of(setting), measurements);
}

std::optional<double> mean_value(const RecordedTable::Measurements& measurements) {
  double mean = 0, count = 0;
  for (const auto& value : measurements) {
    if (!value) continue;
    ++count;
    mean = mean * ((count - 1) / count) + *value / count;
  }
  if (count == 0) return std::nullopt;
  return mean;
}

}  // namespace hocket
