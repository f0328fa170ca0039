#include "profiler/timeline/axis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/check.h"
#include "core/base/intervals.h"

namespace hocket {
namespace {

/// Times are kept this near to the origin, so that the difference of any two is a number: 126
/// years.
constexpr std::int64_t kFarthestNs = 4'000'000'000'000'000'000;
/// A double holds fractions of a nanosecond up to this number: 11 days.
constexpr double kExactNs = 1e15;

std::int64_t sum_within(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? -kFarthestNs : kFarthestNs;
  return std::clamp(sum, -kFarthestNs, kFarthestNs);
}

/// Calls `use(begin, end)` with the times of all that is drawn of a trace, on its own clock.
template <class Use>
void for_each_time(const RankTrace& trace, const Use& use) {
  for (const TraceRecord& record : trace.records) {
    if (is_usable(trace, record)) use(record.begin_ns, record.end_ns);
  }
  for (const StepStart& start : trace.step_starts) {
    if (start.begin_ns >= 0) use(start.begin_ns, start.begin_ns);
  }
}

/// Returns the time from the first begin to the last end, on the trace's clock.
std::optional<Interval> span_of(const RankTrace& trace) {
  std::optional<Interval> span;
  for_each_time(trace, [&](std::int64_t begin_ns, std::int64_t end_ns) {
    if (!span) span = Interval{begin_ns, end_ns};
    span->begin_ns = std::min(span->begin_ns, begin_ns);
    span->end_ns = std::max(span->end_ns, end_ns);
  });
  return span;
}

}  // namespace

bool is_usable(const RankTrace& trace, const TraceRecord& record) {
  return is_plausible(record) && record.name < trace.names.size();
}

TimelineAxis::TimelineAxis(std::span<const RankTrace> traces, std::span<const ClockFit> fits)
    : fits_(fits), shifts_ns_(traces.size(), 0) {
  HOCKET_CHECK(traces.size() == fits.size(), "each trace has a fit of its clock");
  if (traces.empty()) return;
  relate(traces);
  std::optional<std::int64_t> origin_ns, zero_ns;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (const auto span = span_of(traces[i])) {
      const std::int64_t begin_ns = from_origin(i, span->begin_ns);
      origin_ns = std::min(origin_ns.value_or(begin_ns), begin_ns);
    }
  }
  // Below 0, its distance from other times might be no number.
  origin_ns_ = std::max<std::int64_t>(origin_ns.value_or(0), 0);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    for_each_time(traces[i], [&](std::int64_t begin_ns, std::int64_t) {
      const std::int64_t at_ns = from_origin(i, begin_ns);
      zero_ns = std::min(zero_ns.value_or(at_ns), at_ns);
    });
  }
  zero_ns_ = zero_ns.value_or(0);
}

void TimelineAxis::relate(std::span<const RankTrace> traces) {
  const std::size_t reference = reference_index(traces);
  const auto common = span_of(traces[reference]);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (i == reference || fits_[i].method != "none") continue;
    const auto own = span_of(traces[i]);
    if (!own || !common) continue;
    std::string note = "rank " + std::to_string(traces[i].rank) +
                       "'s clock is related to no other; profile with a clock exchange";
    if (own->end_ns < common->begin_ns || common->end_ns < own->begin_ns) {
      // The axis would mostly be the time between the two, which means nothing.
      shifts_ns_[i] = common->begin_ns - own->begin_ns;
      note += ". Its records are drawn as if they began with those of rank " +
              std::to_string(traces[reference].rank);
    }
    notes_.push_back(std::move(note));
  }
}

std::int64_t TimelineAxis::from_origin(std::size_t trace, std::int64_t clock_ns) const {
  const ClockFit& fit = fits_[trace];
  clock_ns = sum_within(clock_ns, shifts_ns_[trace]);
  const double since_ns = static_cast<double>(clock_ns) - static_cast<double>(fit.reference_ns);
  const double moved_ns = fit.offset_ns + fit.drift * since_ns;
  // The sum is exact, whatever the time, where a double holds what is added.
  if (std::abs(moved_ns) < kExactNs) {
    return sum_within(clock_ns - origin_ns_, std::llround(moved_ns));
  }
  const double at_ns = fit.to_reference_ns(clock_ns, origin_ns_);
  constexpr auto kFarthest = static_cast<double>(kFarthestNs);
  return std::llround(std::clamp(at_ns, -kFarthest, kFarthest));
}

std::int64_t TimelineAxis::at(std::size_t trace, std::int64_t clock_ns) const {
  return from_origin(trace, clock_ns) - zero_ns_;
}

}  // namespace hocket
