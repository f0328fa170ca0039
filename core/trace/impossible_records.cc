#include "core/trace/impossible_records.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace hocket {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000, kMinute = 60'000'000'000;
/// Clocks of host and device, as profilers convert them, differ by less than this.
constexpr std::int64_t kClockError = kMillisecond;
/// A larger shift of all records is no difference of clocks that a profile survives.
constexpr std::int64_t kMostClockShift = 100 * kMillisecond;
/// Profilers round times, and a kernel may begin before the one before it ends completely.
constexpr std::int64_t kLeastOverlap = 10'000;

std::int64_t difference(std::int64_t later, std::int64_t earlier) {
  std::int64_t result = 0;
  if (!__builtin_sub_overflow(later, earlier, &result)) return result;
  return later < earlier ? std::numeric_limits<std::int64_t>::min()
                         : std::numeric_limits<std::int64_t>::max();
}

std::int64_t quantile_of(std::vector<std::int64_t> values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(static_cast<double>(values.size() - 1) * share);
  std::ranges::nth_element(values, values.begin() + at);
  return values[static_cast<std::size_t>(at)];
}

class Search {
 public:
  Search(std::vector<TraceRecord>& records, std::span<const std::int32_t> streams,
         std::vector<bool>& is_left_out)
      : records_(records), streams_(streams), is_left_out_(is_left_out) {
    is_left_out_.assign(records.size(), false);
  }

  ImpossibleRecords run() {
    leave_out_without_times();
    leave_out_before_launch();
    leave_out_on_another_clock();
    std::map<std::int32_t, std::vector<std::size_t>> by_stream;
    for (std::size_t i = 0; i < records_.size(); ++i)
      if (is_device(i) && streams_[i] >= 0) by_stream[streams_[i]].push_back(i);
    for (auto& [stream, of_stream] : by_stream) {
      std::ranges::stable_sort(of_stream, {}, [&](std::size_t i) { return records_[i].begin_ns; });
    }
    find_usual_times(by_stream);
    for (const auto& [stream, of_stream] : by_stream) shorten(of_stream);
    return std::move(found_);
  }

 private:
  using Indices = std::vector<std::size_t>;

  /// The median and nearly the most that records of a name take.
  struct UsualTime {
    std::int64_t middle_ns = 0, most_ns = 0;
  };

  bool is_device(std::size_t i) const {
    return streams_[i] != kOnHost && !is_left_out_[i] && is_plausible(records_[i]);
  }

  void leave_out(std::size_t i, std::int64_t& count) {
    is_left_out_[i] = true;
    ++count;
    note_lost(records_[i].submitted_ns);
  }

  void note_lost(std::int64_t launch_ns) {
    if (launch_ns > 0) {
      found_.lost_launches_ns.push_back(launch_ns);
    } else {
      ++found_.lost_without_launch;
    }
  }

  void leave_out_without_times() {
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (streams_[i] == kOnHost) continue;
      const TraceRecord& record = records_[i];
      const bool is_implausible =
          record.begin_ns < 0 || record.end_ns < record.begin_ns || record.submitted_ns < 0;
      if (is_implausible) {
        // TraceBuilder leaves these out and counts them itself.
        note_lost(record.submitted_ns);
      } else if (record.begin_ns == 0 && record.end_ns == 0) {
        leave_out(i, found_.without_times);
      }
    }
  }

  void leave_out_before_launch() {
    std::vector<std::int64_t> leads;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (is_device(i) && records_[i].submitted_ns > 0)
        leads.push_back(difference(records_[i].submitted_ns, records_[i].begin_ns));
    }
    if (leads.empty()) return;
    const std::int64_t middle = quantile_of(leads, 0.5);
    const bool is_shifted = middle > kClockError && middle < kMostClockShift;
    if (is_shifted) found_.clocks_differ_by_ns = middle;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (!is_device(i) || records_[i].submitted_ns == 0) continue;
      const std::int64_t lead = difference(records_[i].submitted_ns, records_[i].begin_ns);
      if (lead > (is_shifted ? middle : 0) + kClockError) {
        leave_out(i, found_.before_launch);
      } else if (is_shifted) {
        records_[i].submitted_ns = 0;
      }
    }
  }

  /// Leaves out records that are far from what the host recorded, or without any from the others.
  void leave_out_on_another_clock() {
    std::vector<std::int64_t> begins;
    std::int64_t end_ns = 0;
    for (const bool of_host : {true, false}) {
      for (std::size_t i = 0; i < records_.size(); ++i) {
        if (is_left_out_[i] || !is_plausible(records_[i])) continue;
        if ((streams_[i] == kOnHost) != of_host) continue;
        begins.push_back(records_[i].begin_ns);
        if (of_host) end_ns = std::max(end_ns, records_[i].end_ns);
      }
      if (!begins.empty() && of_host) {
        const std::int64_t begin_ns = *std::ranges::min_element(begins);
        return leave_out_beyond(begin_ns, end_ns, difference(end_ns, begin_ns));
      }
    }
    if (begins.empty()) return;
    const std::int64_t low = quantile_of(begins, 0.25), high = quantile_of(begins, 0.75);
    leave_out_beyond(low, high, 10 * std::min(high - low, kMinute * 60 * 24));
  }

  void leave_out_beyond(std::int64_t low_ns, std::int64_t high_ns, std::int64_t margin_ns) {
    margin_ns = std::max(margin_ns, kMinute);
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (!is_device(i)) continue;
      if (difference(low_ns, records_[i].begin_ns) > margin_ns ||
          difference(records_[i].begin_ns, high_ns) > margin_ns)
        leave_out(i, found_.on_another_clock);
    }
  }

  /// Returns for each record of a stream the index in `of_stream` of the first one that begins
  /// after it.
  Indices successors(const Indices& of_stream) const {
    Indices next(of_stream.size(), of_stream.size());
    for (std::size_t at = of_stream.size() - std::min<std::size_t>(of_stream.size(), 1);
         at-- > 0;) {
      const bool is_later = records_[of_stream[at + 1]].begin_ns > records_[of_stream[at]].begin_ns;
      next[at] = is_later ? at + 1 : next[at + 1];
    }
    return next;
  }

  bool overlaps(const Indices& of_stream, std::size_t at, std::size_t next) const {
    return next < of_stream.size() &&
           difference(records_[of_stream[at]].end_ns, records_[of_stream[next]].begin_ns) >
               kLeastOverlap;
  }

  /// Notes how long records of each name take that end before their successor begins.
  void find_usual_times(const std::map<std::int32_t, Indices>& by_stream) {
    std::map<std::uint32_t, std::vector<std::int64_t>> times;
    for (const auto& [stream, of_stream] : by_stream) {
      const Indices next = successors(of_stream);
      for (std::size_t at = 0; at < of_stream.size(); ++at) {
        const TraceRecord& record = records_[of_stream[at]];
        if (!overlaps(of_stream, at, next[at]))
          times[record.name].push_back(record.end_ns - record.begin_ns);
      }
    }
    for (const auto& [name, of_name] : times)
      usual_[name] = {quantile_of(of_name, 0.5), quantile_of(of_name, 0.9)};
  }

  /// Cuts those records of a stream that take much longer than others of their name and reach
  /// beyond their successor: to the time of the others, or where the successor begins. Where all of
  /// a name do so, they may be branches of a graph.
  void shorten(const Indices& of_stream) {
    const Indices all_next = successors(of_stream);
    for (std::size_t at = 0; at < of_stream.size(); ++at) {
      const std::size_t next = all_next[at];
      if (!overlaps(of_stream, at, next)) continue;
      TraceRecord& record = records_[of_stream[at]];
      const std::size_t inside = count_inside(of_stream, next, record.end_ns);
      const auto usual = usual_.find(record.name);
      const std::int64_t time_ns = record.end_ns - record.begin_ns;
      const bool is_known = usual != usual_.end();
      const bool is_late = is_known ? time_ns / 2 > usual->second.most_ns && time_ns > kLeastOverlap
                                    : inside >= kMostInside;
      if (is_late) {
        record.end_ns = records_[of_stream[next]].begin_ns;
        if (is_known)
          record.end_ns = std::min(record.end_ns, record.begin_ns + usual->second.middle_ns);
        ++found_.shortened;
      } else if (inside > 0) {
        ++found_.overlapping;
      }
    }
  }

  /// Counts up to kMostInside records from `next` on that end by `end_ns`.
  std::size_t count_inside(const Indices& of_stream, std::size_t next, std::int64_t end_ns) const {
    std::size_t inside = 0;
    const std::size_t last = std::min(of_stream.size(), next + kMostSeen);
    for (; next < last && inside < kMostInside; ++next) {
      const TraceRecord& record = records_[of_stream[next]];
      if (record.begin_ns >= end_ns) break;
      inside += record.end_ns <= end_ns && record.end_ns > record.begin_ns;
    }
    return inside;
  }

  /// So many records within one of unknown usual time are no branches of a graph. kMostSeen bounds
  /// the time that a hostile recording takes.
  static constexpr std::size_t kMostInside = 16, kMostSeen = 1000;

  std::vector<TraceRecord>& records_;
  const std::span<const std::int32_t> streams_;
  std::vector<bool>& is_left_out_;
  std::map<std::uint32_t, UsualTime> usual_;  ///< by name
  ImpossibleRecords found_;
};

/// Returns the steps that miss work. Records whose step is unknown are missing in steps that have
/// fewer than others.
std::set<std::int64_t> incomplete_steps(std::span<const StepStart> starts,
                                        std::span<const StepLoss> loss, bool with_unknown) {
  std::map<std::int64_t, StepLoss> by_step;
  for (const StepLoss& each : loss) by_step[each.step] = each;
  std::vector<std::int64_t> counts;
  for (const StepStart& start : starts.first(starts.empty() ? 0 : starts.size() - 1))
    counts.push_back(by_step[start.step].kept);
  const std::int64_t usual = counts.empty() ? 0 : quantile_of(counts, 0.75);
  std::set<std::int64_t> incomplete;
  for (const StepStart& start : starts) {
    const StepLoss& step = by_step[start.step];
    const auto kept = static_cast<double>(step.kept), lost = static_cast<double>(step.lost);
    const bool has_few = with_unknown && kept < (1 - kMostLostShare) * static_cast<double>(usual);
    if (lost > kMostLostShare * (lost + kept) || has_few) incomplete.insert(start.step);
  }
  return incomplete;
}

}  // namespace

void ImpossibleRecords::add(const ImpossibleRecords& other) {
  without_times += other.without_times;
  before_launch += other.before_launch;
  on_another_clock += other.on_another_clock;
  shortened += other.shortened;
  overlapping += other.overlapping;
  clocks_differ_by_ns = std::max(clocks_differ_by_ns, other.clocks_differ_by_ns);
  lost_launches_ns.insert(lost_launches_ns.end(), other.lost_launches_ns.begin(),
                          other.lost_launches_ns.end());
  lost_without_launch += other.lost_without_launch;
}

ImpossibleRecords find_impossible(std::vector<TraceRecord>& records,
                                  std::span<const std::int32_t> streams,
                                  std::vector<bool>& is_left_out) {
  return Search(records, streams, is_left_out).run();
}

std::int64_t remove_incomplete_steps(std::vector<StepStart>& starts, std::span<const StepLoss> loss,
                                     std::int64_t lost_without_step) {
  std::int64_t lost = lost_without_step, kept = 0;
  for (const StepLoss& each : loss) {
    lost += each.lost;
    kept += each.kept;
  }
  if (lost == 0 || starts.empty()) return 0;
  const auto incomplete = incomplete_steps(starts, loss, lost_without_step > 0);
  const auto has_window = [](std::span<const StepStart> all, std::size_t i) {
    return i + 1 < all.size() && all[i + 1].step == all[i].step + 1;
  };
  const auto windows = [&](std::span<const StepStart> all) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < all.size(); ++i) count += has_window(all, i);
    return count;
  };
  const auto is_gone = [&](std::size_t i) {
    return has_window(starts, i) && incomplete.contains(starts[i].step);
  };
  std::vector<StepStart> whole;
  const auto continues = [&](std::size_t i) {
    return !whole.empty() && whole.back().step + 1 == starts[i].step;
  };
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (!is_gone(i)) {
      whole.push_back(starts[i]);
      continue;
    }
    // Windows i to next - 1 are to go. Start i stays if it ends the window before them.
    std::size_t next = i;
    while (is_gone(next)) ++next;
    if (continues(i)) whole.push_back(starts[i]);
    // A window ends where the next one begins, so a single one takes its neighbour along.
    if (!continues(next)) whole.push_back(starts[next]);
    i = next;
  }
  const std::int64_t before = windows(starts), after = windows(whole);
  if (after == 0) {
    const auto all = static_cast<double>(lost + kept);
    if (static_cast<double>(lost) <= kMostLostInAll * all) return 0;
    whole.clear();
  }
  starts = std::move(whole);
  return before - after;
}

}  // namespace hocket
