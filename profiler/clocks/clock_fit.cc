#include "profiler/clocks/clock_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/base/intervals.h"
#include "core/base/json.h"
#include "core/trace/sequenced_records.h"
#include "profiler/clocks/offset_bounds.h"
#include "profiler/clocks/robust_line.h"

namespace hocket {
namespace {

/// Largest drift between two clocks that NTP steers (RFC 5905, MAXFREQ).
constexpr double kMostDrift = 500e-6;
constexpr Range kDrifts{-kMostDrift, kMostDrift};

/// Smallest number of ends whose distances are evidence: any two lie on a line.
constexpr std::int64_t kFewEnds = 4;

/// Typical difference of two hosts' realtime clocks under NTP, and of two clocks of one host when
/// they are read one after the other.
constexpr double kHostsApartNs = 1e6, kReadingsApartNs = 1e3;
/// Two ranks of one host share a clock if it is this close to the realtime clock on both.
constexpr double kSharedClockNs = 1e6;
/// Samples of the realtime clock over a shorter span give no estimate of its drift.
constexpr std::int64_t kDriftSpanNs = 1'000'000'000;

constexpr std::array<std::string_view, 6> kMethods{"none",        "own",  "exchange",
                                                   "collectives", "both", "realtime"};

/// Returns a − b, saturated: times from files may be any numbers.
std::int64_t difference(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (!__builtin_sub_overflow(a, b, &result)) return result;
  return a < b ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

/// Shifts times since 1970 to points near zero, since a double does not hold them exactly.
struct Frame {
  std::int64_t time_ns = 0, offset_ns = 0;

  double x(std::int64_t time) const { return static_cast<double>(difference(time, time_ns)); }
  double y(std::int64_t offset) const { return static_cast<double>(difference(offset, offset_ns)); }
  ClockFit fit(const Line& line) const {
    ClockFit fit;
    fit.reference_ns = time_ns;
    fit.offset_ns = static_cast<double>(offset_ns) + line.at_0;
    fit.drift = line.slope;
    return fit;
  }
};

/// Observations that relate one rank's clock to the reference's: ends of common collectives, and
/// rounds.
struct Evidence {
  struct Pair {
    Interval own, reference;
  };
  std::vector<Pair> ends, rounds;
};

bool ends_everywhere_at_once(const TraceRecord& record) {
  return record.collective == CollectiveKind::all_reduce ||
         record.collective == CollectiveKind::all_gather ||
         record.collective == CollectiveKind::reduce_scatter;
}

/// Returns the bounds on the offset from one collective. A collective that needs all ranks ends on
/// no rank before it has begun on every rank. So the offset is at most `high` when the rank begins
/// and at least `low` when it ends.
Range offsets_of(const Evidence::Pair& pair, const Frame& frame) {
  return {frame.y(pair.reference.begin_ns - pair.own.end_ns),
          frame.y(pair.reference.end_ns - pair.own.begin_ns)};
}

std::int64_t middle_ns(const Interval& interval) {
  return interval.begin_ns + (interval.end_ns - interval.begin_ns) / 2;
}

Frame frame_of(const Evidence& evidence) {
  const auto& pairs = evidence.ends.empty() ? evidence.rounds : evidence.ends;
  std::int64_t first_ns = pairs.front().own.end_ns, last_ns = first_ns;
  for (const auto& pair : pairs) {
    first_ns = std::min(first_ns, pair.own.end_ns);
    last_ns = std::max(last_ns, pair.own.end_ns);
  }
  return {middle_ns({first_ns, last_ns}),
          pairs.front().reference.end_ns - pairs.front().own.end_ns};
}

OffsetBounds bounds_of(const Evidence& evidence, const Frame& frame) {
  OffsetBounds bounds;
  for (const auto& pair : evidence.rounds) {
    bounds.add({frame.x(pair.own.begin_ns), frame.x(pair.own.end_ns)}, offsets_of(pair, frame));
  }
  return bounds;
}

/// Fits the middle of the range that the bounds leave. The residual holds over all of the trace,
/// `span`: far from the rounds an error of the drift outweighs one of the offset.
ClockFit fit_bounds(const OffsetBounds& bounds, const Frame& frame, Range span) {
  const auto drifts = bounds.drifts(kDrifts);
  const double drift = drifts ? drifts->middle() : bounds.best_drift(kDrifts);
  const Range left = bounds.offsets(drift);
  const Line line{left.middle(), drift};
  ClockFit fit = frame.fit(line);
  fit.method = "exchange";
  if (!drifts) {
    fit.residual_ns = (bounds.least_width() - left.width()) / 2;
    return fit;
  }
  for (const double x : {span.low, 0.0, span.high}) {
    const Range possible = bounds.offsets(*drifts, x);
    fit.residual_ns =
        std::max({fit.residual_ns, possible.high - line.at(x), line.at(x) - possible.low});
  }
  return fit;
}

/// Returns `line`, moved as little as needed to lie within the bounds; nothing if no line does.
std::optional<Line> kept_within(const OffsetBounds& bounds, const std::vector<Point>& points,
                                const Line& line, double drift_error) {
  const Range near{std::max(line.slope - drift_error, -kMostDrift),
                   std::min(line.slope + drift_error, kMostDrift)};
  auto drifts = bounds.drifts(near);
  if (!drifts) drifts = bounds.drifts(kDrifts);
  if (!drifts) return std::nullopt;
  Line kept = with_slope(points, std::clamp(line.slope, drifts->low, drifts->high));
  const Range offsets = bounds.offsets(*drifts, 0);
  kept.at_0 = std::clamp(kept.at_0, offsets.low, offsets.high);
  return kept;
}

double least_bound_ns(const Evidence& evidence, const Frame& frame) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& pair : evidence.ends) least = std::min(least, offsets_of(pair, frame).width());
  return least / 2;
}

ClockFit fit_ends(const Evidence& evidence, const OffsetBounds& bounds, const Frame& frame) {
  std::vector<Point> points;
  double last = 0;
  for (const auto& pair : evidence.ends) {
    points.push_back({frame.x(pair.own.end_ns), frame.y(pair.reference.end_ns - pair.own.end_ns)});
    last = std::max(last, std::abs(points.back().x));
  }
  Line line = robust_line(points, kMostDrift);
  const double distance = median_distance(points, line);
  const bool are_few = std::ssize(points) < kFewEnds;
  const double drift_error = are_few || last == 0 ? kMostDrift : distance / last;
  std::string method = "collectives";
  double contradiction = 0;
  if (!bounds.empty()) {
    if (const auto kept = kept_within(bounds, points, line, drift_error)) {
      line = *kept;
      method = "both";
    } else {
      contradiction = -bounds.offsets(bounds.best_drift(kDrifts)).width() / 2;
    }
  }
  ClockFit fit = frame.fit(line);
  fit.method = method;
  fit.residual_ns = std::max({median_distance(points, line), contradiction,
                              are_few ? least_bound_ns(evidence, frame) : 0.0});
  return fit;
}

ClockFit fit_evidence(const Evidence& evidence, const RankTrace& trace) {
  const Frame frame = frame_of(evidence);
  const OffsetBounds bounds = bounds_of(evidence, frame);
  ClockFit fit;
  if (evidence.ends.empty()) {
    Range span;
    for (const TraceRecord& record : trace.records) {
      if (!is_plausible(record)) continue;
      span.low = std::min(span.low, frame.x(record.begin_ns));
      span.high = std::max(span.high, frame.x(record.end_ns));
    }
    fit = fit_bounds(bounds, frame, span);
  } else {
    fit = fit_ends(evidence, bounds, frame);
  }
  fit.samples = std::ssize(evidence.ends) + std::ssize(evidence.rounds);
  return fit;
}

/// The line from a rank's clock to the realtime clock of its host.
struct RealtimeLine {
  Frame frame;
  Line line;
  double distance = 0;
  std::int64_t samples = 0;
};

std::optional<RealtimeLine> realtime_line(const RankTrace& trace) {
  std::vector<ClockSample> samples;
  for (const ClockSample& sample : trace.clock_samples) {
    if (sample.clock_ns >= 0 && sample.realtime_ns >= 0) samples.push_back(sample);
  }
  if (samples.empty()) return std::nullopt;
  const ClockSample& middle = samples[samples.size() / 2];
  RealtimeLine result;
  result.frame = {middle.clock_ns, middle.realtime_ns - middle.clock_ns};
  std::vector<Point> points;
  for (const ClockSample& sample : samples) {
    points.push_back(
        {result.frame.x(sample.clock_ns), result.frame.y(sample.realtime_ns - sample.clock_ns)});
  }
  const auto [first, last] =
      std::minmax_element(samples.begin(), samples.end(),
                          [](const auto& a, const auto& b) { return a.clock_ns < b.clock_ns; });
  const bool is_long = last->clock_ns - first->clock_ns >= kDriftSpanNs;
  result.line = robust_line(points, is_long ? kMostDrift : 0);
  result.distance = median_distance(points, result.line);
  result.samples = std::ssize(samples);
  return result;
}

ClockFit fit_realtime(const RankTrace& own, const RankTrace& reference) {
  const auto from = realtime_line(own), to = realtime_line(reference);
  if (!from || !to) return {};
  ClockFit fit;
  fit.method = "realtime";
  fit.samples = from->samples + to->samples;
  const bool is_one_host = !own.host.empty() && own.host == reference.host;
  const double disagreement =
      std::abs(static_cast<double>(difference(from->frame.offset_ns, to->frame.offset_ns)) +
               from->line.at_0 - to->line.at_0);
  if (is_one_host && own.source == reference.source && disagreement <= kSharedClockNs) {
    fit.residual_ns = disagreement;
    return fit;
  }
  // Difference of the two realtime clocks, each at the middle of its own samples. The reference's
  // clock runs on for that time.
  const double between_ns = static_cast<double>((from->frame.time_ns + from->frame.offset_ns) -
                                                (to->frame.time_ns + to->frame.offset_ns)) +
                            from->line.at_0 - to->line.at_0;
  fit.reference_ns = from->frame.time_ns;
  fit.offset_ns = static_cast<double>(to->frame.time_ns - from->frame.time_ns) +
                  between_ns / (1 + to->line.slope);
  fit.drift = (1 + from->line.slope) / (1 + to->line.slope) - 1;
  fit.residual_ns =
      (is_one_host ? kReadingsApartNs : kHostsApartNs) + from->distance + to->distance;
  return fit;
}

std::vector<ClockRound> rounds_of(const RankTrace& trace,
                                  std::span<const std::vector<ClockRound>> rounds) {
  if (trace.rank < 0 || trace.rank >= std::ssize(rounds)) return {};
  return rounds[static_cast<std::size_t>(trace.rank)];
}

Evidence evidence_of(const RankTrace& own, const RankTrace& reference,
                     const RecordList& reference_records,
                     std::span<const std::vector<ClockRound>> rounds) {
  Evidence evidence;
  const RecordList records = sequenced_records(own);
  for_each_pair(records, reference_records, [&](std::size_t i, std::size_t j) {
    const TraceRecord &a = *records[i], &b = *reference_records[j];
    if (a.collective == b.collective && ends_everywhere_at_once(a))
      evidence.ends.push_back({{a.begin_ns, a.end_ns}, {b.begin_ns, b.end_ns}});
  });
  const auto is_usable = [](const ClockRound& round) {
    return 0 <= round.begin_ns && round.begin_ns <= round.end_ns;
  };
  const auto mine = rounds_of(own, rounds), theirs = rounds_of(reference, rounds);
  for (std::size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) {
    if (!is_usable(mine[i]) || !is_usable(theirs[i])) continue;
    evidence.rounds.push_back(
        {{mine[i].begin_ns, mine[i].end_ns}, {theirs[i].begin_ns, theirs[i].end_ns}});
  }
  return evidence;
}

}  // namespace

double ClockFit::to_reference_ns(std::int64_t clock_ns, std::int64_t origin_ns) const {
  const auto since = static_cast<double>(clock_ns - reference_ns);
  return (static_cast<double>(reference_ns - origin_ns) + offset_ns) + (since + drift * since);
}

nlohmann::json to_json(const ClockFit& fit) {
  return {{"reference_ns", fit.reference_ns}, {"offset_ns", fit.offset_ns}, {"drift", fit.drift},
          {"residual_ns", fit.residual_ns},   {"samples", fit.samples},     {"method", fit.method}};
}

Result<ClockFit> clock_fit_from_json(const nlohmann::json& document) {
  constexpr auto kWhere = "clock fit";
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (!document.is_object()) return failure(wrong_field(kWhere, "an object", document).in(kWhere));
  const auto reference_ns = read_integer(document, "reference_ns", 0, kMost);
  const auto offset_ns = read_number(document, "offset_ns");
  const auto drift = read_number(document, "drift", -0.5, 0.5);
  const auto residual_ns = read_number(document, "residual_ns", 0);
  const auto samples = read_integer(document, "samples", 0, kMost);
  const auto method = read_string(document, "method");
  if (!reference_ns) return failure(reference_ns.error().in(kWhere));
  if (!offset_ns) return failure(offset_ns.error().in(kWhere));
  if (!drift) return failure(drift.error().in(kWhere));
  if (!residual_ns) return failure(residual_ns.error().in(kWhere));
  if (!samples) return failure(samples.error().in(kWhere));
  if (!method) return failure(method.error().in(kWhere));
  if (std::find(kMethods.begin(), kMethods.end(), *method) == kMethods.end()) {
    return failure(wrong_field("method", "one of none, own, exchange, collectives, both, realtime",
                               document["method"])
                       .in(kWhere));
  }
  return ClockFit{*reference_ns, *offset_ns, *drift, *residual_ns, *samples, *method};
}

std::size_t reference_index(std::span<const RankTrace> traces) {
  HOCKET_CHECK(!traces.empty(), "a rank to compare with");
  const auto lowest =
      std::min_element(traces.begin(), traces.end(),
                       [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
  return static_cast<std::size_t>(lowest - traces.begin());
}

std::vector<ClockFit> fit_clocks(std::span<const RankTrace> traces,
                                 std::span<const std::vector<ClockRound>> rounds) {
  std::vector<ClockFit> fits(traces.size());
  if (traces.empty()) return fits;
  const std::size_t reference = reference_index(traces);
  const RecordList records = sequenced_records(traces[reference]);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (i == reference) {
      fits[i].method = "own";
      continue;
    }
    const Evidence evidence = evidence_of(traces[i], traces[reference], records, rounds);
    const bool is_none = evidence.ends.empty() && evidence.rounds.empty();
    fits[i] =
        is_none ? fit_realtime(traces[i], traces[reference]) : fit_evidence(evidence, traces[i]);
  }
  return fits;
}

}  // namespace hocket
