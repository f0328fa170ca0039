#include "profiler/clocks/clock_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/base/intervals.h"
#include "core/base/json_reader.h"
#include "core/trace/paired_collectives.h"
#include "profiler/clocks/common_ends.h"
#include "profiler/clocks/offset_bounds.h"
#include "profiler/clocks/robust_line.h"

namespace hocket {
namespace {

constexpr ClockRange kDrifts{-kMostDrift, kMostDrift};

/// Typical difference of two hosts' realtime clocks under NTP, and of two clocks of one host when
/// they are read one after the other.
constexpr double kHostsApartNs = 1e6, kReadingsApartNs = 1e3;
/// Two ranks of one host share a clock if it is this close to the realtime clock on both.
constexpr double kSharedClockNs = 1e6;
/// Samples of the realtime clock over a shorter span give no estimate of its drift.
constexpr std::int64_t kDriftSpanNs = 1'000'000'000;

constexpr std::array<std::string_view, 6> kMethods{"none",        "own",  "exchange",
                                                   "collectives", "both", "realtime"};

/// Shifts times since 1970 to points near zero, since a double does not hold them exactly.
struct Frame {
  std::int64_t time_ns = 0, offset_ns = 0;

  double x(std::int64_t time) const {
    return static_cast<double>(saturated_difference(time, time_ns));
  }
  double y(std::int64_t offset) const {
    return static_cast<double>(saturated_difference(offset, offset_ns));
  }
  ClockFit fit(const FittedLine& line) const {
    ClockFit fit;
    fit.reference_ns = time_ns;
    fit.offset_ns = static_cast<double>(offset_ns) + line.at_0;
    fit.drift = line.slope;
    return fit;
  }
};

/// A round of the exchange on a rank and on the reference.
struct RoundPair {
  Interval own, reference;
};

/// Returns the bounds on the offset from one round. A round ends on no rank before it has begun on
/// every rank. So the offset is at most `high` when the rank begins and at least `low` when it
/// ends.
ClockRange offsets_of(const RoundPair& pair, const Frame& frame) {
  return {frame.y(saturated_difference(pair.reference.begin_ns, pair.own.end_ns)),
          frame.y(saturated_difference(pair.reference.end_ns, pair.own.begin_ns))};
}

std::int64_t middle_ns(const Interval& interval) {
  return interval.begin_ns + (interval.end_ns - interval.begin_ns) / 2;
}

Frame frame_of(const std::vector<RoundPair>& rounds) {
  std::int64_t first_ns = rounds.front().own.end_ns, last_ns = first_ns;
  for (const RoundPair& pair : rounds) {
    first_ns = std::min(first_ns, pair.own.end_ns);
    last_ns = std::max(last_ns, pair.own.end_ns);
  }
  return {middle_ns({first_ns, last_ns}),
          saturated_difference(rounds.front().reference.end_ns, rounds.front().own.end_ns)};
}

OffsetBounds bounds_of(const std::vector<RoundPair>& rounds, const Frame& frame) {
  OffsetBounds bounds;
  for (const RoundPair& pair : rounds) {
    bounds.add({frame.x(pair.own.begin_ns), frame.x(pair.own.end_ns)}, offsets_of(pair, frame));
  }
  return bounds;
}

/// Returns the largest error in `span` of a line within the bounds, whose drift is in `drifts`.
double largest_error(const FittedLine& line, const OffsetBounds& bounds, ClockRange drifts,
                     ClockRange span) {
  double error_ns = 0;
  for (const double x : {span.low, 0.0, span.high}) {
    const ClockRange possible = bounds.offsets(drifts, x);
    error_ns = std::max({error_ns, possible.high - line.at(x), line.at(x) - possible.low});
  }
  return error_ns;
}

/// Returns the time of a trace's records in a frame.
ClockRange span_of(const RankTrace& trace, const Frame& frame) {
  ClockRange span;
  for (const TraceRecord& record : trace.records) {
    if (!is_plausible(record)) continue;
    span.low = std::min(span.low, frame.x(record.begin_ns));
    span.high = std::max(span.high, frame.x(record.end_ns));
  }
  return span;
}

/// Fits the middle of the range that the bounds leave. The residual holds over all of the trace,
/// `span`: far from the rounds an error of the drift outweighs one of the offset.
ClockFit fit_bounds(const OffsetBounds& bounds, const Frame& frame, ClockRange span) {
  const auto drifts = bounds.drifts(kDrifts);
  const double drift = drifts ? drifts->middle() : bounds.best_drift(kDrifts);
  const ClockRange left = bounds.offsets(drift);
  const FittedLine line{left.middle(), drift};
  ClockFit fit = frame.fit(line);
  fit.method = "exchange";
  if (!drifts) {
    fit.residual_ns = (bounds.least_width() - left.width()) / 2;
    return fit;
  }
  fit.residual_ns = largest_error(line, bounds, *drifts, span);
  return fit;
}

/// Returns `line`, moved as little as needed to lie within the bounds; nothing if no line does.
std::optional<FittedLine> kept_within(const OffsetBounds& bounds,
                                      const std::vector<LinePoint>& points, const FittedLine& line,
                                      double drift_error) {
  const ClockRange near{std::max(line.slope - drift_error, -kMostDrift),
                        std::min(line.slope + drift_error, kMostDrift)};
  auto drifts = bounds.drifts(near);
  if (!drifts) drifts = bounds.drifts(kDrifts);
  if (!drifts) return std::nullopt;
  FittedLine kept = with_slope(points, std::clamp(line.slope, drifts->low, drifts->high));
  const ClockRange offsets = bounds.offsets(*drifts, 0);
  kept.at_0 = std::clamp(kept.at_0, offsets.low, offsets.high);
  return kept;
}

/// Fits the ends of collectives, kept within the bounds of the exchange.
ClockFit fit_ends(const EndsFit& ends, const std::vector<RoundPair>& rounds,
                  const RankTrace& trace) {
  const Frame frame{ends.time_ns, ends.offset_ns};
  const OffsetBounds bounds = bounds_of(rounds, frame);
  FittedLine line = ends.line;
  ClockFit fit;
  fit.method = "collectives";
  fit.residual_ns = ends.error_ns;
  if (!bounds.empty()) {
    if (const auto kept = kept_within(bounds, ends.points, line, ends.slope_error)) {
      line = *kept;
      fit.method = "both";
      if (const auto drifts = bounds.drifts(kDrifts)) {
        fit.residual_ns =
            std::min(fit.residual_ns, largest_error(line, bounds, *drifts, span_of(trace, frame)));
      }
      fit.residual_ns = std::max(fit.residual_ns, median_distance(ends.points, line));
    } else {
      fit.residual_ns =
          std::max(fit.residual_ns, -bounds.offsets(bounds.best_drift(kDrifts)).width() / 2);
    }
  }
  const ClockFit placed = frame.fit(line);
  fit.reference_ns = placed.reference_ns;
  fit.offset_ns = placed.offset_ns;
  fit.drift = placed.drift;
  return fit;
}

ClockFit fit_rounds(const std::vector<RoundPair>& rounds, const RankTrace& trace) {
  const Frame frame = frame_of(rounds);
  return fit_bounds(bounds_of(rounds, frame), frame, span_of(trace, frame));
}

/// The line from a rank's clock to the realtime clock of its host.
struct RealtimeLine {
  Frame frame;
  FittedLine line;
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
  std::vector<LinePoint> points;
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
  const double disagreement = std::abs(
      static_cast<double>(saturated_difference(from->frame.offset_ns, to->frame.offset_ns)) +
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

/// Returns the usable rounds that both ranks have.
std::vector<RoundPair> common_rounds(const RankTrace& own, const RankTrace& reference,
                                     std::span<const std::vector<ClockRound>> rounds) {
  std::vector<RoundPair> pairs;
  const auto is_usable = [](const ClockRound& round) {
    return 0 <= round.begin_ns && round.begin_ns <= round.end_ns;
  };
  const auto mine = rounds_of(own, rounds), theirs = rounds_of(reference, rounds);
  for (std::size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) {
    if (!is_usable(mine[i]) || !is_usable(theirs[i])) continue;
    pairs.push_back({{mine[i].begin_ns, mine[i].end_ns}, {theirs[i].begin_ns, theirs[i].end_ns}});
  }
  return pairs;
}

void read_fit(JsonReader& reader, ClockFit& fit) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  reader.integer("reference_ns", fit.reference_ns, 0, kMost);
  reader.number("offset_ns", fit.offset_ns);
  reader.number("drift", fit.drift, -0.5, 0.5);
  reader.number("residual_ns", fit.residual_ns, 0);
  reader.integer("samples", fit.samples, 0, kMost);
  reader.value("method",
               [&](const JsonValue& method) { fit.method = kMethods[method.word(kMethods)]; });
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
  return read_json(document, read_fit, "clock fit");
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
  const auto ends = fit_common_ends(traces, PairedCollectives(traces), reference);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (i == reference) {
      fits[i].method = "own";
      continue;
    }
    const auto common = common_rounds(traces[i], traces[reference], rounds);
    if (ends[i].samples > 0) {
      fits[i] = fit_ends(ends[i], common, traces[i]);
    } else {
      fits[i] = common.empty() ? fit_realtime(traces[i], traces[reference])
                               : fit_rounds(common, traces[i]);
    }
    if (ends[i].samples > 0 || !common.empty())
      fits[i].samples = ends[i].samples + std::ssize(common);
  }
  return fits;
}

}  // namespace hocket
