#pragma once

// What changed from one profile to another. The comparison is of their iterations: a difference
// that is beyond their noise may still be one between two runs of the same configuration.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/trace/rank_trace.h"
#include "store/store.h"

namespace hocket {

/// A time that each iteration has, of the lowest rank.
struct TimeDifference {
  std::string name;  ///< "iteration_ns", "compute_ns", "communication_ns", "exposed_ns"
  std::int64_t before_iterations = 0, after_iterations = 0;
  double before_ns = 0, after_ns = 0;  ///< medians
  /// Two-sided, of the rank-sum test (core/base/rank_sum.h).
  double p = 1;
  bool is_beyond_noise() const { return p < kDifferenceLevel; }

  static constexpr double kDifferenceLevel = 0.05;
};

struct MetricDifference {
  std::optional<std::int64_t> rank;
  std::string name;
  std::optional<double> before, after;  ///< absent: that profile does not have it
};

/// All records of one kind and name, over all ranks of a profile.
struct TaskFigures {
  std::int64_t records = 0;
  double median_ns = 0;
  double per_iteration_ns = 0;  ///< on a rank

  bool operator==(const TaskFigures&) const = default;
};

struct TaskDifference {
  TraceKind kind = TraceKind::compute;
  std::string name;
  TaskFigures before = {}, after = {};

  double change_ns() const { return after.per_iteration_ns - before.per_iteration_ns; }
};

struct ProfileDifference {
  std::string before, after;          ///< names
  std::vector<TimeDifference> times;  ///< none when a profile has no iterations
  std::vector<MetricDifference> metrics;
  std::vector<TaskDifference> tasks;    ///< the largest change of an iteration first
  std::vector<std::string> notes = {};  ///< for people
};

nlohmann::json to_json(const ProfileDifference& difference);

/// Without readable traces the tasks are left out, with a note.
Result<ProfileDifference> diff_profiles(Store& store, const ProfileRow& before,
                                        const ProfileRow& after);

std::vector<TimeDifference> diff_iterations(std::span<const ProfileIteration> before,
                                            std::span<const ProfileIteration> after);

/// Records outside the windows of iterations do not count.
std::vector<TaskDifference> diff_tasks(std::span<const RankTrace> before,
                                       std::span<const RankTrace> after);

}  // namespace hocket
