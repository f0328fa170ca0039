#include "core/trace/repetition.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace hocket {
namespace {

/// A name, or two neighbours' names.
using Pair = std::uint64_t;
using Places = std::vector<std::size_t>;

constexpr std::size_t kLeastPeriods = 3;

constexpr std::uint64_t kNoName = ~std::uint32_t{0};

/// Requires an item before `i`.
Pair pair_at(const std::vector<RepeatedItem>& items, std::size_t i) {
  return std::uint64_t{items[i - 1].name} << 32 | items[i].name;
}

/// Returns a number of the run of `length` items that ends with item `i`.
std::uint64_t run_at(const std::vector<RepeatedItem>& items, std::size_t i, std::size_t length) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t k = i < length ? 0 : i - length + 1; k <= i; ++k)
    hash = (hash ^ (items[k].name + 1)) * 0x100000001b3;
  return hash;
}

std::size_t middle_of(std::vector<std::size_t> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

Places distances_of(const Places& places) {
  Places distances;
  for (std::size_t k = 1; k < places.size(); ++k) distances.push_back(places[k] - places[k - 1]);
  return distances;
}

/// Returns whether most distances between `places` are alike and cover the whole range.
bool is_regular(const Places& places) {
  if (places.size() < kLeastPeriods) return false;
  const Places distances = distances_of(places);
  const auto middle = static_cast<double>(middle_of(distances));
  std::size_t alike = 0;
  for (const std::size_t distance : distances) {
    const double ratio = static_cast<double>(distance) / middle;
    alike += ratio > 0.75 && ratio < 1.25;
  }
  const double covered = middle * static_cast<double>(distances.size()) /
                         static_cast<double>(places.back() - places.front());
  return 10 * alike >= 7 * distances.size() && covered > 0.8 && covered < 1.25;
}

/// Returns the runs that end between places `first` and `last`, sorted.
std::vector<std::uint64_t> runs_between(const std::vector<RepeatedItem>& items, std::size_t first,
                                        std::size_t last, std::size_t length) {
  std::vector<std::uint64_t> runs;
  for (std::size_t i = first; i < last; ++i) runs.push_back(run_at(items, i, length));
  std::ranges::sort(runs);
  return runs;
}

/// Returns whether at least half of the periods have most of their work in common with the next.
bool are_alike(const std::vector<RepeatedItem>& items, const Places& starts) {
  // A run is a part of a period, so that work of some periods alone breaks few runs.
  const std::size_t length = std::clamp<std::size_t>(middle_of(distances_of(starts)) / 4, 2, 8);
  std::vector<std::size_t> shares;
  std::vector<std::uint64_t> last = runs_between(items, starts[0], starts[1], length), common;
  for (std::size_t k = 2; k < starts.size(); ++k) {
    std::vector<std::uint64_t> next = runs_between(items, starts[k - 1], starts[k], length);
    common.clear();
    std::ranges::set_intersection(last, next, std::back_inserter(common));
    shares.push_back(100 * common.size() / std::max(last.size(), next.size()));
    last = std::move(next);
  }
  constexpr std::size_t kLeastPercent = 70;
  return middle_of(std::move(shares)) >= kLeastPercent;
}

/// Returns the median of the times before the items at `places` in which nothing runs.
std::int64_t gap_before(const std::vector<RepeatedItem>& items, const Places& places) {
  std::vector<std::int64_t> gaps;
  for (const std::size_t i : places) {
    if (i > 0) gaps.push_back(items[i].begin_ns - items[i - 1].end_ns);
  }
  if (gaps.empty()) return 0;
  const auto middle = gaps.begin() + std::ssize(gaps) / 2;
  std::ranges::nth_element(gaps, middle);
  return *middle;
}

bool has_two_names(std::span<const RepeatedItem> items) {
  return std::ranges::any_of(items, [&](const auto& item) { return item.name != items[0].name; });
}

/// Returns whether the periods that begin at `starts` are work of several names, and alike.
bool are_periods(const std::vector<RepeatedItem>& items, const Places& starts) {
  return has_two_names(std::span(items).subspan(starts[0], starts[1] - starts[0])) &&
         are_alike(items, starts);
}

/// Returns whether nothing runs for a while before each period: a period of its own.
bool has_pause(const std::vector<RepeatedItem>& items, const Places& starts) {
  Places all;
  for (std::size_t i = 1; i < items.size(); ++i) all.push_back(i);
  constexpr std::int64_t kLeastPauseNs = 100;
  return gap_before(items, starts) >
         3 * std::max<std::int64_t>(gap_before(items, all), 0) + kLeastPauseNs;
}

/// Returns how many of `periods` lie between two neighbours of `marks` if it is the same number of
/// them nearly everywhere, and the marks are spread over all; 0 otherwise.
std::size_t periods_between(const Places& periods, const Places& marks) {
  Places places;
  for (const std::size_t mark : marks) {
    const auto at = std::ranges::lower_bound(periods, mark);
    places.push_back(static_cast<std::size_t>(at - periods.begin()));
  }
  const Places distances = distances_of(places);
  const std::size_t middle = middle_of(distances);
  const auto equal = static_cast<std::size_t>(std::ranges::count(distances, middle));
  const bool is_spread =
      2 * places.front() <= 3 * middle && 2 * (periods.size() - places.back()) <= 3 * middle;
  return 10 * equal >= 8 * distances.size() && is_spread ? middle : 0;
}

/// Returns the marks of the next longer period in which the leftovers of `periods` come back, such
/// as the iterations that the layers of a model are in; null if there is none. Work that comes back
/// beside periods with a pause of their own, such as an evaluation, makes no longer period.
const Places* longer_period(const std::vector<RepeatedItem>& items, const Places& periods,
                            std::span<const Places* const> marks) {
  struct Candidate {
    std::size_t periods = 0;
    std::int64_t gap_ns = 0;
    const Places* marks = nullptr;
  };
  std::vector<Candidate> candidates;
  for (const Places* mark : marks) {
    if (2 * mark->size() > periods.size() + 2) continue;
    const std::size_t between = periods_between(periods, *mark);
    if (between >= 2) candidates.push_back({between, gap_before(items, *mark), mark});
  }
  std::ranges::sort(candidates, {}, [](const Candidate& each) {
    return std::tuple(each.periods, -std::ssize(*each.marks), -each.gap_ns, each.marks->front());
  });
  const bool has_own = has_pause(items, periods);
  const std::int64_t own_ns = gap_before(items, periods);
  constexpr std::size_t kMostTries = 8;
  for (const Candidate& each : std::span(candidates).first(std::min(kMostTries, candidates.size())))
    if ((!has_own || each.gap_ns > 2 * own_ns) && are_periods(items, *each.marks))
      return each.marks;
  return nullptr;
}

/// Returns whether much of the time between the periods is work of other names.
bool leaves_much(const std::vector<RepeatedItem>& items, const Places& periods) {
  std::vector<std::int64_t> times;
  for (std::size_t k = 1; k < periods.size(); ++k)
    times.push_back(items[periods[k]].begin_ns - items[periods[k - 1]].begin_ns);
  auto sorted = times;
  std::ranges::nth_element(sorted, sorted.begin() + std::ssize(sorted) / 2);
  const std::int64_t middle_ns = sorted[sorted.size() / 2];
  const std::size_t middle = middle_of(distances_of(periods));
  double left_ns = 0, all_ns = 0;
  for (std::size_t k = 1; k < periods.size(); ++k) {
    all_ns += static_cast<double>(times[k - 1]);
    if (4 * (periods[k] - periods[k - 1]) > 5 * middle && times[k - 1] > middle_ns)
      left_ns += static_cast<double>(times[k - 1] - middle_ns);
  }
  constexpr double kMuch = 0.1;
  return left_ns > kMuch * all_ns;
}

/// Returns whether a long pause is before each period: a loop that waits for its host has one, and
/// layers do not.
bool has_long_pause(const std::vector<RepeatedItem>& items, const Places& periods) {
  Places all;
  for (std::size_t i = 1; i < items.size(); ++i) all.push_back(i);
  const auto own_ns = static_cast<double>(gap_before(items, periods));
  const auto usual_ns = static_cast<double>(std::max<std::int64_t>(gap_before(items, all), 0));
  const auto whole_ns =
      static_cast<double>(items[periods.back()].begin_ns - items[periods.front()].begin_ns);
  constexpr double kLong = 20, kLongShare = 0.05;
  return own_ns > kLong * usual_ns &&
         own_ns * static_cast<double>(periods.size() - 1) > kLongShare * whole_ns;
}

/// Returns whether the periods may be the layers of a model that runs once or twice: the recording
/// begins and ends with work that belongs to hardly any period, as an embedding and the choice of a
/// token do. A recording of iterations begins or ends within one.
bool are_layers_of_one_pass(const std::vector<RepeatedItem>& items, const Places& periods) {
  std::unordered_map<std::uint32_t, std::pair<std::size_t, std::size_t>> seen;  // periods, the last
  for (std::size_t k = 1; k < periods.size(); ++k) {
    for (std::size_t i = periods[k - 1]; i < periods[k]; ++i) {
      auto& [count, last] = seen[items[i].name];
      count += last != k;
      last = k;
    }
  }
  const auto is_strange = [&](const RepeatedItem& item) {
    const auto found = seen.find(item.name);
    return found == seen.end() || found->second.first <= 1;
  };
  const auto behind = std::span(items).subspan(periods.back());
  const auto before = std::span(items).first(periods.front());
  if (std::ranges::none_of(before, is_strange) || !is_strange(items.back())) return false;
  if (has_long_pause(items, periods)) return false;
  // Much of the periods' own work behind the last one may be an evaluation after the training.
  const auto known = std::ssize(behind) - std::ranges::count_if(behind, is_strange);
  if (static_cast<std::size_t>(known) < 2 * middle_of(distances_of(periods))) return true;
  const auto behind_ns = static_cast<double>(items.back().end_ns - behind.front().begin_ns);
  const auto all_ns = static_cast<double>(items.back().end_ns - items.front().begin_ns);
  constexpr double kMuch = 0.1;
  return behind_ns > kMuch * all_ns;
}

}  // namespace

std::vector<std::size_t> period_starts(const std::vector<RepeatedItem>& items) {
  std::unordered_map<Pair, Places> places;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) places[pair_at(items, i)].push_back(i);
    places[kNoName << 32 | items[i].name].push_back(i);
  }
  std::vector<const Places*> marks;
  std::map<std::size_t, std::size_t> votes;  // items of marks, by number of periods
  for (const auto& [pair, of_pair] : places) {
    if (!is_regular(of_pair)) continue;
    marks.push_back(&of_pair);
    votes[of_pair.size()] += of_pair.size();
  }
  if (votes.empty()) return {};
  // Prefers the shorter of periods with equal votes, since every other step may have extra work.
  const auto most = std::ranges::max_element(
      votes, {}, [](const auto& v) { return std::pair(v.second, v.first); });
  const Places* best = nullptr;
  const auto rating = [&](const Places* mark) {
    return std::tuple(gap_before(items, *mark), ~mark->front(), *mark);
  };
  for (const Places* mark : marks) {
    if (mark->size() != most->first) continue;
    if (best == nullptr || rating(best) < rating(mark)) best = mark;
  }
  if (!are_periods(items, *best)) return {};
  const Places* const shortest = best;
  for (const Places* next = best; next != nullptr; next = longer_period(items, *best, marks))
    best = next;
  if (best == shortest && !has_pause(items, *best) && leaves_much(items, *best)) return {};
  if (are_layers_of_one_pass(items, *best)) return {};
  return *best;
}

namespace {

/// Moves the end of each item to that of the work of any stream that begins before the next one, so
/// that what is between two items is a time in which nothing runs. `items` are in order.
void extend_to_pauses(const std::vector<TraceRecord>& records, std::vector<RepeatedItem>& items) {
  std::vector<const TraceRecord*> work;
  for (const TraceRecord& record : records)
    if (is_activity(record) && is_plausible(record)) work.push_back(&record);
  std::ranges::stable_sort(work, {}, [](const TraceRecord* record) { return record->begin_ns; });
  std::size_t next = 0;
  std::int64_t end_ns = 0;
  for (std::size_t i = 0; i + 1 < items.size(); ++i) {
    for (; next < work.size() && work[next]->begin_ns < items[i + 1].begin_ns; ++next)
      end_ns = std::max(end_ns, work[next]->end_ns);
    items[i].end_ns = std::max(items[i].end_ns, std::min(end_ns, items[i + 1].begin_ns));
  }
}

}  // namespace

std::vector<StepRange> repeated_work(const std::vector<TraceRecord>& records) {
  std::map<std::int32_t, double> busy_ns;
  for (const TraceRecord& record : records) {
    if (record.kind == TraceKind::compute && is_plausible(record))
      busy_ns[record.lane] += static_cast<double>(record.end_ns - record.begin_ns);
  }
  const auto busiest =
      std::ranges::max_element(busy_ns, {}, [](const auto& lane) { return lane.second; });
  if (busiest == busy_ns.end()) return {};
  std::vector<RepeatedItem> items;
  for (const TraceRecord& record : records) {
    if (record.kind == TraceKind::compute && record.lane == busiest->first && is_plausible(record))
      items.push_back({record.name, record.begin_ns, record.end_ns});
  }
  std::ranges::stable_sort(items, {}, &RepeatedItem::begin_ns);
  extend_to_pauses(records, items);
  std::vector<StepRange> steps;
  for (const std::size_t start : period_starts(items)) {
    const std::int64_t begin_ns = items[start].begin_ns;
    steps.push_back({static_cast<std::int64_t>(steps.size()), begin_ns, begin_ns});
  }
  return steps;
}

}  // namespace hocket
