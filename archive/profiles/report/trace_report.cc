#include "archive/profiles/report/trace_report.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "core/base/statistics.h"
#include "core/base/text.h"
#include "core/trace/impossible_records.h"
#include "profiler/clocks/clock_fit.h"
#include "profiler/metrics/exposed_time.h"
#include "profiler/metrics/iteration_windows.h"
#include "profiler/metrics/metrics.h"

namespace hocket {
namespace {

using CollectiveName = std::tuple<std::string, std::string, std::optional<CollectiveKind>>;

/// Makes one iteration of the whole trace.
void make_whole(RankTrace& trace) {
  if (trace.records.empty()) return;
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
  for (const TraceRecord& record : trace.records) end_ns = std::max(end_ns, record.end_ns);
  trace.step_starts = {{0, trace.records.front().begin_ns}, {1, end_ns}};
}

template <class Value>
double median_of(const std::vector<IterationMetrics>& iterations, Value&& value) {
  std::vector<double> values;
  for (const IterationMetrics& it : iterations) values.push_back(static_cast<double>(value(it)));
  return values.empty() ? 0 : median(std::move(values));
}

double spread_of(const std::vector<IterationMetrics>& iterations) {
  std::vector<double> values;
  for (const IterationMetrics& it : iterations) values.push_back(static_cast<double>(it.wall_ns));
  return values.empty() ? 0 : spread(std::move(values));
}

RankReport rank_report(const RankTrace& trace, const RankMetrics& metrics) {
  const auto& its = metrics.iterations;
  RankReport report{.rank = trace.rank, .host = trace.host, .iterations = std::ssize(its)};
  report.lost = trace.dropped + trace.quarantined;
  report.iteration_ns = median_of(its, [](const auto& it) { return it.wall_ns; });
  report.spread_ns = spread_of(its);
  report.compute_ns = median_of(its, [](const auto& it) { return it.compute_ns; });
  report.communication_ns = median_of(its, [](const auto& it) { return it.communication_ns; });
  report.exposed_ns = median_of(its, [](const auto& it) { return it.exposed_ns; });
  report.copy_ns = median_of(its, [](const auto& it) { return it.copy_ns; });
  report.exposed_copy_ns = median_of(its, [](const auto& it) { return it.other_ns; });
  report.idle_ns = median_of(its, [](const auto& it) { return it.idle_ns; });
  const StreamMetrics* busiest = nullptr;
  for (const StreamMetrics& stream : metrics.streams) {
    if (stream.kind != TraceKind::compute) continue;
    if (busiest == nullptr || stream.busy_ns > busiest->busy_ns) busiest = &stream;
  }
  if (busiest == nullptr || its.empty()) return report;
  const auto each = [&](std::int64_t ns) {
    return static_cast<double>(ns) / static_cast<double>(its.size());
  };
  report.gap_host_ns = each(busiest->gaps.host_ns);
  report.gap_event_ns = each(busiest->gaps.event_ns);
  report.gap_kernel_ns = each(busiest->gaps.kernel_ns);
  report.gap_unknown_ns = each(busiest->gaps.unknown_ns);
  return report;
}

/// Sums over the ranks' iterations, by collective.
class CollectiveSums {
 public:
  void add(const RankTrace& trace) {
    const auto windows = windows_of(trace.step_starts, 0);
    iterations_ += std::ssize(windows);
    if (windows.empty()) return;
    const Coverage inside(time_of(windows));
    for (const TraceRecord& record : trace.records) {
      if (!is_counted(trace, record)) continue;
      const std::int64_t busy = inside.inside_ns({record.begin_ns, record.end_ns});
      const bool begins = inside.inside_ns({record.begin_ns, record.begin_ns + 1}) > 0;
      if (busy == 0 && !begins) continue;
      CollectiveReport& sum = sum_of(trace, record);
      sum.busy_ns += static_cast<double>(busy);
      if (!begins) continue;
      sum.per_iteration += 1;
      sum.bytes += static_cast<double>(record.bytes);
    }
    for (const ExposedSlice& slice : exposed_slices(trace)) {
      const TraceRecord& record = trace.records[slice.record];
      const std::int64_t exposed = inside.inside_ns(slice.interval);
      if (exposed > 0 && is_counted(trace, record))
        sum_of(trace, record).exposed_ns += static_cast<double>(exposed);
    }
  }

  std::vector<CollectiveReport> means() const {
    std::vector<CollectiveReport> reports;
    for (const auto& [name, sum] : sums_) {
      CollectiveReport mean = sum;
      for (double* value : {&mean.per_iteration, &mean.bytes, &mean.busy_ns, &mean.exposed_ns})
        *value /= static_cast<double>(std::max<std::int64_t>(iterations_, 1));
      reports.push_back(std::move(mean));
    }
    std::ranges::stable_sort(reports, std::greater<>(), [](const CollectiveReport& each) {
      return std::pair(each.exposed_ns, each.busy_ns);
    });
    return reports;
  }

 private:
  static bool is_counted(const RankTrace& trace, const TraceRecord& record) {
    return record.kind == TraceKind::communication && is_plausible(record) &&
           record.name < trace.names.size() && record.group < std::ssize(trace.groups) &&
           record.end_ns < std::numeric_limits<std::int64_t>::max();
  }

  CollectiveReport& sum_of(const RankTrace& trace, const TraceRecord& record) {
    const std::string group =
        record.group == kAllRanks ? "" : trace.groups[static_cast<std::size_t>(record.group)].name;
    const std::string& name = trace.names[record.name];
    CollectiveReport& sum = sums_[CollectiveName{name, group, record.collective}];
    sum.name = name;
    sum.group = group;
    sum.kind = record.collective;
    return sum;
  }

  std::map<CollectiveName, CollectiveReport> sums_;
  std::int64_t iterations_ = 0;
};

/// Compares the ranks, if there are several.
std::optional<StragglerReport> compare_ranks(const std::vector<RankTrace>& traces,
                                             const std::vector<ClockFit>& fits,
                                             std::vector<std::string>& notes) {
  if (traces.size() < 2) return std::nullopt;
  LoadedProfile profile;
  profile.traces = traces;
  profile.fits = fits;
  auto found = find_stragglers(profile);
  if (found) return std::move(*found);
  notes.push_back("who waits for whom is not known: " + found.error().message);
  return std::nullopt;
}

/// Withholds what the traces do not say, and notes why in the first note.
void withhold(TraceReport& report, const std::vector<RankTrace>& traces) {
  const auto worst = std::ranges::max_element(traces, {}, doubtful_share);
  if (std::ranges::none_of(traces, has_activity)) {
    report.advice.clear();
    if (report.notes.empty()) {
      report.notes.push_back(
          "nothing in it is known as computation, communication or a copy: there are no figures");
    }
  } else if (doubtful_share(*worst) > kMostLostInAll) {
    report.advice.clear();
    std::string note = percent(doubtful_share(*worst)) + " of the work of rank " +
                       std::to_string(worst->rank) +
                       " is lost, cannot be true or was cut: there is";
    if (report.is_of_whole_trace) {
      for (RankReport& rank : report.ranks)
        rank = {.rank = rank.rank, .host = rank.host, .lost = rank.lost};
      report.collectives.clear();
      note += " no figure and";
    }
    report.notes.insert(report.notes.begin(), note + " no advice");
  }
}

/// Withholds advice where no computation was recorded.
void look_for_computation(TraceReport& report, const std::vector<RankTrace>& traces) {
  const auto is_computation = [](const TraceRecord& record) {
    return record.kind == TraceKind::compute && is_plausible(record);
  };
  report.has_computation = std::ranges::any_of(traces, [&](const RankTrace& trace) {
    return std::ranges::any_of(trace.records, is_computation);
  });
  if (report.has_computation || std::ranges::none_of(traces, has_activity)) return;
  report.advice.clear();
  report.notes.insert(report.notes.begin(),
                      "no computation is recorded: which communication it hides and when the "
                      "devices are idle is not known");
}

nlohmann::json rank_json(const RankReport& rank, bool has_computation) {
  const auto known = [&](double figure) {
    return rank.iterations > 0 ? nlohmann::json(figure) : nlohmann::json();
  };
  const auto hidden = [&](double figure) {
    return has_computation ? known(figure) : nlohmann::json();
  };
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"iterations", rank.iterations},
          {"iteration_ns", known(rank.iteration_ns)},
          {"spread_ns", known(rank.spread_ns)},
          {"compute_ns", known(rank.compute_ns)},
          {"communication_ns", known(rank.communication_ns)},
          {"exposed_ns", hidden(rank.exposed_ns)},
          {"copy_ns", known(rank.copy_ns)},
          {"exposed_copy_ns", hidden(rank.exposed_copy_ns)},
          {"idle_ns", hidden(rank.idle_ns)},
          {"gap_host_ns", known(rank.gap_host_ns)},
          {"gap_event_ns", known(rank.gap_event_ns)},
          {"gap_kernel_ns", known(rank.gap_kernel_ns)},
          {"gap_unknown_ns", known(rank.gap_unknown_ns)},
          {"lost", rank.lost}};
}

nlohmann::json collective_json(const CollectiveReport& each, bool has_computation) {
  return {{"name", each.name},
          {"group", each.group.empty() ? nlohmann::json() : nlohmann::json(each.group)},
          {"kind", each.kind ? nlohmann::json(to_string(*each.kind)) : nlohmann::json()},
          {"per_iteration", each.per_iteration},
          {"bytes", each.bytes},
          {"busy_ns", each.busy_ns},
          {"exposed_ns", has_computation ? nlohmann::json(each.exposed_ns) : nlohmann::json()}};
}

}  // namespace

TraceReport report_traces(std::vector<RankTrace> traces, std::vector<std::string> notes) {
  TraceReport report;
  report.source = traces.front().source;
  report.job_ranks = traces.front().ranks;
  const auto has_windows = [](const RankTrace& trace) {
    return !windows_of(trace.step_starts, 0).empty();
  };
  if (std::ranges::none_of(traces, has_windows)) {
    report.is_of_whole_trace = true;
    if (std::ranges::any_of(traces, has_activity))
      notes.insert(notes.begin(), "no iteration is whole, so the figures are of the whole trace");
    for (RankTrace& trace : traces) make_whole(trace);
  }
  const auto fits = fit_clocks(traces, std::vector<std::vector<ClockRound>>(traces.size()));
  JobMetrics job = measure_job(traces, fits);
  CollectiveSums sums;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    report.ranks.push_back(rank_report(traces[i], job.ranks[i]));
    sums.add(traces[i]);
  }
  report.collectives = sums.means();
  // Notes on withheld figures come first.
  report.notes = std::move(job.withheld);
  if (traces.size() < 2) report.notes.clear();  // one rank has nothing to compare
  const bool has_two = std::ranges::count_if(traces, has_activity) > 1;
  if (!report.is_of_whole_trace && has_two)
    report.stragglers = compare_ranks(traces, fits, report.notes);
  report.notes.insert(report.notes.end(), notes.begin(), notes.end());
  report.advice = advice_for(report);
  withhold(report, traces);
  look_for_computation(report, traces);
  return report;
}

nlohmann::json to_json(const TraceReport& report) {
  auto ranks = nlohmann::json::array(), collectives = nlohmann::json::array();
  for (const RankReport& rank : report.ranks)
    ranks.push_back(rank_json(rank, report.has_computation));
  for (const CollectiveReport& each : report.collectives)
    collectives.push_back(collective_json(each, report.has_computation));
  return {{"source", report.source},
          {"job_ranks", report.job_ranks},
          {"whole_trace", report.is_of_whole_trace},
          {"ranks", std::move(ranks)},
          {"collectives", std::move(collectives)},
          {"stragglers", report.stragglers ? to_json(*report.stragglers) : nlohmann::json()},
          {"advice", report.advice},
          {"notes", report.notes}};
}

}  // namespace hocket
