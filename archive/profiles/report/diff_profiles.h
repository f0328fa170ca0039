#pragma once

// Compares two profiles by their iterations. A difference beyond the noise within each may still be
// one between two runs of the same configuration. One thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "archive/profiles/report/diff_collectives.h"
#include "core/base/result.h"
#include "core/trace/rank_trace.h"
#include "store/store.h"

namespace hocket {

/// A time of an iteration, compared over the lowest rank's iterations.
struct TimeDifference {
  std::string name;  ///< "iteration_ns", "compute_ns", "communication_ns", "exposed_ns"
  std::int64_t before_iterations = 0, after_iterations = 0;
  double before_ns = 0, after_ns = 0;  ///< medians
  /// Two-sided p-value of the rank-sum test (core/base/rank_sum.h).
  double p = 1;
  bool is_beyond_noise() const { return p < kDifferenceLevel; }

  static constexpr double kDifferenceLevel = 0.05;
};

struct MetricDifference {
  std::optional<std::int64_t> rank;
  std::string name;
  std::optional<double> before, after;  ///< absent if the profile lacks the metric
};

/// Figures of all records of one kind and name, over all ranks of a profile.
struct TaskFigures {
  std::int64_t records = 0;
  double median_ns = 0;
  double per_iteration_ns = 0;  ///< on one rank

  bool operator==(const TaskFigures&) const = default;
};

struct TaskDifference {
  TraceKind kind = TraceKind::compute;
  std::string name;
  TaskFigures before = {}, after = {};

  double change_ns() const { return after.per_iteration_ns - before.per_iteration_ns; }
};

/// Time of a layer's computations in an iteration on one rank.
struct LayerDifference {
  std::string layer;  ///< empty: of the tasks whose names tell none
  double before_ns = 0, after_ns = 0;

  bool operator==(const LayerDifference&) const = default;
};

struct ProfileDifference {
  std::string before, after;          ///< profile names
  std::vector<TimeDifference> times;  ///< empty if a profile has no iterations
  std::vector<MetricDifference> metrics;
  std::vector<LayerDifference> layers;  ///< in the order of their names
  std::vector<TaskDifference> tasks;    ///< sorted by the change per iteration, largest first
  std::vector<CollectiveDifference> collectives;  ///< sorted by the change of exposed time
  std::vector<std::string> notes = {};            ///< messages for people
};

nlohmann::json to_json(const ProfileDifference& difference);

/// Compares two profiles. Without readable traces, tasks and collectives are left out,
/// with a note.
Result<ProfileDifference> diff_profiles(Store& store, const ProfileRow& before,
                                        const ProfileRow& after);

std::vector<TimeDifference> diff_iterations(std::span<const ProfileIteration> before,
                                            std::span<const ProfileIteration> after);

/// Returns the layer that a task's name tells. Names of tasks of a graph end with their region
/// (job/graph/graph_tasks.h), of which it is the first word: "matmul with up.weight in block2.mlp"
/// is of "block2". Otherwise it is what is before the first ".", if that is a word of letters,
/// digits, "_", "-" and blanks, with the number after the point if there is one ("block.2.mlp.dw"
/// is of "block.2"). Empty if there is neither, as for most kernels.
std::string_view layer_of(std::string_view task);

/// Sums the computations among `tasks` by layer. Numbers in names are ordered as numbers.
std::vector<LayerDifference> diff_layers(std::span<const TaskDifference> tasks);

/// Compares tasks by their records inside the windows of iterations.
std::vector<TaskDifference> diff_tasks(std::span<const RankTrace> before,
                                       std::span<const RankTrace> after);

}  // namespace hocket
