#pragma once

// A recorded table of measurements (docs/formats/table.md): one column is the objective, the others
// are parameters, each row is a measurement of one setting. Immutable; thread-safe.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tuner/space/params.h"
#include "tuner/space/space.h"

namespace hocket {

struct RecordedTableOptions {
  std::string objective_column = {};
  /// Columns that are not parameters, such as other metrics.
  std::vector<std::string> ignored_columns = {};
  /// "NAME=VALUE,…"; columns that are not named take the middle of their values.
  std::string default_setting = {};
};

class RecordedTable {
 public:
  static constexpr std::size_t kMaxColumns = 64;
  static constexpr std::size_t kMaxRows = 2'000'000;
  /// Prefix of columns that hold further objectives and are therefore not parameters.
  static constexpr std::string_view kObjectivePrefix = "objective:";
  /// Prefix of columns that say more of a trial, such as its times, and are not parameters either.
  static constexpr std::string_view kTrialPrefix = "trial:";

  /// Measurements of one setting, in row order; nothing marks a failed trial.
  using Measurements = std::vector<std::optional<double>>;

  /// Parses a table. invalid_argument names the line and the column.
  static Result<RecordedTable> parse(std::string_view text, const RecordedTableOptions& options);

  /// Returns the space of all combinations of the columns' values, recorded or not; its default is
  /// a recorded setting. A column name that is not a valid parameter name is changed to a similar
  /// one.
  const Space& space() const { return space_; }

  /// Returns the column names, in the order of space().parameters().
  const std::vector<std::string>& columns() const { return columns_; }

  std::size_t size() const { return settings_.size(); }

  /// Returns null if the setting was not recorded. Requires params inside the space.
  const Measurements* find(const Params& params) const;

  /// Returns the recorded setting closest to `params` in the unit cube (unequal choices are at
  /// distance one) among those that `accepts`; on a tie the first in the space's order. Returns
  /// nothing if none is accepted.
  std::optional<Params> nearest(const Params& params,
                                const std::function<bool(const Params&)>& accepts) const;

  /// Calls `visit` once per setting, in the space's order.
  void for_each(const std::function<void(const Params&, const Measurements&)>& visit) const;

 private:
  /// Index of each parameter's value.
  using Setting = std::vector<std::uint32_t>;
  using Settings = std::map<Setting, Measurements>;

  RecordedTable(Space space, std::vector<std::string> columns, Settings settings)
      : space_(std::move(space)), columns_(std::move(columns)), settings_(std::move(settings)) {}

  Params params_of(const Setting& setting) const;
  Setting setting_of(const Params& params) const;
  /// Returns the squared distance.
  double distance(const Setting& a, const Setting& b) const;

  Space space_;
  std::vector<std::string> columns_;
  Settings settings_;
};

/// Returns the mean of the values among `measurements`; nothing if all failed.
std::optional<double> mean_value(const RecordedTable::Measurements& measurements);

}  // namespace hocket
