#include "profiler/clocks/common_ends.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/statistics.h"

namespace hocket {
namespace {

/// Evenly chosen collectives of a group that are used: more do not make a fit better than a clock.
constexpr std::size_t kMostOfGroup = 512;
constexpr int kMostFitRounds = 50;
constexpr double kConvergedNs = 0.5;
constexpr double kNearMostDrift = 0.95 * kMostDrift;
/// Standard deviation of a drift of which nothing is known.
constexpr double kLikelyDrift = kMostDrift / 2;
/// One-sided probability of the confidence interval. A median is noisier than a mean by π/2.
constexpr double kConfidence = 0.999, kMedianVariance = 1.5708;
/// Standard deviations in the median distance of a normal distribution.
constexpr double kNormalDistance = 1.4826;
/// Number of a rank's own ends from which they tell their scatter better than all ranks' do.
constexpr double kOwnScatter = 12;
/// Degrees of freedom below which a median distance does not tell the scatter.
constexpr double kFewFreedoms = 12;
/// One rank may always end so much later than others: the last hop of a ring. No ends tell that
/// from an offset.
constexpr double kHopNs = 1000;
/// Share of collectives from which contradictions of causality are no accident.
constexpr double kContradictions = 0.1;

std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (!__builtin_add_overflow(a, b, &result)) return result;
  return a < 0 ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

bool ends_everywhere_at_once(const TraceRecord& record) {
  return record.collective == CollectiveKind::all_reduce ||
         record.collective == CollectiveKind::all_gather ||
         record.collective == CollectiveKind::reduce_scatter;
}

/// A part of a collective on one rank.
struct End {
  std::size_t trace = 0, collective = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  double x = 0;   ///< end since the middle of the rank's ends
  double at = 0;  ///< end on the reference's clock with the rank's first offset, since its origin
};

/// Half the difference of two, without overflow.
std::int64_t middle_of(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(
                   (static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low)) / 2);
}

class CommonEnds {
 public:
  CommonEnds(std::span<const RankTrace> traces, const PairedCollectives& paired,
             std::size_t reference)
      : traces_(traces), reference_(reference), fits_(traces.size()), depth_(traces.size(), -1) {
    choose(paired);
    relate(paired);
    prepare();
  }

  std::vector<EndsFit> fit() {
    if (!ends_.empty()) {
      for (int round = 0; round < kMostFitRounds; ++round)
        if (improve(quick_line) < kConvergedNs) break;
      improve([](const std::vector<LinePoint>& points) { return robust_line(points, kMostDrift); });
      judge();
    }
    fits_[reference_].line = {};
    fits_[reference_].error_ns = 0;
    return std::move(fits_);
  }

 private:
  /// Chooses the collectives of each group that have parts on two ranks and end together.
  void choose(const PairedCollectives& paired) {
    std::vector<std::vector<std::size_t>> of_group(paired.groups().size());
    for (std::size_t i = 0; i < paired.size(); ++i)
      if (is_usable(paired[i])) of_group[paired[i].group].push_back(i);
    for (const auto& all : of_group) {
      const std::size_t count = std::min(all.size(), kMostOfGroup);
      for (std::size_t i = 0; i < count; ++i) chosen_.push_back(all[i * all.size() / count]);
    }
  }

  static bool is_usable(const PairedCollective& collective) {
    const TraceRecord* first = nullptr;
    std::size_t parts = 0;
    for (const TraceRecord* part : collective.parts) {
      if (!part) continue;
      if (!first) first = part;
      if (part->collective != first->collective) return false;
      ++parts;
    }
    return parts >= 2 && ends_everywhere_at_once(*first);
  }

  /// Finds each rank's first offset, rank by rank from the reference outwards.
  void relate(const PairedCollectives& paired) {
    std::vector<std::vector<std::size_t>> chosen_of(paired.groups().size());
    for (const std::size_t i : chosen_) chosen_of[paired[i].group].push_back(i);
    depth_[reference_] = 0;
    std::deque<std::size_t> queue{reference_};
    while (!queue.empty()) {
      const std::size_t from = queue.front();
      queue.pop_front();
      for (std::size_t group = 0; group < chosen_of.size(); ++group) {
        const auto& members = paired.groups()[group].traces;
        const auto own = std::ranges::lower_bound(members, from);
        if (chosen_of[group].empty() || own == members.end() || *own != from) continue;
        for (std::size_t m = 0; m < members.size(); ++m) {
          if (depth_[members[m]] >= 0) continue;
          const auto offset = offset_between(paired, chosen_of[group], m,
                                             static_cast<std::size_t>(own - members.begin()));
          if (!offset) continue;
          depth_[members[m]] = depth_[from] + 1;
          fits_[members[m]].offset_ns = saturated_sum(fits_[from].offset_ns, *offset);
          queue.push_back(members[m]);
        }
      }
    }
    for (const std::size_t i : chosen_) add_ends(paired, i);
  }

  static std::optional<std::int64_t> offset_between(const PairedCollectives& paired,
                                                    const std::vector<std::size_t>& chosen,
                                                    std::size_t of, std::size_t to) {
    std::vector<std::int64_t> offsets;
    for (const std::size_t i : chosen) {
      const auto parts = paired[i].parts;
      if (parts[of] && parts[to])
        offsets.push_back(saturated_difference(parts[to]->end_ns, parts[of]->end_ns));
    }
    if (offsets.empty()) return std::nullopt;
    const auto middle = offsets.begin() + static_cast<std::ptrdiff_t>(offsets.size() / 2);
    std::nth_element(offsets.begin(), middle, offsets.end());
    return *middle;
  }

  /// Adds the ends of a collective on ranks that are related to the reference.
  void add_ends(const PairedCollectives& paired, std::size_t index) {
    const PairedCollective collective = paired[index];
    const auto& members = paired.groups()[collective.group].traces;
    const std::size_t first = ends_.size();
    for (std::size_t m = 0; m < members.size(); ++m) {
      const TraceRecord* part = collective.parts[m];
      if (part && depth_[members[m]] >= 0)
        ends_.push_back({members[m], first_.size(), part->begin_ns, part->end_ns});
    }
    if (ends_.size() < first + 2) {
      ends_.resize(first);
    } else {
      first_.push_back(first);
    }
  }

  void prepare() {
    first_.push_back(ends_.size());
    std::vector<std::pair<std::int64_t, std::int64_t>> spans(
        traces_.size(), {std::numeric_limits<std::int64_t>::max(), 0});
    for (const End& end : ends_) {
      auto& [low, high] = spans[end.trace];
      low = std::min(low, end.end_ns);
      high = std::max(high, end.end_ns);
      ++fits_[end.trace].samples;
    }
    for (std::size_t i = 0; i < fits_.size(); ++i)
      if (fits_[i].samples > 0) fits_[i].time_ns = middle_of(spans[i].first, spans[i].second);
    origin_ns_ = fits_[reference_].time_ns;
    of_trace_.resize(traces_.size());
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      End& end = ends_[i];
      end.x = static_cast<double>(saturated_difference(end.end_ns, fits_[end.trace].time_ns));
      end.at = end.x + shift(end.trace);
      of_trace_[end.trace].push_back(i);
    }
    for (auto& of : of_trace_)
      std::ranges::stable_sort(of, {}, [&](std::size_t i) { return ends_[i].x; });
    positions_.resize(ends_.size());
    common_.resize(first_.size() - 1);
    place();
  }

  /// Returns the place of a rank's middle on the reference's clock, with its first offset.
  double shift(std::size_t trace) const {
    const EndsFit& fit = fits_[trace];
    return static_cast<double>(
        saturated_sum(saturated_difference(fit.time_ns, origin_ns_), fit.offset_ns));
  }

  /// Places all ends by the present lines, and takes the median of each collective's.
  void place() {
    for (std::size_t i = 0; i < ends_.size(); ++i)
      positions_[i] = ends_[i].at + fits_[ends_[i].trace].line.at(ends_[i].x);
    for (std::size_t c = 0; c + 1 < first_.size(); ++c) {
      common_[c] = median({positions_.begin() + static_cast<std::ptrdiff_t>(first_[c]),
                           positions_.begin() + static_cast<std::ptrdiff_t>(first_[c + 1])});
    }
  }

  std::vector<LinePoint> points_of(std::size_t trace) const {
    std::vector<LinePoint> points;
    for (const std::size_t i : of_trace_[trace])
      points.push_back({ends_[i].x, common_[ends_[i].collective] - ends_[i].at});
    return points;
  }

  /// Returns a line through points sorted by x in linear time: each point of the first half is
  /// paired with one of the second (Theil's incomplete method).
  static FittedLine quick_line(const std::vector<LinePoint>& points) {
    std::vector<double> slopes;
    const std::size_t half = points.size() - points.size() / 2;
    for (std::size_t i = 0; i + half < points.size(); ++i) {
      const double apart = points[i + half].x - points[i].x;
      if (apart > 0) slopes.push_back((points[i + half].y - points[i].y) / apart);
    }
    const double slope = slopes.empty() ? 0 : median(std::move(slopes));
    return with_slope(points, std::clamp(slope, -kMostDrift, kMostDrift));
  }

  /// Returns the sum of squared distances of x from its mean.
  static double leverage(const std::vector<LinePoint>& points) {
    double sum = 0, squares = 0;
    for (const LinePoint& point : points) sum += point.x;
    const double middle = sum / static_cast<double>(points.size());
    for (const LinePoint& point : points) squares += (point.x - middle) * (point.x - middle);
    return squares;
  }

  /// Fits every rank's line to the common ends, and the common ends to the lines. Returns the
  /// largest change of an offset.
  template <class FitLine>
  double improve(const FitLine& fit_line) {
    std::vector<FittedLine> lines(fits_.size());
    for (std::size_t trace = 0; trace < fits_.size(); ++trace) {
      if (fits_[trace].samples == 0) continue;
      auto points = points_of(trace);
      FittedLine line = fit_line(points);
      // A drift that the ends hardly tell is drawn towards none.
      const double scatter = kNormalDistance * median_distance(points, line);
      const double ratio = scatter / kLikelyDrift;
      const double squares = leverage(points);
      if (squares > 0) line = with_slope(points, line.slope * squares / (squares + ratio * ratio));
      lines[trace] = line;
    }
    // The reference's own clock has no offset: its line moves all others instead.
    const FittedLine own = lines[reference_];
    double change = 0;
    for (std::size_t trace = 0; trace < fits_.size(); ++trace) {
      if (fits_[trace].samples == 0) continue;
      const FittedLine line{lines[trace].at_0 - own.at_0 - own.slope * shift(trace),
                            std::clamp(lines[trace].slope - own.slope, -kMostDrift, kMostDrift)};
      change = std::max(change, std::abs(line.at_0 - fits_[trace].line.at_0));
      fits_[trace].line = line;
    }
    place();
    return change;
  }

  /// The scatter of ends around their common times.
  struct Scatter {
    double deviation = 0, distance = 0;  // standard deviation of one end, and median distance
    double freedom = 0;                  // degrees of freedom
  };

  /// Returns the distance of an end from the median of the other members' ends, on the scale of the
  /// scatter of a single end. The median of all would often be the end itself.
  double distance_from_others(std::size_t end) const {
    const std::size_t c = ends_[end].collective;
    const double* const sorted = &sorted_[first_[c]];
    const std::size_t count = first_[c + 1] - first_[c];
    const auto own = static_cast<std::size_t>(
        std::lower_bound(sorted, sorted + count, positions_[end]) - sorted);
    const auto other = [&](std::size_t i) { return sorted[i < own ? i : i + 1]; };
    const double middle = (other((count - 2) / 2) + other((count - 1) / 2)) / 2;
    const auto others = static_cast<double>(count - 1);
    const double of_median = others <= 2 ? 1 / others : kMedianVariance / others;
    return std::abs(positions_[end] - middle) / std::sqrt(1 + of_median);
  }

  /// Returns the scatter of the ends `of`, with `constants` fitted to them.
  Scatter scatter_of(const std::vector<std::size_t>& of, double constants) const {
    std::vector<double> distances;
    double shares = 0, squares = 0;
    for (const std::size_t i : of) {
      const std::size_t c = ends_[i].collective;
      const auto members = static_cast<double>(first_[c + 1] - first_[c]);
      // The common time is made of the ends themselves.
      shares += (members - 1) / members;
      distances.push_back(distance_from_others(i));
      squares += distances.back() * distances.back() * (members - 1) / members;
    }
    Scatter scatter;
    scatter.freedom = shares - constants;
    scatter.distance = median(std::move(distances));
    scatter.deviation = kNormalDistance * scatter.distance;
    if (scatter.freedom <= 0) return scatter;
    scatter.deviation *= std::sqrt(static_cast<double>(of.size()) /
                                   std::max(static_cast<double>(of.size()) - constants, 1.0));
    // A robust line runs through some of few points, so that their median distance is about 0.
    if (scatter.freedom < kFewFreedoms)
      scatter.deviation = std::max(scatter.deviation, std::sqrt(squares / scatter.freedom));
    return scatter;
  }

  /// The last two begins and the first two ends of a collective.
  struct Extremes {
    static constexpr double kMost = std::numeric_limits<double>::max();
    double last_begin = -kMost, begin_before = -kMost, first_end = kMost, end_after = kMost;

    double last_begin_but(double own) const {
      return own >= last_begin ? begin_before : last_begin;
    }
    double first_end_but(double own) const { return own <= first_end ? end_after : first_end; }
  };

  /// Finds what is needed of the other ends of each collective.
  void compare() {
    sorted_ = positions_;
    extremes_.resize(common_.size());
    for (std::size_t c = 0; c + 1 < first_.size(); ++c) {
      std::sort(sorted_.begin() + static_cast<std::ptrdiff_t>(first_[c]),
                sorted_.begin() + static_cast<std::ptrdiff_t>(first_[c + 1]));
      Extremes& of = extremes_[c];
      of.first_end = sorted_[first_[c]];
      of.end_after = sorted_[first_[c] + 1];
      for (std::size_t i = first_[c]; i < first_[c + 1]; ++i) {
        const double begin = begin_of(ends_[i], i);
        of.begin_before = std::max(of.begin_before, std::min(begin, of.last_begin));
        of.last_begin = std::max(of.last_begin, begin);
      }
    }
  }

  void judge() {
    compare();
    std::vector<std::size_t> all(ends_.size());
    double ranks = 0;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    for (const EndsFit& fit : fits_) ranks += fit.samples > 0 ? 1 : 0;
    const Scatter pooled = scatter_of(all, 2 * (ranks - 1));
    const Uncertainty of_reference = uncertainty_of(reference_, pooled);
    for (std::size_t trace = 0; trace < fits_.size(); ++trace)
      if (fits_[trace].samples > 0) judge(trace, pooled, of_reference);
    judge_causality();
  }

  /// The uncertainty of a rank's own line by its ends.
  struct Uncertainty {
    double variance = 0;  // variance of one end
    double of_middle = 0, of_slope = 0;
    double freedom = 0, distance = 0;
  };

  Uncertainty uncertainty_of(std::size_t trace, const Scatter& pooled) const {
    const Scatter own = scatter_of(of_trace_[trace], 2);
    Uncertainty known;
    // Some ends of a rank may agree by accident, so all ranks' scatter counts beside its own.
    const double of_own = std::max(own.freedom, 0.0),
                 of_all = std::min(pooled.freedom, kOwnScatter);
    const double mixed =
        (of_own * own.deviation * own.deviation + of_all * pooled.deviation * pooled.deviation) /
        std::max(of_own + of_all, 1.0);
    const double deviation = std::max(std::sqrt(mixed), own.deviation);
    const auto count = static_cast<double>(of_trace_[trace].size());
    known.variance = kMedianVariance * deviation * deviation;
    known.of_middle = known.variance / std::max(count, 1.0);
    known.of_slope = 1 / (leverage(points_of(trace)) / std::max(known.variance, 1e-9) +
                          1 / (kLikelyDrift * kLikelyDrift));
    known.freedom = std::max(pooled.freedom, own.freedom);
    known.distance = own.distance;
    return known;
  }

  void judge(std::size_t trace, const Scatter& pooled, const Uncertainty& of_reference) {
    EndsFit& fit = fits_[trace];
    fit.points = points_of(trace);
    const Uncertainty own = uncertainty_of(trace, pooled);
    const double causal_ns = causal_bound(trace);
    if (own.freedom < 1) {
      fit.error_ns = causal_ns;
      fit.slope_error = kMostDrift;
      return;
    }
    // The reference's own ends scatter, too, and so do those of the ranks between them.
    const double between = std::max(depth_[trace] - 1, 0);
    const double of_middle = own.of_middle * (1 + between) + of_reference.of_middle;
    const double of_slope = own.of_slope * (1 + between) + of_reference.of_slope;
    const double far = farthest(trace);
    const double quantile = student_t_quantile(
        kConfidence, std::clamp(static_cast<double>(2 * fit.samples - 2), 1.0, own.freedom));
    fit.slope_error = quantile * std::sqrt(of_slope);
    fit.error_ns = quantile * std::sqrt(of_middle + of_slope * far * far) +
                   std::max(pooled.distance, own.distance) + kHopNs;
    fit.error_ns = std::max(std::min(fit.error_ns, causal_ns), own.distance);
    // A line does not follow a drift that is larger than a clock's. Then its largest distance is
    // twice the median one.
    if (std::abs(fit.line.slope) >= kNearMostDrift)
      fit.error_ns += 4 * median_distance(fit.points, fit.line);
  }

  /// Returns the largest distance of the trace's communication from the middle of its ends.
  double farthest(std::size_t trace) const {
    double far = 0;
    for (const TraceRecord& record : traces_[trace].records) {
      if (record.kind != TraceKind::communication || !is_plausible(record)) continue;
      for (const std::int64_t time : {record.begin_ns, record.end_ns})
        far = std::max(
            far, std::abs(static_cast<double>(saturated_difference(time, fits_[trace].time_ns))));
    }
    return far;
  }

  double begin_of(const End& end, std::size_t index) const {
    return positions_[index] - static_cast<double>(end.end_ns - end.begin_ns);
  }

  /// Returns by how much the rank's clock may be off such that in each collective it ends after the
  /// others have begun and begins before they have ended.
  double causal_bound(std::size_t trace) const {
    double low = -std::numeric_limits<double>::max(), high = std::numeric_limits<double>::max();
    for (const std::size_t i : of_trace_[trace]) {
      const Extremes& others = extremes_[ends_[i].collective];
      const double begin = begin_of(ends_[i], i);
      low = std::max(low, others.last_begin_but(begin) - positions_[i]);
      high = std::min(high, others.first_end_but(positions_[i]) - begin);
    }
    return std::max(std::abs(low), std::abs(high));
  }

  /// Makes the error of ranks cover what contradicts causality: a collective ends on no rank before
  /// it has begun on all.
  void judge_causality() {
    std::vector<std::vector<double>> excess(fits_.size());
    for (std::size_t c = 0; c + 1 < first_.size(); ++c) {
      std::size_t last = first_[c], first = first_[c];
      for (std::size_t i = first_[c]; i < first_[c + 1]; ++i) {
        if (begin_of(ends_[i], i) > begin_of(ends_[last], last)) last = i;
        if (positions_[i] < positions_[first]) first = i;
      }
      const double over = begin_of(ends_[last], last) - positions_[first];
      if (over <= fits_[ends_[last].trace].error_ns + fits_[ends_[first].trace].error_ns) continue;
      excess[ends_[last].trace].push_back(over);
      excess[ends_[first].trace].push_back(over);
    }
    for (std::size_t trace = 0; trace < fits_.size(); ++trace) {
      const double share = static_cast<double>(excess[trace].size()) /
                           static_cast<double>(std::max<std::int64_t>(fits_[trace].samples, 1));
      if (share >= kContradictions)
        fits_[trace].error_ns = std::max(fits_[trace].error_ns, median(excess[trace]));
    }
  }

  std::span<const RankTrace> traces_;
  const std::size_t reference_;
  std::vector<EndsFit> fits_;
  std::vector<int> depth_;  ///< ranks between this one and the reference, plus 1; −1: unrelated
  std::vector<std::size_t> chosen_;
  std::vector<End> ends_;                           ///< by collective
  std::vector<std::size_t> first_;                  ///< first end of each collective, and the end
  std::vector<std::vector<std::size_t>> of_trace_;  ///< indices of ends
  std::vector<double> positions_, common_;          ///< of each end; median of each collective
  std::vector<double> sorted_;                      ///< positions, sorted within collectives
  std::vector<Extremes> extremes_;                  ///< extremes of each collective
  std::int64_t origin_ns_ = 0;
};

}  // namespace

std::int64_t saturated_difference(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (!__builtin_sub_overflow(a, b, &result)) return result;
  return a < b ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

std::vector<EndsFit> fit_common_ends(std::span<const RankTrace> traces,
                                     const PairedCollectives& paired, std::size_t reference) {
  return CommonEnds(traces, paired, reference).fit();
}

}  // namespace hocket
