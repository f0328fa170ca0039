#include "cli/views/trace_report_view.h"

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "core/base/statistics.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kMostReportCollectives = 8;
constexpr std::size_t kMostReportRanks = 4;
constexpr std::size_t kReportNameLimitBytes = 48;
/// Relative difference from which ranks are told apart.
constexpr double kRanksDiffer = 0.02;

std::string report_time(double ns) {
  return value_text(ns, ObjectiveUnit::nanoseconds);
}

/// A figure of each rank.
struct FigureRow {
  std::string name;
  double RankReport::*value;
  bool needs_computation = false;
};

/// Returns the ranks that have iterations.
std::vector<RankReport> measured_ranks(const TraceReport& report) {
  std::vector<RankReport> ranks;
  for (const RankReport& rank : report.ranks)
    if (rank.iterations > 0) ranks.push_back(rank);
  return ranks;
}

double middle_of(const std::vector<RankReport>& ranks, double RankReport::*value) {
  std::vector<double> values;
  for (const RankReport& rank : ranks) values.push_back(rank.*value);
  return median(std::move(values));
}

std::string rank_cell(const RankReport& rank, double RankReport::*value) {
  return report_time(rank.*value) + " (rank " + std::to_string(rank.rank) + ")";
}

void print_head(std::ostream& out, const TraceReport& report) {
  const auto here = std::ssize(report.ranks);
  out << "traces      " << here << (here == 1 ? " rank" : " ranks");
  if (here != report.job_ranks) out << " of " << report.job_ranks;
  if (!report.source.empty()) out << ", " << printable(report.source, kReportNameLimitBytes);
  out << '\n';
  const auto ranks = measured_ranks(report);
  if (ranks.empty() || report.is_of_whole_trace) {
    out << "iterations  none\n";
    return;
  }
  const auto by_count = [](const RankReport& rank) { return rank.iterations; };
  const auto [low, high] = std::ranges::minmax_element(ranks, {}, by_count);
  out << "iterations  " << low->iterations;
  if (high->iterations != low->iterations) out << " to " << high->iterations;
  if (ranks.size() > 1) out << " on each rank";
  if (high->iterations > 1)
    out << ", ± " << report_time(middle_of(ranks, &RankReport::spread_ns)) << " between them";
  out << '\n';
}

void print_times(std::ostream& out, const TraceReport& report) {
  const auto ranks = measured_ranks(report);
  if (ranks.empty()) return;
  const std::vector<FigureRow> rows = {{"time", &RankReport::iteration_ns},
                                       {"computation", &RankReport::compute_ns},
                                       {"communication", &RankReport::communication_ns},
                                       {"  exposed", &RankReport::exposed_ns, true},
                                       {"copies", &RankReport::copy_ns},
                                       {"  exposed", &RankReport::exposed_copy_ns, true},
                                       {"idle", &RankReport::idle_ns, true},
                                       {"gaps: host is late", &RankReport::gap_host_ns},
                                       {"gaps: waits for other work", &RankReport::gap_event_ns},
                                       {"gaps: between kernels", &RankReport::gap_kernel_ns},
                                       {"gaps: cause not known", &RankReport::gap_unknown_ns}};
  const bool has_several = ranks.size() > 1;
  std::vector<std::string> headings = {
      report.is_of_whole_trace ? "the whole trace" : "an iteration",
      has_several ? "median rank" : "time", "share"};
  if (has_several) headings.insert(headings.end(), {"lowest", "highest"});
  TextTable table(std::move(headings));
  const double whole = middle_of(ranks, &RankReport::iteration_ns);
  for (const FigureRow& row : rows) {
    if (row.needs_computation && !report.has_computation) continue;
    const double value = middle_of(ranks, row.value);
    const auto [low, high] = std::ranges::minmax_element(ranks, {}, row.value);
    const double highest = (*high).*row.value, lowest = (*low).*row.value;
    if (highest == 0) continue;
    std::vector<std::string> cells = {row.name, report_time(value),
                                      whole > 0 ? percent_text(value / whole) : "-"};
    if (has_several) {
      const bool differ = highest - lowest > kRanksDiffer * whole;
      cells.push_back(differ ? rank_cell(*low, row.value) : "");
      cells.push_back(differ ? rank_cell(*high, row.value) : "");
    }
    table.add(std::move(cells));
  }
  out << '\n';
  table.print(out);
}

/// Returns for example "96" or "1.5".
std::string count_text(double count) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", count);
  return text;
}

void print_report_collectives(std::ostream& out, const TraceReport& report) {
  if (report.collectives.empty()) return;
  const auto has_group = [](const CollectiveReport& each) { return !each.group.empty(); };
  const bool groups = std::ranges::any_of(report.collectives, has_group);
  std::vector<std::string> headings = {"collective", "kind"};
  if (groups) headings.push_back("group");
  const std::string times = report.is_of_whole_trace ? "in all" : "an iteration";
  headings.insert(headings.end(), {times, "bytes", "time", "exposed"});
  TextTable table(std::move(headings));
  const auto count = std::min(kMostReportCollectives, report.collectives.size());
  for (std::size_t i = 0; i < count; ++i) {
    const CollectiveReport& each = report.collectives[i];
    std::vector<std::string> cells = {printable(each.name, kReportNameLimitBytes),
                                      each.kind ? std::string(to_string(*each.kind)) : "-"};
    if (groups) cells.push_back(printable(each.group, kReportNameLimitBytes));
    cells.insert(cells.end(), {count_text(each.per_iteration),
                               each.bytes > 0 ? value_text(each.bytes, ObjectiveUnit::bytes) : "-",
                               report_time(each.busy_ns),
                               report.has_computation ? report_time(each.exposed_ns) : "-"});
    table.add(std::move(cells));
  }
  out << '\n';
  table.print(out);
  if (const auto more = report.collectives.size() - count; more > 0)
    out << "and " << more << " more; --json has all of them\n";
}

void print_waits(std::ostream& out, const TraceReport& report) {
  if (!report.stragglers || report.stragglers->found.ranks.empty()) return;
  const Stragglers& found = report.stragglers->found;
  if (found.verdict == StragglerVerdict::too_few || found.blocked_ns <= 0) return;
  std::vector<StragglerRank> ranks = found.ranks;
  std::ranges::stable_sort(ranks, std::greater<>(), &StragglerRank::kept_waiting_ns);
  if (ranks.size() > kMostReportRanks) ranks.resize(kMostReportRanks);
  out << "\nranks wait " << report_time(found.blocked_ns)
      << " of an iteration for later ones, in the mean\n";
  TextTable table({"awaited", "last in", "others wait", "late by", "cause"});
  for (const StragglerRank& rank : ranks) {
    if (rank.kept_waiting_ns <= 0) continue;
    const bool is_blamed = rank.pattern != StragglerPattern::none;
    table.add({"rank " + std::to_string(rank.rank), percent_text(rank.last_share),
               report_time(rank.kept_waiting_ns), report_time(std::max(rank.late_median_ns, 0.0)),
               is_blamed ? std::string(to_string(rank.pattern)) + ", " +
                               std::string(to_string(rank.cause))
                         : "-"});
  }
  table.print(out);
}

}  // namespace

void print_trace_report(std::ostream& out, const TraceReport& report) {
  print_head(out, report);
  print_times(out, report);
  print_report_collectives(out, report);
  print_waits(out, report);
  if (report.advice.empty()) return;
  out << "\nwhat to try\n";
  for (const std::string& advice : report.advice) out << "- " << printable(advice, 1000) << '\n';
}

}  // namespace hocket
