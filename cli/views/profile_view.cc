#include "cli/views/profile_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <utility>

#include "archive/profiles/load_profile.h"
#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "core/base/json_members.h"
#include "core/base/statistics.h"
#include "core/base/text.h"
#include "core/description/step_description.h"
#include "profiler/formats/category.h"
#include "profiler/metrics/idle_lanes.h"
#include "profiler/metrics/profile_quality.h"

namespace hocket {
namespace {

constexpr std::size_t kProfileViewNameLimitBytes = 60;
constexpr std::size_t kNoteLimitBytes = 1000;
/// Maximum number of ranks with a column each.
constexpr std::size_t kMostRankColumns = 4;
/// Ranks without a trace that have a line each, and notes of one kind.
constexpr std::size_t kMostMissingRanks = 4;
constexpr std::size_t kMostNotesOfAKind = 2;
/// Change from which on a factor is easier to read than a percentage.
constexpr double kLeastFactor = 10;

std::string time(double ns) {
  return value_text(ns, ObjectiveUnit::nanoseconds);
}

std::string time(const std::optional<double>& ns) {
  return ns ? time(*ns) : "-";
}

/// Returns the note with each number as one #: notes of one kind are equal then.
std::string kind_of_note(const std::string& note) {
  std::string kind;
  for (const char c : note) {
    const bool is_digit = c >= '0' && c <= '9';
    if (is_digit && !kind.empty() && kind.back() == '#') continue;
    kind += is_digit ? '#' : c;
  }
  return kind;
}

bool is_without_records(const ProfileRank& rank) {
  return rank.trace_path.empty() && rank.records == 0;
}

std::string bytes_text(std::int64_t bytes) {
  return value_text(static_cast<double>(bytes), ObjectiveUnit::bytes);
}

/// Returns for example "+12.3 %", or "× 12.6" from a tenfold on; "-" if `before` is 0, or a sign
/// changes, of which no share says anything.
std::string change_text(double before, double after) {
  if (before == after) return "0 %";
  if (before == 0 || before * after < 0) return "-";
  char text[32];
  if (after / before >= kLeastFactor) {
    std::snprintf(text, sizeof text, "× %.4g", after / before);
    return text;
  }
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * (after - before) / std::abs(before));
  return text;
}

std::string signed_time(double ns) {
  if (ns == 0) return time(0);
  return (ns < 0 ? "-" : "+") + time(std::abs(ns));
}

/// Returns for example "2 of 4 traces, 1.2 MiB".
std::string traces_text(const ProfileSummary& profile) {
  const auto ranks = std::ssize(profile.row.ranks);
  std::string text = profile.traces_there == ranks
                         ? std::to_string(ranks)
                         : std::to_string(profile.traces_there) + " of " + std::to_string(ranks);
  return text + ", " + bytes_text(profile.trace_bytes);
}

/// Returns for example "exchange, within 12 us".
std::string clock_text(const ProfileRank& rank) {
  const auto fit = clock_fit_from_json(rank.clock_fit);
  if (!fit || fit->method == "none") return "not compared";
  if (fit->method == "own") return "the reference";
  return fit->method + ", within " + time(fit->residual_ns);
}

std::string overhead_text(const nlohmann::json& overhead) {
  const auto number = [&](const char* name) {
    const auto found = overhead.find(name);
    return found != overhead.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  return percent_text(number("share")) + " ± " + percent_text(number("share_margin")) +
         " (an iteration takes " + time(number("profiled_ns")) + " profiled, " +
         time(number("plain_ns")) + " not)";
}

/// Returns "good", or what makes the profile a worse base for predictions.
std::string quality_text(const nlohmann::json& document) {
  const StepQuality quality = step_quality_from_json(document);
  if (quality.reason.empty()) return "good";
  char factor[32];
  std::snprintf(factor, sizeof factor, "%.1f", quality.uncertainty);
  return std::string(quality.uncertainty >= kPoorUncertainty ? "poor" : "fair") +
         ", predictions from it are " + factor + " times as uncertain: " + quality.reason;
}

/// Returns for example "kept, 2 notes".
std::string remarks_text(const ProfileRow& row) {
  const std::size_t notes = notes_of(row).size();
  std::string text = row.kept ? "kept" : "";
  if (notes > 0) {
    text += (text.empty() ? "" : ", ") + std::to_string(notes) + (notes == 1 ? " note" : " notes");
  }
  return text;
}

using TextCells = std::vector<std::string>;

/// Values of a rank, by name.
using ByName = std::map<std::string, double>;

TextCells rank_cells(const std::map<std::int64_t, ByName>& ranks, const std::string& name) {
  std::vector<double> values;
  TextCells cells;
  for (const auto& [rank, figures] : ranks) {
    const auto figure = figures.find(name);
    cells.push_back(figure == figures.end() ? "-" : figure_text(name, figure->second));
    if (figure != figures.end()) values.push_back(figure->second);
  }
  if (ranks.size() <= kMostRankColumns) return cells;
  if (values.empty()) return {"-", "-", "-"};
  const auto [low, high] = std::ranges::minmax_element(values);
  return {figure_text(name, *low), figure_text(name, median(values)), figure_text(name, *high)};
}

TextCells headings(const std::map<std::int64_t, ByName>& ranks) {
  TextCells headings{"figure", "job"};
  for (const auto& [rank, figures] : ranks) headings.push_back("rank " + std::to_string(rank));
  if (ranks.size() <= kMostRankColumns) return headings;
  return {"figure", "job", "lowest rank's", "median", "largest"};
}

/// Points to the verb that says more where a rank's computation takes longer than the others'.
void print_slow_rank(std::ostream& out, const std::string& profile, const ByName& job,
                     const std::map<std::int64_t, ByName>& ranks) {
  constexpr double kWorthSaying = 0.02;  // share of an iteration
  const auto longer = job.find("slowest_rank_ns"), which = job.find("slowest_rank");
  if (longer == job.end() || which == job.end() || ranks.empty()) return;
  const auto& first = ranks.begin()->second;
  const auto iteration = first.find("iteration_ns");
  if (iteration == first.end() || longer->second < kWorthSaying * iteration->second) return;
  out << "rank " << std::llround(which->second) << " computes " << time(longer->second)
      << " longer than the median rank; `hocket stragglers " << profile
      << "` says whether the others wait for it\n";
}

void print_times(std::ostream& out, const ProfileDifference& difference) {
  if (difference.times.empty()) {
    out << "no iterations to compare\n";
    return;
  }
  TextTable table({"", difference.before, difference.after, "change", ""});
  for (const TimeDifference& each : difference.times) {
    char verdict[64];
    std::snprintf(verdict, sizeof verdict, "%s the noise (p = %.2g)",
                  each.is_beyond_noise() ? "beyond" : "within", each.p);
    table.add({each.name, time(each.before_ns), time(each.after_ns),
               change_text(each.before_ns, each.after_ns), verdict});
  }
  table.print(out);
  out << "over " << difference.times.front().before_iterations << " and "
      << difference.times.front().after_iterations << " iterations\n";
}

void print_metric_changes(std::ostream& out, const ProfileDifference& difference) {
  TextTable table({"figure", "rank", difference.before, difference.after, "change"});
  std::size_t rows = 0;
  for (const MetricDifference& each : difference.metrics) {
    if (each.before == each.after) continue;
    const auto text = [&](const std::optional<double>& value) {
      return value ? figure_text(each.name, *value) : "-";
    };
    table.add({each.name, each.rank ? std::to_string(*each.rank) : "", text(each.before),
               text(each.after),
               each.before && each.after ? change_text(*each.before, *each.after) : "-"});
    ++rows;
  }
  if (rows == 0) return;
  out << '\n';
  table.print(out);
}

void print_task_changes(std::ostream& out, const ProfileDifference& difference, std::size_t most) {
  if (difference.tasks.empty() || most == 0) return;
  TextTable table({"task", "kind", difference.before, difference.after, "of an iteration"});
  for (std::size_t i = 0; i < std::min(most, difference.tasks.size()); ++i) {
    const TaskDifference& each = difference.tasks[i];
    const auto text = [](const TaskFigures& figures) {
      return figures.records == 0 ? "-" : time(figures.median_ns);
    };
    table.add({printable(each.name, kProfileViewNameLimitBytes),
               std::string(category_of(each.kind)), text(each.before), text(each.after),
               signed_time(each.change_ns())});
  }
  out << '\n';
  table.print(out);
  if (difference.tasks.size() > most) {
    out << difference.tasks.size() - most << " further tasks changed less; --json has them all\n";
  }
}

/// Returns for example "1.2 ms → 0.9 ms", "1.2 ms" if both are equal, "-" if neither is known.
std::string before_after(const std::string& before, const std::string& after) {
  return before == after ? before : before + " → " + after;
}

void print_layer_changes(std::ostream& out, const ProfileDifference& difference, std::size_t most) {
  std::vector<const LayerDifference*> layers;
  for (const LayerDifference& each : difference.layers)
    if (!each.layer.empty()) layers.push_back(&each);
  if (layers.empty() || most == 0) return;
  const std::size_t shown = std::min(most, layers.size());
  TextTable table({"layer, computation", difference.before, difference.after, "of an iteration"});
  for (std::size_t i = 0; i < shown; ++i) {
    const LayerDifference& each = *layers[i];
    table.add({printable(each.layer, kProfileViewNameLimitBytes), time(each.before_ns),
               time(each.after_ns), signed_time(each.after_ns - each.before_ns)});
  }
  out << '\n';
  table.print(out);
  if (layers.size() > shown)
    out << layers.size() - shown << " further layers; --json has them all\n";
}

TextCells collective_cells(const CollectiveDifference& each) {
  const auto times = [&](std::optional<double> CollectiveFigure::*figure) {
    return before_after(time(each.before.*figure), time(each.after.*figure));
  };
  const auto bandwidth = [](const CollectiveFigure& figure) {
    return figure.bus_bandwidth ? figure_text("bus_bandwidth", *figure.bus_bandwidth) : "-";
  };
  const auto count = [](const CollectiveFigure& figure) {
    return value_text(figure.per_iteration, ObjectiveUnit::none);
  };
  std::string name = printable(each.name, kProfileViewNameLimitBytes);
  if (each.name_after != each.name)
    name = before_after(name, printable(each.name_after, kProfileViewNameLimitBytes));
  if (!each.group.empty()) name += " of " + printable(each.group, kProfileViewNameLimitBytes);
  return {name,
          each.kind ? std::string(to_string(*each.kind)) : "-",
          each.bytes ? bytes_text(*each.bytes) : "various",
          before_after(count(each.before), count(each.after)),
          before_after(time(each.before.exposed_ns), time(each.after.exposed_ns)),
          times(&CollectiveFigure::transfer_ns),
          times(&CollectiveFigure::wait_ns),
          times(&CollectiveFigure::arrival_skew_ns),
          before_after(bandwidth(each.before), bandwidth(each.after))};
}

void print_collective_changes(std::ostream& out, const ProfileDifference& difference,
                              std::size_t most) {
  if (difference.collectives.empty() || most == 0) return;
  const std::size_t shown = std::min(most, difference.collectives.size());
  TextTable table({"collective", "kind", "bytes", "an iteration", "exposed", "transfer", "wait",
                   "skew", "bus bandwidth"});
  for (std::size_t i = 0; i < shown; ++i) table.add(collective_cells(difference.collectives[i]));
  out << '\n';
  table.print(out);
  if (difference.collectives.size() > shown) {
    out << difference.collectives.size() - shown
        << " further collectives changed less; --json has them all\n";
  }
}

/// Prints for each iteration how long the lanes of a placed step were idle.
void print_idle_lanes(std::ostream& out, const nlohmann::json& iterations) {
  constexpr std::size_t kMostIterations = 20;
  if (!iterations.is_array() || iterations.empty()) return;
  TextTable table({"idle", "device", "host", "copies to the device", "copies to the host"});
  std::array<std::vector<double>, kTaskLanes> shares;
  for (const auto& iteration : iterations)
    for (std::size_t lane = 0; lane < kTaskLanes; ++lane)
      shares[lane].push_back(number_member(iteration, kIdleFigures[lane]));
  TextCells medians{"median"};
  for (const auto& of_lane : shares) medians.push_back(percent_text(median(of_lane)));
  table.add(std::move(medians));
  for (std::size_t i = 0; i < std::min(iterations.size(), kMostIterations); ++i) {
    TextCells cells{"step " + std::to_string(integer_member(iterations[i], "step"))};
    for (const auto& of_lane : shares) cells.push_back(percent_text(of_lane[i]));
    table.add(std::move(cells));
  }
  table.print(out);
  if (iterations.size() > kMostIterations)
    out << iterations.size() - kMostIterations << " further iterations; --json has more\n";
  out << '\n';
}

}  // namespace

std::string profile_config_text(const nlohmann::json& config) {
  std::string text;
  for (const auto& [name, value] : config.items()) {
    if (name == "format" || name == "version") continue;
    text += (text.empty() ? "" : " ") + name + "=" +
            (value.is_string() ? value.get<std::string>() : json_text(value));
  }
  return text.empty() ? "unknown" : printable(text, kNoteLimitBytes);
}

std::string figure_text(std::string_view name, double value) {
  if (name.ends_with("_ns")) return time(value);
  if (name.ends_with("bandwidth")) {
    char text[48];
    std::snprintf(text, sizeof text, "%.4g GB/s", value / 1e9);
    return text;
  }
  const bool is_share =
      name.ends_with("share") || name.ends_with("overlap") || name.ends_with("efficiency");
  return is_share ? percent_text(value) : value_text(value, ObjectiveUnit::none);
}

void print_profiles(std::ostream& out, std::span<const ProfileSummary> profiles) {
  TextTable table({"profile", "made", "source", "workload", "iterations", "iteration", "exposed",
                   "traces", ""});
  for (const ProfileSummary& profile : profiles) {
    table.add({profile.row.name, time_text(profile.row.created_at_ns), profile.row.source,
               printable(profile.workload, kProfileViewNameLimitBytes),
               std::to_string(profile.iterations), time(profile.iteration_ns),
               profile.exposed_share ? percent_text(*profile.exposed_share) : "-",
               traces_text(profile), remarks_text(profile.row)});
  }
  table.print(out);
}

void print_kinds_of_notes(std::ostream& out, std::span<const std::string> notes) {
  std::map<std::string, std::size_t> count_of_kind, shown_of_kind;
  for (const std::string& note : notes) ++count_of_kind[kind_of_note(note)];
  for (const std::string& note : notes) {
    const std::string kind = kind_of_note(note);
    const std::size_t count = count_of_kind[kind];
    const bool has_few = count <= kMostNotesOfAKind + 1;
    const std::size_t shown = shown_of_kind[kind]++;
    if (has_few || shown < kMostNotesOfAKind) print_notes(out, {&note, 1});
    if (has_few || shown != kMostNotesOfAKind) continue;
    out << "note: " << count - kMostNotesOfAKind << " more like the last one; --all prints them\n";
  }
}

void print_profile(std::ostream& out, const ProfileSummary& profile, ShownDetail detail) {
  const ProfileRow& row = profile.row;
  TextTable table({"profile", row.name});
  table.add({"made", time_text(row.created_at_ns) + (row.kept ? ", kept" : "")});
  table.add({"source", printable(row.source, kProfileViewNameLimitBytes)});
  if (!profile.workload.empty()) {
    table.add({"workload", printable(profile.workload, kProfileViewNameLimitBytes)});
  }
  if (profile.topology) table.add({"topology", place_text(*profile.topology)});
  table.add({"configuration", profile_config_text(row.config)});
  table.add({"iterations", std::to_string(profile.iterations)});
  table.add({"iteration", time(profile.iteration_ns)});
  table.add({"structure", profile.tasks == 0 ? "unknown: nothing can be predicted"
                                             : std::to_string(profile.tasks) + " tasks a step"});
  const auto quality = row.detail.find("quality");
  if (quality != row.detail.end()) table.add({"quality", quality_text(*quality)});
  const auto overhead = row.detail.find("overhead");
  if (overhead != row.detail.end() && overhead->is_object()) {
    table.add({"overhead", overhead_text(*overhead)});
  }
  table.print(out);
  out << '\n';
  print_idle_lanes(out, row.detail.value("idle", nlohmann::json()));
  const auto missing =
      static_cast<std::size_t>(std::ranges::count_if(row.ranks, is_without_records));
  const bool leaves_out = detail == ShownDetail::summary && missing > kMostMissingRanks;
  TextTable ranks({"rank", "host", "records", "lost", "left out", "clock", "trace"});
  for (const ProfileRank& rank : row.ranks) {
    if (leaves_out && is_without_records(rank)) continue;
    ranks.add({std::to_string(rank.rank), printable(rank.host, kProfileViewNameLimitBytes),
               std::to_string(rank.records), std::to_string(rank.dropped),
               std::to_string(rank.quarantined), clock_text(rank),
               rank.trace_path.empty() ? "missing" : printable(rank.trace_path, kNoteLimitBytes)});
  }
  if (!leaves_out || missing < row.ranks.size()) ranks.print(out);
  if (leaves_out) {
    out << missing << " of " << row.ranks.size()
        << " ranks have no trace, and the notes say which and why; --all has a line for each\n";
  }
  if (detail == ShownDetail::all) {
    print_notes(out, notes_of(row));
  } else {
    print_kinds_of_notes(out, notes_of(row));
  }
}

void print_figures(std::ostream& out, const ProfileFigures& figures) {
  ByName job;
  std::map<std::int64_t, ByName> ranks;
  std::vector<std::string> names;  // in the order of the store
  for (const ProfileMetric& metric : figures.metrics) {
    if (std::ranges::find(names, metric.name) == names.end()) names.push_back(metric.name);
    (metric.rank ? ranks[*metric.rank] : job)[metric.name] = metric.value;
  }
  if (names.empty()) {
    out << "profile " << figures.profile << " has no figures; `hocket profiles show` has the "
        << "reason\n";
    return;
  }
  TextTable table(headings(ranks));
  for (const std::string& name : names) {
    const auto of_job = job.find(name);
    TextCells cells{name, of_job == job.end() ? "" : figure_text(name, of_job->second)};
    const bool is_of_ranks =
        std::ranges::any_of(ranks, [&](const auto& rank) { return rank.second.contains(name); });
    TextCells more = rank_cells(ranks, name);
    if (!is_of_ranks) std::ranges::fill(more, "");
    cells.insert(cells.end(), more.begin(), more.end());
    table.add(std::move(cells));
  }
  table.print(out);
  print_slow_rank(out, figures.profile, job, ranks);
  print_notes(out, figures.notes);
}

void print_difference(std::ostream& out, const ProfileDifference& difference,
                      std::size_t most_tasks) {
  print_times(out, difference);
  print_metric_changes(out, difference);
  print_layer_changes(out, difference, most_tasks);
  print_collective_changes(out, difference, most_tasks);
  print_task_changes(out, difference, most_tasks);
  print_notes(out, difference.notes);
}

void print_pruned(std::ostream& out, std::span<const PruneDecision> decisions, bool is_done) {
  if (decisions.empty()) {
    out << "nothing to remove\n";
    return;
  }
  TextTable table({is_done ? "removed" : "would go", "made", "traces", "because"});
  for (const PruneDecision& each : decisions) {
    table.add({each.profile.name, time_text(each.profile.created_at_ns),
               bytes_text(each.profile.bytes), each.reason});
  }
  table.print(out);
}

}  // namespace hocket
