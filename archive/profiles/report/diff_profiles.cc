#include "archive/profiles/report/diff_profiles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "archive/profiles/load_profile.h"
#include "core/base/rank_sum.h"
#include "core/base/statistics.h"
#include "profiler/formats/category.h"
#include "profiler/metrics/iteration_windows.h"

namespace hocket {
namespace {

constexpr std::array<std::pair<std::string_view, std::int64_t ProfileIteration::*>, 4> kTimes{{
    {"iteration_ns", &ProfileIteration::wall_ns},
    {"compute_ns", &ProfileIteration::compute_ns},
    {"communication_ns", &ProfileIteration::communication_ns},
    {"exposed_ns", &ProfileIteration::exposed_ns},
}};

/// Returns one value for each iteration of the lowest rank.
std::vector<double> values_of(std::span<const ProfileIteration> iterations,
                              std::int64_t ProfileIteration::*value) {
  std::vector<double> values;
  if (iterations.empty()) return values;
  const auto lowest = std::ranges::min_element(iterations, {}, &ProfileIteration::rank)->rank;
  for (const ProfileIteration& each : iterations) {
    if (each.rank == lowest) values.push_back(static_cast<double>(each.*value));
  }
  return values;
}

using TaskKey = std::pair<TraceKind, std::string>;

std::map<TaskKey, TaskFigures> figures_of(std::span<const RankTrace> traces) {
  std::map<TaskKey, std::vector<double>> durations;
  double iterations = 0;  // sum over ranks
  for (const RankTrace& trace : traces) {
    const auto windows = windows_of(trace.step_starts, 0);
    iterations += static_cast<double>(windows.size());
    const auto is_before = [](std::int64_t ns, const StepWindow& w) {
      return ns < w.interval.end_ns;
    };
    for (const TraceRecord& record : trace.records) {
      const auto window =
          std::upper_bound(windows.begin(), windows.end(), record.begin_ns, is_before);
      const bool is_inside =
          window != windows.end() && window->interval.begin_ns <= record.begin_ns;
      if (!is_inside || !is_plausible(record) || record.name >= trace.names.size()) continue;
      durations[{record.kind, trace.names[record.name]}].push_back(
          static_cast<double>(record.end_ns - record.begin_ns));
    }
  }
  std::map<TaskKey, TaskFigures> figures;
  for (auto& [key, values] : durations) {
    double sum = 0;
    for (const double value : values) sum += value;
    const auto records = std::ssize(values);
    figures[key] = {records, median(std::move(values)), sum / iterations};
  }
  return figures;
}

std::vector<MetricDifference> diff_metrics(std::span<const ProfileMetric> before,
                                           std::span<const ProfileMetric> after) {
  std::map<std::pair<std::optional<std::int64_t>, std::string>, MetricDifference> all;
  const auto entry = [&](const ProfileMetric& metric) -> MetricDifference& {
    auto& difference = all[{metric.rank, metric.name}];
    difference.rank = metric.rank;
    difference.name = metric.name;
    return difference;
  };
  for (const ProfileMetric& metric : before) entry(metric).before = metric.value;
  for (const ProfileMetric& metric : after) entry(metric).after = metric.value;
  std::vector<MetricDifference> differences;
  for (auto& [key, difference] : all) differences.push_back(std::move(difference));
  return differences;
}

/// Loads one of the two profiles; without traces, with a note, if they cannot be read.
LoadedProfile loaded_of(const ProfileRow& row, std::vector<std::string>& notes) {
  auto loaded = load_profile(row);
  if (!loaded) {
    notes.push_back(loaded.error().message);
    return {};
  }
  for (const std::string& note : loaded->notes) notes.push_back(row.name + ": " + note);
  return std::move(*loaded);
}

/// Orders "block2" before "block10".
struct NaturalOrder {
  static bool is_digit(char c) { return '0' <= c && c <= '9'; }

  bool operator()(std::string_view a, std::string_view b) const {
    while (!a.empty() && !b.empty()) {
      if (!is_digit(a.front()) || !is_digit(b.front())) {
        if (a.front() != b.front()) return a.front() < b.front();
        a.remove_prefix(1);
        b.remove_prefix(1);
        continue;
      }
      const auto take = [](std::string_view& text) {
        const auto end = std::ranges::find_if_not(text, is_digit);
        const std::string_view digits(text.begin(), end);
        text.remove_prefix(digits.size());
        return digits;
      };
      const auto x = take(a), y = take(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    }
    return a.size() < b.size();
  }
};

nlohmann::json figures_json(const TaskFigures& figures) {
  return {{"records", figures.records},
          {"median_ns", figures.median_ns},
          {"per_iteration_ns", figures.per_iteration_ns}};
}

nlohmann::json time_json(const TimeDifference& time) {
  return {{"name", time.name},
          {"before_ns", time.before_ns},
          {"after_ns", time.after_ns},
          {"before_iterations", time.before_iterations},
          {"after_iterations", time.after_iterations},
          {"p", time.p},
          {"beyond_noise", time.is_beyond_noise()}};
}

nlohmann::json metric_json(const MetricDifference& metric) {
  nlohmann::json document = {{"name", metric.name}, {"before", nullptr}, {"after", nullptr}};
  if (metric.rank) document["rank"] = *metric.rank;
  if (metric.before) document["before"] = *metric.before;
  if (metric.after) document["after"] = *metric.after;
  return document;
}

}  // namespace

std::vector<TimeDifference> diff_iterations(std::span<const ProfileIteration> before,
                                            std::span<const ProfileIteration> after) {
  std::vector<TimeDifference> times;
  if (before.empty() || after.empty()) return times;
  for (const auto& [name, value] : kTimes) {
    const auto a = values_of(before, value), b = values_of(after, value);
    const double p = 2 * std::min(rank_sum_p(a, b), rank_sum_p(b, a));
    times.push_back({.name = std::string(name),
                     .before_iterations = std::ssize(a),
                     .after_iterations = std::ssize(b),
                     .before_ns = median(a),
                     .after_ns = median(b),
                     .p = std::min(p, 1.0)});
  }
  return times;
}

std::vector<TaskDifference> diff_tasks(std::span<const RankTrace> before,
                                       std::span<const RankTrace> after) {
  const auto figures_before = figures_of(before), figures_after = figures_of(after);
  std::map<TaskKey, TaskDifference> all;
  for (const auto& [key, figures] : figures_before) all[key].before = figures;
  for (const auto& [key, figures] : figures_after) all[key].after = figures;
  std::vector<TaskDifference> differences;
  for (auto& [key, difference] : all) {
    difference.kind = key.first;
    difference.name = key.second;
    differences.push_back(std::move(difference));
  }
  std::ranges::stable_sort(differences, std::greater<>(), [](const TaskDifference& difference) {
    return std::abs(difference.change_ns());
  });
  return differences;
}

std::string_view layer_of(std::string_view task) {
  constexpr std::string_view kIn = " in ";
  if (const auto in = task.rfind(kIn); in != std::string_view::npos) {
    const std::string_view region = task.substr(in + kIn.size());
    const bool is_region = std::ranges::all_of(region, [](char c) {
      return c == '.' || c == '_' || c == '-' || c == '/' || NaturalOrder::is_digit(c) ||
             ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z');
    });
    return is_region ? region.substr(0, region.find_first_of("./")) : std::string_view();
  }
  const auto end = task.find('.');
  if (end == std::string_view::npos || end == 0) return {};
  const std::string_view layer = task.substr(0, end);
  const bool is_word = std::ranges::all_of(layer, [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || NaturalOrder::is_digit(c) ||
           c == '_' || c == '-' || c == ' ';
  });
  if (!is_word) return {};
  const std::string_view rest = task.substr(end + 1);
  const std::string_view number = rest.substr(0, rest.find('.'));
  const bool is_numbered = !number.empty() && std::ranges::all_of(number, NaturalOrder::is_digit);
  return is_numbered ? task.substr(0, end + 1 + number.size()) : layer;
}

std::vector<LayerDifference> diff_layers(std::span<const TaskDifference> tasks) {
  std::map<std::string, LayerDifference, NaturalOrder> all;
  for (const TaskDifference& task : tasks) {
    if (task.kind != TraceKind::compute) continue;
    const std::string layer(layer_of(task.name));
    LayerDifference& difference = all[layer];
    difference.layer = layer;
    difference.before_ns += task.before.per_iteration_ns;
    difference.after_ns += task.after.per_iteration_ns;
  }
  std::vector<LayerDifference> differences;
  for (auto& [layer, difference] : all) differences.push_back(std::move(difference));
  return differences;
}

Result<ProfileDifference> diff_profiles(Store& store, const ProfileRow& before,
                                        const ProfileRow& after) {
  const auto iterations_before = store.profile_iterations(before.id);
  HOCKET_TRY(iterations_before);
  const auto iterations_after = store.profile_iterations(after.id);
  HOCKET_TRY(iterations_after);
  const auto metrics_before = store.profile_metrics(before.id);
  HOCKET_TRY(metrics_before);
  const auto metrics_after = store.profile_metrics(after.id);
  HOCKET_TRY(metrics_after);
  ProfileDifference difference{.before = before.name,
                               .after = after.name,
                               .times = diff_iterations(*iterations_before, *iterations_after),
                               .metrics = diff_metrics(*metrics_before, *metrics_after),
                               .layers = {},
                               .tasks = {},
                               .collectives = {}};
  const LoadedProfile loaded_before = loaded_of(before, difference.notes);
  const LoadedProfile loaded_after = loaded_of(after, difference.notes);
  if (!loaded_before.traces.empty() && !loaded_after.traces.empty()) {
    difference.tasks = diff_tasks(loaded_before.traces, loaded_after.traces);
    difference.layers = diff_layers(difference.tasks);
    difference.collectives = diff_collectives({loaded_before.traces, loaded_before.fits},
                                              {loaded_after.traces, loaded_after.fits});
  } else {
    difference.notes.push_back("tasks are not compared: a profile has no trace");
  }
  return difference;
}

nlohmann::json to_json(const ProfileDifference& difference) {
  auto times = nlohmann::json::array(), metrics = times, tasks = times, layers = times,
       collectives = times;
  for (const auto& [layer, before_ns, after_ns] : difference.layers)
    layers.push_back({{"layer", layer}, {"before_ns", before_ns}, {"after_ns", after_ns}});
  for (const auto& time : difference.times) times.push_back(time_json(time));
  for (const auto& metric : difference.metrics) metrics.push_back(metric_json(metric));
  for (const auto& task : difference.tasks) {
    tasks.push_back({{"kind", category_of(task.kind)},
                     {"name", task.name},
                     {"before", figures_json(task.before)},
                     {"after", figures_json(task.after)},
                     {"change_ns", task.change_ns()}});
  }
  for (const CollectiveDifference& each : difference.collectives)
    collectives.push_back(to_json(each));
  return {{"before", difference.before},
          {"after", difference.after},
          {"times", std::move(times)},
          {"metrics", std::move(metrics)},
          {"tasks", std::move(tasks)},
          {"layers", std::move(layers)},
          {"collectives", std::move(collectives)},
          {"notes", difference.notes}};
}

}  // namespace hocket
