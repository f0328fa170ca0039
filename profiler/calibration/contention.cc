#include "profiler/calibration/contention.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/statistics.h"

namespace hocket {
namespace {

/// Smallest difference in the time beside communication, as a share of the computation's time.
constexpr double kLeastDifference = 0.3;
constexpr std::int64_t kFewestPairs = 4;
/// Tasks of one name count as the same work if three quarters of them are this close to the line,
/// as a share.
constexpr double kSameWork = 0.1;
/// A slow-down by more than three times is another effect.
constexpr double kMostSlope = 0.75;

/// A computation's time, and the part of it beside communication.
struct Run {
  double beside = 0, duration = 0;
};

using Runs = std::vector<Run>;

double median_duration(const Runs& runs) {
  std::vector<double> durations;
  for (const Run& run : runs) durations.push_back(run.duration);
  return median(std::move(durations));
}

/// Appends the slopes of pairs of `runs`, which are of the same work.
void add_slopes(Runs runs, std::vector<double>& slopes) {
  if (runs.size() < 2) return;
  std::ranges::stable_sort(runs, {}, &Run::beside);
  const double least = kLeastDifference * median_duration(runs);
  const std::size_t half = runs.size() - runs.size() / 2;
  for (std::size_t i = 0; i + half < runs.size(); ++i) {
    const double difference = runs[i + half].beside - runs[i].beside;
    if (difference <= least) continue;
    slopes.push_back((runs[i + half].duration - runs[i].duration) / difference);
  }
}

std::optional<Contention> from_slopes(std::vector<double> slopes, bool is_between_tasks) {
  if (std::ssize(slopes) < kFewestPairs) return std::nullopt;
  Contention contention;
  contention.pairs = std::ssize(slopes);
  contention.is_between_tasks = is_between_tasks;
  const double slope = std::clamp(median(std::move(slopes)), 0.0, kMostSlope);
  contention.slowdown = slope / (1 - slope);
  return contention;
}

/// Returns whether one line explains `runs`: they are then the same work.
bool is_same_work(const Runs& runs, double slope) {
  std::vector<double> alone;
  for (const Run& run : runs) alone.push_back(run.duration - slope * run.beside);
  const double middle = median(alone);
  for (double& each : alone) each = std::abs(each - middle);
  return middle > 0 && quantile(std::move(alone), 0.75) <= kSameWork * middle;
}

}  // namespace

std::optional<Contention> estimate_contention(std::span<const ProfiledStep> steps) {
  if (steps.empty()) return std::nullopt;
  std::vector<double> slopes;
  std::map<std::string_view, Runs> by_name;
  for (std::size_t i = 0; i < steps.front().tasks.size(); ++i) {
    Runs runs;
    for (const ProfiledStep& step : steps) {
      const ProfiledTask& task = step.tasks[i];
      if (task.is_collective || task.duration_ns <= 0) continue;
      runs.push_back({static_cast<double>(task.beside_ns), static_cast<double>(task.duration_ns)});
    }
    Runs& named = by_name[steps.front().tasks[i].name];
    named.insert(named.end(), runs.begin(), runs.end());
    add_slopes(std::move(runs), slopes);
  }
  if (auto found = from_slopes(std::move(slopes), false)) return found;
  slopes.clear();
  for (auto& [name, runs] : by_name) {
    std::vector<double> of_name;
    add_slopes(runs, of_name);
    if (of_name.empty() || !is_same_work(runs, median(of_name))) continue;
    slopes.insert(slopes.end(), of_name.begin(), of_name.end());
  }
  return from_slopes(std::move(slopes), true);
}

}  // namespace hocket
