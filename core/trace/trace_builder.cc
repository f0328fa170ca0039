#include "core/trace/trace_builder.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <tuple>

namespace hocket {
namespace {

/// Maximum collectives of one step that a sequence can distinguish.
constexpr std::int64_t kPartsPerStep = std::int64_t{1} << 20;

/// Splits `name` into its stem and the number at its end.
std::pair<std::string_view, std::optional<std::int64_t>> split_number(std::string_view name) {
  const auto last = name.find_last_not_of("0123456789");
  const std::size_t digits = last == std::string_view::npos ? 0 : last + 1;
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(name.data() + digits, name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) {
    return {name.substr(0, digits), std::nullopt};
  }
  return {name.substr(0, digits), number};
}

struct NumberedRange {
  std::optional<std::int64_t> number;
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// Returns whether all ranges, sorted by time, have numbers that rise.
bool rises(const std::vector<NumberedRange>& ranges) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i].number || *ranges[i].number == std::numeric_limits<std::int64_t>::max() ||
        (i > 0 && *ranges[i - 1].number >= *ranges[i].number))
      return false;
  }
  return true;
}

/// Joins ranges of one number that follow one another: threads that mark the same step.
void join_equal_numbers(std::vector<NumberedRange>& ranges) {
  std::size_t kept = 0;
  for (const NumberedRange& range : ranges) {
    NumberedRange* const last = kept > 0 ? &ranges[kept - 1] : nullptr;
    if (last != nullptr && range.number && last->number == range.number &&
        range.begin_ns < last->end_ns) {
      last->end_ns = std::max(last->end_ns, range.end_ns);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
}

std::vector<StepRange> as_steps(std::vector<NumberedRange> ranges) {
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  join_equal_numbers(ranges);
  const bool numbered = rises(ranges);
  std::vector<StepRange> steps;
  for (const NumberedRange& range : ranges) {
    const auto place = static_cast<std::int64_t>(steps.size());
    steps.push_back({numbered ? *range.number : place, range.begin_ns, range.end_ns});
  }
  return steps;
}

/// Deviation of a name's ranges, sorted by time, from being steps; absent when they cannot be.
struct Unevenness {
  bool has_gaps = true;
  double variation = 0;
  std::size_t count = 0;

  bool operator<(const Unevenness& other) const {
    return std::tie(has_gaps, variation, count) <
           std::tie(other.has_gaps, other.variation, other.count);
  }
};

std::optional<Unevenness> unevenness(const std::vector<NumberedRange>& ranges) {
  if (ranges.size() < 3) return std::nullopt;
  double covered = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    covered += static_cast<double>(ranges[i].end_ns - ranges[i].begin_ns);
    if (i == 0) continue;
    if (ranges[i].begin_ns < ranges[i - 1].end_ns) return std::nullopt;
    const auto distance = static_cast<double>(ranges[i].begin_ns - ranges[i - 1].begin_ns);
    sum += distance;
    squares += distance * distance;
  }
  const auto span = static_cast<double>(ranges.back().end_ns - ranges.front().begin_ns);
  const double mean = sum / static_cast<double>(ranges.size() - 1);
  if (mean <= 0) return std::nullopt;
  const double variance = squares / static_cast<double>(ranges.size() - 1) - mean * mean;
  // Steps follow each other without gaps; ranges that cover less are a part of each step.
  constexpr double kCovered = 0.95;
  return Unevenness{covered < kCovered * span, std::sqrt(std::max(variance, 0.0)) / mean,
                    ranges.size()};
}

/// Times at which work was submitted, and those at which work of unknown submission begins.
struct WorkTimes {
  std::vector<std::int64_t> submitted_ns, begin_ns;

  explicit WorkTimes(const std::vector<TraceRecord>& records) {
    for (const TraceRecord& record : records) {
      if (!is_activity(record) || !is_plausible(record)) continue;
      if (record.submitted_ns > 0) {
        submitted_ns.push_back(record.submitted_ns);
      } else {
        begin_ns.push_back(record.begin_ns);
      }
    }
    std::ranges::sort(submitted_ns);
    std::ranges::sort(begin_ns);
  }

  /// Returns whether work lies in most of `ranges`, which are sorted by time.
  bool lies_in(const std::vector<NumberedRange>& ranges) const {
    const auto has_any = [](const std::vector<std::int64_t>& times, std::int64_t from_ns,
                            std::int64_t to_ns) {
      const auto first = std::ranges::lower_bound(times, from_ns);
      return first != times.end() && *first < to_ns;
    };
    std::size_t with_work = 0;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const std::int64_t next_ns =
          i + 1 < ranges.size() ? ranges[i + 1].begin_ns : ranges[i].end_ns;
      with_work += has_any(submitted_ns, ranges[i].begin_ns, ranges[i].end_ns) ||
                   has_any(begin_ns, ranges[i].begin_ns, next_ns);
    }
    return 2 * with_work >= ranges.size();
  }
};

/// Returns whether a range's name, without its number, is a word for a step.
bool names_a_step(std::string_view stem) {
  std::string small;
  for (const char c : stem) small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small.find("step") != small.npos || small.find("iter") != small.npos ||
         small.find("batch") != small.npos;
}

/// Returns the steps by the ranges of the name that repeats most evenly among those that qualify.
template <class Qualifies>
std::vector<StepRange> evenest_steps(const std::vector<TraceRecord>& records, const Interner& names,
                                     const std::vector<TraceRecord>& work_records,
                                     Qualifies&& qualifies) {
  std::map<std::string, std::vector<NumberedRange>, std::less<>> by_stem;
  for (const TraceRecord& record : records) {
    if (record.kind != TraceKind::range || !is_plausible(record)) continue;
    const auto [stem, number] = split_number(names.text(record.name));
    by_stem[std::string(stem)].push_back({number, record.begin_ns, record.end_ns});
  }
  if (by_stem.empty()) return {};
  const WorkTimes work(work_records);
  std::optional<Unevenness> least;
  const std::vector<NumberedRange>* best = nullptr;
  for (auto& [stem, ranges] : by_stem) {
    std::stable_sort(ranges.begin(), ranges.end(),
                     [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
    const auto found = unevenness(ranges);
    if (!found || (least && !(*found < *least))) continue;
    if (!qualifies(stem, ranges) || !work.lies_in(ranges)) continue;
    least = found;
    best = &ranges;
  }
  if (best == nullptr) return {};
  auto steps = as_steps(*best);
  // If the ranges are only a part of the steps, the end of the last step is unknown.
  if (least->has_gaps) steps.back().end_ns = steps.back().begin_ns;
  return steps;
}

/// Returns the number space of a kind of lane; kinds in one space are numbered together.
int lane_space(TraceKind kind) {
  switch (kind) {
    case TraceKind::compute:
    case TraceKind::copy:
      return 0;
    case TraceKind::communication:
      return 1;
    case TraceKind::range:
    case TraceKind::call:
      break;
  }
  return 2;
}

/// Drops steps whose number or time does not increase, and adds the end of the last one.
std::vector<StepStart> starts_of(std::vector<StepRange>& steps) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  std::vector<StepStart> starts;
  std::int64_t end_ns = 0;
  for (const StepRange& step : steps) {
    if (step.begin_ns < 0 || step.step < 0) continue;
    if (!starts.empty() &&
        (step.step <= starts.back().step || step.begin_ns <= starts.back().begin_ns)) {
      continue;
    }
    starts.push_back({step.step, step.begin_ns});
    end_ns = step.end_ns;
  }
  if (!starts.empty() && end_ns > starts.back().begin_ns &&
      starts.back().step < std::numeric_limits<std::int64_t>::max()) {
    starts.push_back({starts.back().step + 1, end_ns});
  }
  return starts;
}

/// Returns the step whose iteration contains `at_ns`.
std::int64_t step_at(const std::vector<StepStart>& starts, std::int64_t at_ns) {
  const auto after =
      std::upper_bound(starts.begin(), starts.end(), at_ns,
                       [](std::int64_t ns, const StepStart& s) { return ns < s.begin_ns; });
  if (after == starts.begin() || after == starts.end()) return kNoStep;
  return std::prev(after)->step;
}

/// Numbers the collectives `of_group`, which are sorted by step, by the recording's own numbers.
/// Parts of one operation share its number and are told apart by their order. Returns false, and
/// changes nothing, if one has no number, or the numbers do not tell most of them apart.
bool keep_own_numbers(std::vector<TraceRecord>& records, std::span<const std::size_t> of_group) {
  constexpr std::int64_t kPartsPerNumber = 1024;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / kPartsPerNumber;
  std::unordered_map<std::int64_t, std::int64_t> parts;
  for (const std::size_t i : of_group) {
    const std::int64_t number = records[i].sequence;
    if (number < 0 || number >= kMost || ++parts[number] > kPartsPerNumber) return false;
  }
  if (2 * parts.size() < of_group.size()) return false;
  std::vector<std::size_t> by_time(of_group.begin(), of_group.end());
  std::ranges::sort(by_time);
  parts.clear();
  for (const std::size_t i : by_time) {
    const std::int64_t number = records[i].sequence;
    records[i].sequence = number * kPartsPerNumber + parts[number]++;
  }
  return true;
}

/// Numbers the collectives `of_group`, which are sorted by step, by step and place in it.
void number_by_step(std::vector<TraceRecord>& records, std::span<const std::size_t> of_group,
                    bool has_steps) {
  const auto place_after = [&](std::int64_t place, std::size_t k) {
    return k > 0 && records[of_group[k - 1]].step == records[of_group[k]].step ? place + 1 : 0;
  };
  bool by_step = has_steps;
  std::int64_t place = 0;
  for (std::size_t k = 0; k < of_group.size() && by_step; ++k) {
    place = place_after(place, k);
    by_step = place < kPartsPerStep &&
              records[of_group[k]].step < std::numeric_limits<std::int64_t>::max() / kPartsPerStep;
  }
  place = 0;
  for (std::size_t k = 0; k < of_group.size(); ++k) {
    TraceRecord& record = records[of_group[k]];
    place = place_after(place, k);
    if (!by_step) {
      record.sequence = static_cast<std::int64_t>(k);
    } else {
      // Before the first step and after the last one ranks may have recorded different intervals.
      record.sequence = record.step == kNoStep ? kNoSequence : record.step * kPartsPerStep + place;
    }
  }
}

}  // namespace

std::uint32_t Interner::number(std::string_view text) {
  const auto known = numbers_.find(text);
  if (known != numbers_.end()) return known->second;
  const auto added =
      numbers_.emplace(std::string(text), static_cast<std::uint32_t>(texts_.size())).first;
  texts_.push_back(&added->first);
  return added->second;
}

std::vector<std::string> Interner::texts() const {
  std::vector<std::string> texts;
  texts.reserve(texts_.size());
  for (const std::string* text : texts_) texts.push_back(*text);
  return texts;
}

std::vector<StepRange> named_steps(const std::vector<TraceRecord>& records, const Interner& names,
                                   std::string_view prefix) {
  std::vector<NumberedRange> ranges;
  for (const TraceRecord& record : records) {
    if (record.kind != TraceKind::range || !is_plausible(record)) continue;
    const std::string_view name = names.text(record.name);
    if (!name.starts_with(prefix)) continue;
    const auto [rest, number] = split_number(name.substr(prefix.size()));
    if (rest.find_first_not_of(' ') == rest.npos)
      ranges.push_back({number, record.begin_ns, record.end_ns});
  }
  return as_steps(std::move(ranges));
}

std::vector<StepRange> repeated_steps(const std::vector<TraceRecord>& records,
                                      const Interner& names, const std::vector<TraceRecord>& work) {
  return evenest_steps(records, names, work, [](const std::string&, const auto&) { return true; });
}

std::vector<StepRange> repeated_steps(const std::vector<TraceRecord>& records,
                                      const Interner& names) {
  return repeated_steps(records, names, records);
}

std::vector<StepRange> numbered_steps(const std::vector<TraceRecord>& records,
                                      const Interner& names) {
  return evenest_steps(records, names, records,
                       [](const std::string& stem, const std::vector<NumberedRange>& ranges) {
                         return names_a_step(stem) && rises(ranges);
                       });
}

std::int32_t TraceBuilder::lane(TraceKind kind, std::string_view place) {
  const int space = lane_space(kind);
  const auto [at, is_new] = lanes_.try_emplace({space, std::string(place)}, 0);
  if (is_new) at->second = lane_counts_[space]++;
  return at->second;
}

std::int32_t TraceBuilder::group(std::string_view name, std::vector<std::int64_t> ranks) {
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (name.empty() && ranks.empty()) return kAllRanks;
  return number_of({std::string(name), std::move(ranks)});
}

std::int32_t TraceBuilder::group(const MessageEnds& ends) {
  return number_of(message_group(ends));
}

std::int32_t TraceBuilder::number_of(TraceGroup group) {
  const auto [at, is_new] = group_numbers_.try_emplace({group.name, group.ranks},
                                                       static_cast<std::int32_t>(groups_.size()));
  if (is_new) groups_.push_back(std::move(group));
  return at->second;
}

void TraceBuilder::add(const TraceRecord& record, std::string_view order) {
  records_.push_back(record);
  record_orders_.push_back(orders_.number(order));
  streams_.push_back(kOnHost);
}

void TraceBuilder::add_device_work(const TraceRecord& record, std::int32_t stream) {
  add(record);
  streams_.back() = stream;
}

void TraceBuilder::add_lost(std::int64_t submitted_ns) {
  if (submitted_ns > 0) {
    impossible_.lost_launches_ns.push_back(submitted_ns);
  } else {
    ++impossible_.lost_without_launch;
  }
}

const ImpossibleRecords& TraceBuilder::correct() {
  std::vector<bool> is_left_out;
  ImpossibleRecords found = find_impossible(records_, streams_, is_left_out);
  std::ranges::copy(impossible_.lost_launches_ns, std::back_inserter(found.lost_launches_ns));
  found.lost_without_launch += impossible_.lost_without_launch;
  impossible_ = std::move(found);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (is_left_out[i]) continue;
    records_[kept] = records_[i];
    record_orders_[kept] = record_orders_[i];
    streams_[kept++] = streams_[i];
  }
  records_.resize(kept);
  record_orders_.resize(kept);
  streams_.resize(kept);
  return impossible_;
}

std::vector<StepLoss> TraceBuilder::losses_of(const RankTrace& trace) const {
  std::map<std::int64_t, StepLoss> by_step;
  for (const TraceRecord& record : trace.records)
    if (record.step != kNoStep && is_activity(record)) ++by_step[record.step].kept;
  for (const std::int64_t launch_ns : impossible_.lost_launches_ns) {
    const std::int64_t step = step_at(trace.step_starts, launch_ns);
    if (step != kNoStep) ++by_step[step].lost;
  }
  std::vector<StepLoss> losses;
  for (auto& [step, loss] : by_step) {
    loss.step = step;
    losses.push_back(loss);
  }
  return losses;
}

std::int64_t TraceBuilder::finish(RankTrace& trace, std::vector<StepRange> steps) {
  trace.step_starts = starts_of(steps);
  trace.quarantined += impossible_.left_out();
  trace.shortened += impossible_.shortened;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (is_plausible(records_[i])) {
      order.push_back(i);
    } else {
      ++trace.quarantined;
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return records_[a].begin_ns < records_[b].begin_ns;
  });
  std::vector<std::uint32_t> orders;
  trace.records.clear();
  for (const std::size_t i : order) {
    TraceRecord record = records_[i];
    if (record.step == kNoStep) {
      record.step = step_at(trace.step_starts,
                            record.submitted_ns != 0 ? record.submitted_ns : record.begin_ns);
    }
    trace.records.push_back(record);
    orders.push_back(record_orders_[i]);
  }
  trace.groups = groups_;
  number_collectives(trace.records, orders);
  trace.names = names_.texts();
  return remove_incomplete_steps(trace.step_starts, losses_of(trace),
                                 impossible_.lost_without_launch);
}

void TraceBuilder::number_collectives(std::vector<TraceRecord>& records,
                                      const std::vector<std::uint32_t>& orders) const {
  std::vector<std::size_t> order;
  bool has_steps = false;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].kind != TraceKind::communication || !records[i].collective) {
      records[i].sequence = kNoSequence;
      continue;
    }
    order.push_back(i);
    has_steps = has_steps || records[i].step != kNoStep;
  }
  // Sorts orders by name: their numbers depend on the order in which a rank sees them.
  const auto key = [&](std::size_t i) {
    return std::tuple<std::int32_t, std::int64_t, std::string_view>(
        records[i].group, records[i].step, orders_.text(orders[i]));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (auto first = order.begin(); first != order.end();) {
    const auto last = std::find_if(first, order.end(), [&](std::size_t i) {
      return records[i].group != records[*first].group;
    });
    const std::span<std::size_t> of_group(first, last);
    if (!keep_own_numbers(records, of_group)) number_by_step(records, of_group, has_steps);
    first = last;
  }
}

}  // namespace hocket
