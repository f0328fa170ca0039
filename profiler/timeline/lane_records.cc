#include "profiler/timeline/lane_records.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "profiler/timeline/timeline.h"

namespace hocket {
namespace {

RunSummary joined(const RunSummary& a, const RunSummary& b) {
  return {a.busy_ns + b.busy_ns, a.name == b.name ? a.name : kSeveralNames,
          a.join == b.join ? a.join : 0};
}

/// Joins summaries from both ends of a run towards its middle.
class RunJoiner {
 public:
  void add(const RunSummary& part) {
    sum_ = is_empty_ ? part : joined(sum_, part);
    is_empty_ = false;
  }
  const RunSummary& sum() const { return sum_; }

 private:
  RunSummary sum_;
  bool is_empty_ = true;
};

/// Returns the first index from `from` on at which `is_there`, false up to an index and true from
/// then on, is true. Doubles its steps, so that the cost depends on the distance.
template <class IsThere>
std::size_t gallop(std::size_t from, std::size_t size, const IsThere& is_there) {
  std::size_t low = from, step = 1;
  while (low < size && !is_there(low)) {
    const std::size_t next = std::min(size, low + step);
    if (next < size && !is_there(next)) {
      low = next;
      step *= 2;
      continue;
    }
    std::size_t high = next;  // There, or the end; low is not.
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (is_there(middle) ? high : low) = middle;
    }
    return high;
  }
  return low;
}

/// Returns begin − time; nothing if the time is unknown or the distance is no number.
std::optional<std::int64_t> distance_to(std::int64_t begin_ns,
                                        std::optional<std::int64_t> time_ns) {
  std::int64_t distance = 0;
  if (!time_ns || __builtin_sub_overflow(begin_ns, *time_ns, &distance)) return std::nullopt;
  return distance;
}

}  // namespace

void LaneRecords::reserve(std::size_t size) {
  begin_ns_.reserve(size);
  end_ns_.reserve(size);
  names_.reserve(size);
  for (NarrowColumn* column :
       {&steps_, &tasks_, &bytes_, &sequences_, &submitted_before_, &ready_before_}) {
    column->reserve(size);
  }
}

void LaneRecords::push_back(const LaneRecord& record) {
  HOCKET_CHECK(
      record.begin_ns <= record.end_ns && (end_ns_.empty() || end_ns_.back() <= record.begin_ns),
      "records of a lane are disjoint and sorted");
  begin_ns_.push_back(record.begin_ns);
  end_ns_.push_back(record.end_ns);
  names_.push_back(record.name);
  steps_.push_back(record.step);
  tasks_.push_back(record.task);
  bytes_.push_back(record.bytes);
  sequences_.push_back(record.sequence);
  submitted_before_.push_back(distance_to(record.begin_ns, record.submitted_ns));
  ready_before_.push_back(distance_to(record.begin_ns, record.ready_ns));
  if (record.collective && collectives_.empty()) {
    collectives_.reserve(begin_ns_.capacity());
    collectives_.resize(begin_ns_.size() - 1, 0);
  }
  if (record.collective || !collectives_.empty()) {
    collectives_.push_back(
        record.collective
            ? static_cast<std::uint8_t>(static_cast<std::uint8_t>(*record.collective) + 1)
            : std::uint8_t{0});
  }
}

void LaneRecords::set_join(std::size_t index, std::uint32_t join) {
  if (joins_.empty()) joins_.resize(size(), 0);
  joins_[index] = join;
}

void LaneRecords::finish() {
  for (NarrowColumn* column :
       {&steps_, &tasks_, &bytes_, &sequences_, &submitted_before_, &ready_before_}) {
    column->finish();
  }
  summaries_.clear();
  for (std::size_t runs = size() / kSummaryFan; runs > 0; runs /= kSummaryFan) {
    std::vector<RunSummary> level(runs);
    for (std::size_t run = 0; run < runs; ++run) {
      RunJoiner joiner;
      for (std::size_t i = run * kSummaryFan; i < (run + 1) * kSummaryFan; ++i) {
        joiner.add(summaries_.empty() ? summary_of(i) : summaries_.back()[i]);
      }
      level[run] = joiner.sum();
    }
    summaries_.push_back(std::move(level));
  }
}

RunSummary LaneRecords::summary_of(std::size_t index) const {
  return {end_ns_[index] - begin_ns_[index], names_[index], join(index)};
}

LaneRecord LaneRecords::at(std::size_t index) const {
  LaneRecord record{begin_ns_[index], end_ns_[index], names_[index]};
  record.step = steps_.at(index);
  record.task = tasks_.at(index);
  record.bytes = bytes_.at(index);
  record.sequence = sequences_.at(index);
  if (const auto before = submitted_before_.at(index)) {
    record.submitted_ns = record.begin_ns - *before;
  }
  if (const auto before = ready_before_.at(index)) record.ready_ns = record.begin_ns - *before;
  if (!collectives_.empty() && collectives_[index] != 0) {
    record.collective = static_cast<CollectiveKind>(collectives_[index] - 1);
  }
  return record;
}

std::size_t LaneRecords::first_not_before(std::int64_t time_ns) const {
  std::size_t low = 0, high = size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const bool is_before = end_ns_[middle] <= time_ns && begin_ns_[middle] < time_ns;
    if (is_before) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::size_t LaneRecords::first_begin_from(std::int64_t time_ns, std::size_t from) const {
  return gallop(from, size(), [&](std::size_t i) { return begin_ns_[i] >= time_ns; });
}

std::size_t LaneRecords::first_end_after(std::int64_t time_ns, std::size_t from) const {
  return gallop(from, size(), [&](std::size_t i) { return end_ns_[i] > time_ns; });
}

RunSummary LaneRecords::summary(std::size_t first, std::size_t last) const {
  RunJoiner joiner;
  std::size_t level = 0;
  const auto add = [&](std::size_t i) {
    joiner.add(level == 0 ? summary_of(i) : summaries_[level - 1][i]);
  };
  while (first < last) {
    const bool has_next = level < summaries_.size();
    while (first < last && (!has_next || first % kSummaryFan != 0)) add(first++);
    while (first < last && last % kSummaryFan != 0) add(--last);
    first /= kSummaryFan;
    last /= kSummaryFan;
    ++level;
  }
  return joiner.sum();
}

std::int64_t LaneRecords::busy_ns(std::size_t first, std::size_t last,
                                  const Interval& window) const {
  if (first >= last) return 0;
  return summary(first, last).busy_ns -
         std::max<std::int64_t>(window.begin_ns - begin_ns_[first], 0) -
         std::max<std::int64_t>(end_ns_[last - 1] - window.end_ns, 0);
}

std::int64_t LaneRecords::busy_ns(const Interval& window) const {
  if (window.end_ns <= window.begin_ns) return 0;
  const std::size_t first = first_not_before(window.begin_ns);
  return busy_ns(first, first_begin_from(window.end_ns, first), window);
}

std::size_t LaneRecords::bytes() const {
  std::size_t sum = (begin_ns_.capacity() + end_ns_.capacity()) * sizeof(std::int64_t) +
                    (names_.capacity() + joins_.capacity()) * sizeof(std::uint32_t) +
                    collectives_.capacity();
  for (const NarrowColumn* column :
       {&steps_, &tasks_, &bytes_, &sequences_, &submitted_before_, &ready_before_}) {
    sum += column->bytes();
  }
  for (const auto& level : summaries_) sum += level.capacity() * sizeof(RunSummary);
  return sum;
}

}  // namespace hocket
