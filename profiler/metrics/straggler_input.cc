#include "profiler/metrics/straggler_input.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/intervals.h"
#include "core/base/statistics.h"
#include "core/trace/collective_name.h"
#include "core/trace/message_ends.h"
#include "core/trace/paired_collectives.h"
#include "profiler/metrics/exposed_time.h"
#include "profiler/metrics/iteration_windows.h"

namespace hocket {
namespace {

std::vector<Interval> joined(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> all = a;
  all.insert(all.end(), b.begin(), b.end());
  return union_of(std::move(all));
}

/// Returns the last interval of a union that begins before `time_ns`.
const Interval* last_before(const std::vector<Interval>& set, std::int64_t time_ns) {
  const auto after = std::ranges::lower_bound(set, time_ns, {}, &Interval::begin_ns);
  return after == set.begin() ? nullptr : &*(after - 1);
}

/// Returns how long before `window` ends nothing of `set` ran.
std::int64_t rest_of(const Interval& window, const std::vector<Interval>& set) {
  const Interval* const last = last_before(set, window.end_ns);
  return window.end_ns - std::clamp(last ? last->end_ns : 0, window.begin_ns, window.end_ns);
}

/// Periods of communication that are closer than this run on into one another.
constexpr std::int64_t kLaunchGapNs = 20'000;

/// Returns the periods in which communication went on, one after the other.
std::vector<Interval> periods_of(const std::vector<Interval>& communication) {
  std::vector<Interval> periods;
  for (const Interval& next : communication) {
    if (!periods.empty() && next.begin_ns - periods.back().end_ns <= kLaunchGapNs) {
      periods.back().end_ns = next.end_ns;
    } else {
      periods.push_back(next);
    }
  }
  return periods;
}

std::vector<Interval> difference(const std::vector<Interval>& set,
                                 const std::vector<Interval>& without) {
  std::vector<Interval> left;
  auto cut = without.begin();
  for (Interval next : set) {
    while (cut != without.end() && cut->end_ns <= next.begin_ns) ++cut;
    for (auto at = cut; at != without.end() && at->begin_ns < next.end_ns; ++at) {
      if (at->begin_ns > next.begin_ns) left.push_back({next.begin_ns, at->begin_ns});
      next.begin_ns = std::max(next.begin_ns, at->end_ns);
    }
    if (next.begin_ns < next.end_ns) left.push_back(next);
  }
  return left;
}

/// Returns for how long after `from_ns` the communication that ended last by `end_ns` transferred.
std::int64_t last_transfer(const std::vector<Interval>& by_end, const Coverage& waited,
                           std::int64_t from_ns, std::int64_t end_ns) {
  const auto after = std::ranges::upper_bound(by_end, end_ns, {}, &Interval::end_ns);
  if (after == by_end.begin() || (after - 1)->end_ns <= from_ns) return 0;
  const Interval last{std::max((after - 1)->begin_ns, from_ns), (after - 1)->end_ns};
  return last.end_ns - last.begin_ns - waited.inside_ns(last);
}

/// Returns the time in which a rank did nothing because of `waits`. That is, first, the waits
/// beside no computation. A wait beside computation costs something if communication went on
/// without a break until it was exposed: so much of it would then have been over by the end of the
/// computation, except the communication that came last.
std::vector<Interval> blocked_by(const std::vector<Interval>& waits, const RankTrace& trace,
                                 const BusyIntervals& activity) {
  auto blocked = difference(waits, activity.compute);
  const Coverage waited(waits), exposed_waits(blocked);
  std::vector<Interval> by_end;
  for (const TraceRecord& record : trace.records) {
    if (record.kind == TraceKind::communication && is_plausible(record))
      by_end.push_back({record.begin_ns, record.end_ns});
  }
  std::ranges::sort(by_end, {}, &Interval::end_ns);
  const auto exposed = difference(activity.communication, activity.compute);
  auto next = exposed.begin();
  for (const Interval& period : periods_of(activity.communication)) {
    std::int64_t taken_ns = 0;
    for (; next != exposed.end() && next->begin_ns < period.end_ns; ++next) {
      const Interval before{period.begin_ns, next->begin_ns};
      const auto hidden_ns = waited.inside_ns(before) - exposed_waits.inside_ns(before);
      auto left_ns = next->end_ns - next->begin_ns - waited.inside_ns(*next) -
                     last_transfer(by_end, waited, next->begin_ns, next->end_ns);
      left_ns = std::min(left_ns, hidden_ns - taken_ns);
      for (const Interval& piece : difference({*next}, waits)) {
        const auto ns = std::min(left_ns, piece.end_ns - piece.begin_ns);
        if (ns <= 0) break;
        blocked.push_back({piece.begin_ns, piece.begin_ns + ns});
        taken_ns += ns;
        left_ns -= ns;
      }
    }
  }
  return union_of(std::move(blocked));
}

/// Divides the steps of one rank into parts.
class StepDivision {
 public:
  StepDivision(const RankTrace& trace, const std::vector<Interval>& waits)
      : activity_(busy_intervals_of(trace.records)),
        used_(joined(activity_.compute, blocked_by(union_of(waits), trace, activity_))),
        busy_(joined(used_, activity_.copy)),
        transfers_(transfers(trace)),
        working_(joined(used_, transfers_)),
        compute_(activity_.compute),
        used_cover_(used_),
        busy_cover_(busy_),
        all_cover_(joined(busy_, transfers_)) {}

  /// Returns the parts of an iteration; data_ns is that of the next one.
  RankStep divide(const Interval& window) const {
    const auto compute_ns = compute_.inside_ns(window), used_ns = used_cover_.inside_ns(window);
    const auto busy_ns = busy_cover_.inside_ns(window), all_ns = all_cover_.inside_ns(window);
    const Interval rest{window.end_ns - rest_of(window, working_), window.end_ns};
    const auto data_ns = rest.end_ns - rest.begin_ns - all_cover_.inside_ns(rest);
    RankStep step;
    step.compute_ns = static_cast<double>(compute_ns);
    step.blocked_ns = static_cast<double>(used_ns - compute_ns);
    step.copy_ns = static_cast<double>(busy_ns - used_ns);
    step.transfer_ns = static_cast<double>(all_ns - busy_ns);
    step.data_ns = static_cast<double>(data_ns);
    step.host_ns = static_cast<double>(window.end_ns - window.begin_ns - all_ns - data_ns);
    // Without any computation, as in Horovod's timeline, it is not known why nothing runs.
    if (activity_.compute.empty()) step.compute_ns = step.data_ns = step.host_ns = kUnknownNs;
    return step;
  }

 private:
  /// Returns the times in which the rank waited for transfers. A gap in which no communication ends
  /// does not end because of communication; nor does one before a computation that was submitted
  /// in the gap while communication went on: there the host was late.
  std::vector<Interval> transfers(const RankTrace& trace) const {
    std::vector<std::int64_t> ends, submitted;
    std::vector<std::int64_t> begins;
    for (const TraceRecord& record : trace.records) {
      if (!is_plausible(record)) continue;
      if (record.kind == TraceKind::communication) ends.push_back(record.end_ns);
      if (record.kind != TraceKind::compute) continue;
      begins.push_back(record.begin_ns);
      submitted.push_back(record.submitted_ns);
    }
    std::ranges::sort(ends);
    std::vector<Interval> waits;
    for (std::size_t i = 0; i + 1 < busy_.size(); ++i) {
      Interval gap{busy_[i].end_ns, busy_[i + 1].begin_ns};
      const auto after = std::ranges::upper_bound(ends, gap.end_ns);
      if (after == ends.begin() || *(after - 1) <= gap.begin_ns) continue;
      const Interval wait{gap.begin_ns, *(after - 1)};
      const auto next = std::ranges::lower_bound(begins, gap.end_ns);
      const std::int64_t submitted_ns =
          next == begins.end() ? 0 : submitted[static_cast<std::size_t>(next - begins.begin())];
      const bool is_late = wait.begin_ns < submitted_ns && submitted_ns < wait.end_ns;
      waits.push_back({is_late ? submitted_ns : wait.begin_ns, wait.end_ns});
    }
    return intersection_of(union_of(std::move(waits)), activity_.communication);
  }

  const BusyIntervals activity_;
  /// Unions: of computation and being blocked; with copies, too; waits for transfers; and all but
  /// copies.
  const std::vector<Interval> used_, busy_, transfers_, working_;
  const Coverage compute_, used_cover_, busy_cover_, all_cover_;
};

/// The ranks that messages connect, directly or by way of others. Sends and receives whose two
/// ranks are unknown, as in a batch of several, may go between any ranks of their group.
class ConnectedRanks {
 public:
  explicit ConnectedRanks(std::span<const RankTrace> traces) {
    for (const RankTrace& trace : traces) {
      std::vector<std::optional<bool>> names_message(trace.names.size());
      for (const TraceRecord& record : trace.records) {
        if (record.kind != TraceKind::communication) continue;
        if (const auto ends = message_ends(trace, record)) {
          join(ends->sender, ends->receiver);
          continue;
        }
        if (record.collective && !is_message(*record.collective)) continue;
        std::optional<bool>& by_name = names_message[record.name];
        if (!by_name) by_name = names_messages(trace.names[record.name]);
        if (!record.collective && !*by_name) continue;
        ++unknown_;
        join_group(trace, record);
      }
    }
  }

  /// Returns the number of records of sends and receives whose two ranks are unknown.
  std::int64_t unknown() const { return unknown_; }

  /// Returns whether any two of the ranks are connected.
  bool connect_any(const MemberGroup& group, std::span<const RankTrace> traces) {
    if (connects_all_) return group.traces.size() > 1;
    if (next_.empty()) return false;
    std::set<std::int64_t> seen;
    return std::ranges::any_of(group.traces, [&](std::size_t trace) {
      return !seen.insert(root_of(traces[trace].rank)).second;
    });
  }

 private:
  void join_group(const RankTrace& trace, const TraceRecord& record) {
    const bool is_known = record.group >= 0 && record.group < std::ssize(trace.groups) &&
                          !trace.groups[static_cast<std::size_t>(record.group)].ranks.empty();
    connects_all_ = connects_all_ || !is_known;
    if (!is_known) return;
    for (const std::int64_t rank : trace.groups[static_cast<std::size_t>(record.group)].ranks)
      join(trace.rank, rank);
  }

  std::int64_t root_of(std::int64_t rank) {
    auto at = next_.find(rank);
    if (at == next_.end()) return rank;
    while (at->second != at->first) {
      // Halves the path to the root.
      at->second = next_.at(at->second);
      at = next_.find(at->second);
    }
    return at->first;
  }

  void join(std::int64_t a, std::int64_t b) {
    next_.try_emplace(a, a);
    next_.try_emplace(b, b);
    next_.at(root_of(a)) = root_of(b);
  }

  std::map<std::int64_t, std::int64_t> next_;  ///< of each rank one nearer to the root, or itself
  bool connects_all_ = false;
  std::int64_t unknown_ = 0;
};

class Gathering {
 public:
  Gathering(std::span<const RankTrace> traces, std::span<const ClockFit> fits, ArrivalClock clock)
      : traces_(traces), fits_(fits), clock_(clock), waits_(traces.size()), connected_(traces) {}

  StragglerInput gather() {
    for (const RankTrace& trace : traces_) {
      input_.ranks.push_back(trace.rank);
      windows_.push_back(windows_of(trace.step_starts, kNoStep));
    }
    if (traces_.empty()) return std::move(input_);
    if (clock_ == ArrivalClock::common) {
      for (const ClockFit& fit : fits_)
        input_.residual_ns = std::max(input_.residual_ns, fit.residual_ns);
    }
    input_.unknown_messages = connected_.unknown();
    const PairedCollectives paired(traces_);
    std::map<std::size_t, bool> is_connected;  // by group
    for (std::size_t i = 0; i < paired.size(); ++i) {
      if (paired.is_of_message(i)) {
        ++input_.messages;
        continue;
      }
      const std::size_t number = paired[i].group;
      const MemberGroup& group = paired.groups()[number];
      const auto [known, is_new] = is_connected.try_emplace(number, false);
      if (is_new) known->second = connected_.connect_any(group, traces_);
      if (known->second) {
        ++input_.collectives_of_connected;
      } else {
        compare(paired[i], group);
      }
    }
    divide_steps();
    return std::move(input_);
  }

 private:
  /// Returns how much later than the first one each part began; NaN where a trace lacks it.
  std::vector<double> lateness(const PairedCollective& collective, const MemberGroup& group) const {
    std::vector<double> late(collective.parts.size(), std::nan(""));
    std::optional<std::int64_t> origin_ns;
    double least = 0;
    for (std::size_t i = 0; i < late.size(); ++i) {
      const TraceRecord* const part = collective.parts[i];
      if (!part) continue;
      const ClockFit& fit = fits_[group.traces[i]];
      if (!origin_ns) {
        const double begin_ns = fit.to_reference_ns(part->begin_ns);
        const bool is_used = clock_ == ArrivalClock::common && std::abs(begin_ns) < 9e18;
        origin_ns = is_used ? static_cast<std::int64_t>(begin_ns) : 0;
        least = 9e18;
      }
      late[i] = clock_ == ArrivalClock::own ? -static_cast<double>(part->end_ns - part->begin_ns)
                                            : fit.to_reference_ns(part->begin_ns, *origin_ns);
      least = std::min(least, late[i]);
    }
    for (double& value : late) value -= least;
    return late;
  }

  void compare(const PairedCollective& collective, const MemberGroup& group) {
    const auto first = std::ranges::find_if(collective.parts, [](const auto* p) { return p; });
    if (first == collective.parts.end()) return;
    const auto kind = (*first)->collective;
    // A rank waits for some others alone, so its own time does not tell how late it came.
    const bool waits_for_some = kind == CollectiveKind::broadcast || kind == CollectiveKind::shift;
    if (clock_ == ArrivalClock::own && waits_for_some) return;
    const auto late = lateness(collective, group);
    double latest = 0;
    ComparedArrivals arrivals;
    for (std::size_t i = 0; i < late.size(); ++i) {
      if (std::isnan(late[i])) continue;
      latest = std::max(latest, late[i]);
      arrivals.members.push_back({group.traces[i], late[i]});
    }
    if (arrivals.members.size() < 2 || !std::isfinite(latest)) return;
    for (std::size_t i = 0; i < late.size(); ++i) {
      const TraceRecord* const part = collective.parts[i];
      if (!part) continue;
      const auto length = static_cast<double>(part->end_ns - part->begin_ns);
      // The clocks' error would otherwise add up over the collectives of a step.
      const double known_ns = latest - late[i] > 2 * input_.residual_ns ? latest - late[i] : 0;
      const auto wait_ns = std::llround(std::min(known_ns, length));
      waits_[group.traces[i]].push_back({part->begin_ns, part->begin_ns + wait_ns});
    }
    const auto trace = group.traces[static_cast<std::size_t>(first - collective.parts.begin())];
    const auto step = step_of(trace, **first);
    if (!step) return;
    arrivals.step = *step;
    arrivals.place = place_of(collective, group, trace, **first, *step);
    input_.arrivals.push_back(std::move(arrivals));
  }

  std::optional<std::int64_t> step_of(std::size_t trace, const TraceRecord& record) const {
    if (record.step != kNoStep) return record.step;
    const auto after =
        std::ranges::upper_bound(windows_[trace], record.begin_ns, {},
                                 [](const StepWindow& window) { return window.interval.begin_ns; });
    if (after == windows_[trace].begin()) return std::nullopt;
    return (after - 1)->step;
  }

  /// Numbers the collectives of a group within their step.
  std::size_t place_of(const PairedCollective& collective, const MemberGroup& group,
                       std::size_t trace, const TraceRecord& record, std::int64_t step) {
    const std::int64_t position = seen_[{collective.group, step}]++;
    const auto [place, is_new] =
        places_.try_emplace({collective.group, position}, input_.places.size());
    if (is_new) {
      const auto& names = traces_[trace].names;
      input_.places.push_back({.name = record.name < names.size() ? names[record.name] : "",
                               .group = group.name,
                               .position = position});
    }
    return place->second;
  }

  void divide_steps() {
    std::map<std::int64_t, std::vector<RankStep>> steps;
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      const StepDivision division(traces_[i], waits_[i]);
      std::optional<std::pair<std::int64_t, double>> data;  // step, and how long it waits for data
      for (const StepWindow& window : windows_[i]) {
        RankStep step = division.divide(window.interval);
        const auto next_data = std::pair(window.step + 1, step.data_ns);
        step.data_ns = data && data->first == window.step ? data->second : kUnknownNs;
        data = next_data;
        auto& ranks = steps[window.step];
        if (ranks.size() == i) ranks.push_back(step);
      }
    }
    for (auto& [step, ranks] : steps) {
      if (ranks.size() == traces_.size()) input_.steps.push_back({step, std::move(ranks)});
    }
    std::vector<double> lengths;
    for (const StepWindow& window : windows_.front()) {
      lengths.push_back(static_cast<double>(window.interval.end_ns - window.interval.begin_ns));
    }
    if (!lengths.empty()) input_.iteration_ns = median(std::move(lengths));
  }

  std::span<const RankTrace> traces_;
  std::span<const ClockFit> fits_;
  const ArrivalClock clock_;
  std::vector<std::vector<StepWindow>> windows_;
  std::vector<std::vector<Interval>> waits_;
  ConnectedRanks connected_;
  std::map<std::pair<std::size_t, std::int64_t>, std::int64_t> seen_;
  std::map<std::pair<std::size_t, std::int64_t>, std::size_t> places_;
  StragglerInput input_;
};

}  // namespace

StragglerInput straggler_input(std::span<const RankTrace> traces, std::span<const ClockFit> fits,
                               ArrivalClock clock) {
  return Gathering(traces, fits, clock).gather();
}

}  // namespace hocket
