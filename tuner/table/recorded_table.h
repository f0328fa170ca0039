#pragma once

// A sweep that was recorded (docs/formats/table.md): one column is the objective, the others are
// parameters, each row is a measurement of one setting. Immutable; thread-safe.

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
  /// Columns that are no parameters: other things that were measured.
  std::vector<std::string> ignored_columns = {};
  /// "NAME=VALUE,…"; columns that are not named have the middle of their values.
  std::string default_setting = {};
};

class RecordedTable {
 public:
  static constexpr std::size_t kMaxColumns = 64;
  static constexpr std::size_t kMaxRows = 2'000'000;
  /// Of columns that are further objectives, and so no parameters.
  static constexpr std::string_view kObjectivePrefix = "objective:";

  /// Of one setting, in the order of the rows; nothing stands for a failed trial.
  using Measurements = std::vector<std::optional<double>>;

  /// invalid_argument names the line and the column.
  static Result<RecordedTable> parse(std::string_view text, const RecordedTableOptions& options);

  /// All combinations of the columns' values, recorded or not; the default is recorded. Where a
  /// column's name is not fit for a parameter, the parameter is named alike.
  const Space& space() const { return space_; }

  /// The columns' names, in the order of space().parameters().
  const std::vector<std::string>& columns() const { return columns_; }

  std::size_t size() const { return settings_.size(); }

  /// Whether every point of the space was recorded.
  bool is_complete() const { return settings_.size() == space_.size(); }

  /// Null when the setting was not recorded. Requires params inside the space.
  const Measurements* find(const Params& params) const;

  /// The recorded setting closest to `params` in the unit cube (a choice is equal or one apart)
  /// among those that `accepts`; the first in the space's order of several. Nothing when none is
  /// accepted.
  std::optional<Params> nearest(const Params& params,
                                const std::function<bool(const Params&)>& accepts) const;

  /// Each setting once, in the space's order.
  void for_each(const std::function<void(const Params&, const Measurements&)>& visit) const;

 private:
  /// The index of each parameter's value.
  using Setting = std::vector<std::uint32_t>;
  using Settings = std::map<Setting, Measurements>;

  RecordedTable(Space space, std::vector<std::string> columns, Settings settings)
      : space_(std::move(space)), columns_(std::move(columns)), settings_(std::move(settings)) {}

  Params params_of(const Setting& setting) const;
  Setting setting_of(const Params& params) const;
  /// The square of it.
  double distance(const Setting& a, const Setting& b) const;

  Space space_;
  std::vector<std::string> columns_;
  Settings settings_;
};

/// Of the values among `measurements`; nothing when all failed.
std::optional<double> mean_value(const RecordedTable::Measurements& measurements);

}  // namespace hocket
