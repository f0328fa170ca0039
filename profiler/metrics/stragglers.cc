#include "profiler/metrics/stragglers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/statistics.h"
#include "profiler/metrics/significance.h"

namespace hocket {
namespace {

/// Steps, evenly chosen, that the trend is computed from.
constexpr std::size_t kMostTrendSteps = 300;
/// Share of a rank's lateness that its cause must explain.
constexpr double kExplainedShare = 0.4;
/// Share of all lateness that the bursts of one rank must be.
constexpr double kOwnShare = 0.6;
/// In a burst the latest rank is so many times later than in a quiet step, and the quantile of its
/// lateness that is a quiet step's; bursts may take up half of the steps.
constexpr double kOutstanding = 2;
constexpr double kQuietQuantile = 0.25;
/// The lateness of all episodes is scaled to this sum for the randomization test.
constexpr double kEpisodeWeights = 1000;
/// Lateness below the bound that errors of the clocks explain.
constexpr double kResiduals = 2;
/// Episodes from which an even distance between them is told, and how even it must be.
constexpr std::size_t kFewestPeriods = 4;
constexpr double kMostUneven = 0.2;

/// Lateness of each rank in each step: steps × ranks.
using Lateness = std::vector<std::vector<double>>;

/// Returns the median of `sorted` without its entry `left_out`. Requires two entries.
double median_without(const std::vector<double>& sorted, std::size_t left_out) {
  const std::size_t count = sorted.size() - 1;
  const auto at = [&](std::size_t i) { return sorted[i < left_out ? i : i + 1]; };
  return count % 2 == 1 ? at(count / 2) : (at(count / 2 - 1) + at(count / 2)) / 2;
}

/// Returns for each value the median of the others. Requires two values.
std::vector<double> medians_of_others(const std::vector<double>& values) {
  std::vector<double> sorted = values, medians;
  std::ranges::sort(sorted);
  for (const double value : values) {
    const auto at = std::ranges::lower_bound(sorted, value) - sorted.begin();
    medians.push_back(median_without(sorted, static_cast<std::size_t>(at)));
  }
  return medians;
}

bool counts(const JobStep& step, std::size_t ranks) {
  return step.ranks.size() == ranks &&
         std::ranges::all_of(step.ranks, [](const RankStep& r) { return r.blocked_ns >= 0; });
}

std::vector<double> values_of(const JobStep& step, double RankStep::*part) {
  std::vector<double> values;
  for (const RankStep& rank : step.ranks) values.push_back(rank.*part);
  return values;
}

std::vector<double> of_rank(const Lateness& lateness, std::size_t rank) {
  std::vector<double> values;
  for (const auto& step : lateness) values.push_back(step[rank]);
  return values;
}

constexpr auto kNobody = static_cast<std::size_t>(-1);

/// A run of steps in which the same rank is the latest, and late.
struct Episode {
  std::size_t rank = 0, first = 0;  // first: index of a step
  double most_ns = 0;               // lateness of its latest step
};

class Finding {
 public:
  explicit Finding(const StragglerInput& input)
      : input_(input), ranks_(input.ranks.size()), less_late_(ranks_), later_(ranks_) {
    for (const JobStep& step : input.steps) {
      if (!counts(step, ranks_)) continue;
      steps_.push_back(&step);
      const auto blocked = values_of(step, &RankStep::blocked_ns);
      found_.blocked_ns += mean(blocked);
      auto& late = lateness_.emplace_back(ranks_, 0.0);
      if (ranks_ < 2) continue;
      const auto others = medians_of_others(blocked);
      for (std::size_t rank = 0; rank < ranks_; ++rank) late[rank] = others[rank] - blocked[rank];
    }
    found_.steps = std::ssize(steps_);
    found_.iteration_ns = input.iteration_ns;
    found_.least_ns =
        std::max({kLeastStragglerShare * input.iteration_ns, kResiduals * input.residual_ns, 1.0});
    if (!steps_.empty()) found_.blocked_ns /= static_cast<double>(steps_.size());
  }

  Stragglers find() {
    compare_ranks();
    summarize_ranks();
    summarize_places();
    if (ranks_ < 2 || found_.steps < kFewestStragglerSteps || input_.iteration_ns <= 0)
      return std::move(found_);
    find_episodes();
    judge_ranks();
    found_.verdict = verdict();
    return std::move(found_);
  }

 private:
  /// Orders the ranks of each step: how many are less late than each, and who is last alone.
  void compare_ranks() {
    for (const auto& late : lateness_) {
      auto sorted = late;
      std::ranges::sort(sorted);
      const bool is_alone = ranks_ > 1 && sorted[ranks_ - 1] > sorted[ranks_ - 2];
      const auto last = std::ranges::max_element(late) - late.begin();
      last_.push_back(is_alone ? static_cast<std::size_t>(last) : kNobody);
      for (std::size_t rank = 0; rank < ranks_; ++rank) {
        less_late_[rank] += std::ranges::lower_bound(sorted, late[rank]) - sorted.begin();
        later_[rank] += sorted.end() - std::ranges::upper_bound(sorted, late[rank]);
      }
    }
  }

  void summarize_ranks() {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      StragglerRank& summary = found_.ranks.emplace_back();
      summary.rank = input_.ranks[rank];
      if (lateness_.empty()) continue;
      auto late = of_rank(lateness_, rank);
      const auto steps = static_cast<double>(late.size());
      for (std::size_t step = 0; step < late.size(); ++step) {
        if (late[step] >= found_.least_ns) summary.late_share += 1 / steps;
        if (last_[step] == rank) summary.last_share += 1 / steps;
        summary.kept_waiting_ns += std::max(late[step], 0.0) / steps;
      }
      summary.late_median_ns = median(late);
      summary.late_p95_ns = quantile(std::move(late), 0.95);
    }
  }

  /// Returns the probability that a rank which is as often late as the others has this many ranks
  /// below it; with `early`, above it.
  double order_chance(std::size_t rank, bool early) const {
    return uniform_sum_tail(found_.steps, std::ssize(input_.ranks),
                            early ? later_[rank] : less_late_[rank]);
  }

  /// A burst stands out: in a quiet step, whoever is latest is only half as late.
  void find_episodes() {
    std::vector<double> most;
    for (const auto& late : lateness_) most.push_back(*std::ranges::max_element(late));
    burst_ns_ = std::max(found_.least_ns, kOutstanding * quantile(std::move(most), kQuietQuantile));
    std::size_t before = kNobody;
    for (std::size_t step = 0; step < lateness_.size(); ++step) {
      const auto latest = std::ranges::max_element(lateness_[step]);
      const bool is_late = *latest >= burst_ns_;
      const auto rank =
          is_late ? static_cast<std::size_t>(latest - lateness_[step].begin()) : kNobody;
      if (is_late && rank != before) episodes_.push_back({rank, step, *latest});
      if (is_late) episodes_.back().most_ns = std::max(episodes_.back().most_ns, *latest);
      before = rank;
    }
  }

  /// Returns for each rank the probability that its episodes are as late in sum, or later, if each
  /// episode could be any rank's.
  std::vector<double> episode_chances() const {
    double all_ns = 0;
    for (const Episode& episode : episodes_) all_ns += episode.most_ns;
    std::vector<std::int64_t> weights, own(ranks_, 0);
    for (const Episode& episode : episodes_) {
      weights.push_back(std::llround(episode.most_ns / all_ns * kEpisodeWeights));
      own[episode.rank] += weights.back();
    }
    const auto tails = drawn_sum_tails(weights, 1 / static_cast<double>(ranks_));
    std::vector<double> chances;
    for (const std::int64_t sum : own) chances.push_back(tails[static_cast<std::size_t>(sum)]);
    return chances;
  }

  std::vector<std::size_t> episodes_of(std::size_t rank) const {
    std::vector<std::size_t> firsts;
    for (const Episode& episode : episodes_) {
      if (episode.rank == rank) firsts.push_back(episode.first);
    }
    return firsts;
  }

  void judge_ranks() {
    // Three hypotheses for each rank: late in most steps, with a trend, in bursts.
    const auto in_bursts = episode_chances();
    std::vector<double> chances;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      chances.push_back(order_chance(rank, false));
      chances.push_back(trend_chance(thinned(rank)));
      chances.push_back(in_bursts[rank]);
    }
    chances = holm_corrected(chances);
    for (std::size_t rank = 0; rank < ranks_; ++rank) judge(rank, &chances[3 * rank]);
  }

  void judge(std::size_t rank, const double* chances) {
    StragglerRank& summary = found_.ranks[rank];
    const auto late = of_rank(lateness_, rank);
    if (chances[1] < kStragglerError) find_trend(rank, summary);
    if (summary.pattern != StragglerPattern::none) {
      summary.chance = chances[1];
    } else if (chances[0] < kStragglerError && summary.late_median_ns >= found_.least_ns) {
      summary.pattern = StragglerPattern::persistent;
      summary.chance = chances[0];
    } else if (chances[2] < kStragglerError && burst_matters(rank)) {
      summary.pattern = pattern_of_episodes(rank, summary);
      summary.chance = chances[2];
    }
    if (summary.pattern != StragglerPattern::none) find_cause(rank, late, summary);
  }

  std::vector<double> thinned(std::size_t rank) const {
    const std::size_t step = lateness_.size() / kMostTrendSteps + 1;
    std::vector<double> values;
    for (std::size_t i = 0; i < lateness_.size(); i += step) values.push_back(lateness_[i][rank]);
    return values;
  }

  /// Sets the pattern if the lateness changes by as much as matters, and by half of what it is.
  void find_trend(std::size_t rank, StragglerRank& summary) const {
    const auto values = thinned(rank);
    const auto third = static_cast<std::ptrdiff_t>(values.size() / 3);
    const double first = median({values.begin(), values.begin() + third + 1});
    const double last = median({values.end() - third - 1, values.end()});
    const double change = median_slope(values) * static_cast<double>(values.size());
    const double most = std::max(first, last);
    if (most < found_.least_ns || std::abs(change) < std::max(found_.least_ns, most / 2)) return;
    summary.change_ns = change;
    summary.pattern = change > 0 ? StragglerPattern::growing : StragglerPattern::shrinking;
  }

  bool burst_matters(std::size_t rank) const {
    double own = 0, all = 0;
    for (const auto& late : lateness_) {
      const double most = *std::ranges::max_element(late);
      if (most < burst_ns_) continue;
      all += most;
      if (late[rank] == most) own += most;
    }
    return own >= kOwnShare * all && own >= found_.least_ns * static_cast<double>(lateness_.size());
  }

  StragglerPattern pattern_of_episodes(std::size_t rank, StragglerRank& summary) const {
    const auto firsts = episodes_of(rank);
    if (firsts.size() < kFewestPeriods) return StragglerPattern::bursts;
    std::vector<double> distances;
    for (std::size_t i = 1; i < firsts.size(); ++i) {
      distances.push_back(
          static_cast<double>(steps_[firsts[i]]->step - steps_[firsts[i - 1]]->step));
    }
    const double usual = median(distances);
    const auto even = std::ranges::count_if(
        distances, [&](double d) { return std::abs(d - usual) <= kMostUneven * usual; });
    if (usual < 2 || static_cast<double>(even) < 0.8 * static_cast<double>(distances.size()))
      return StragglerPattern::bursts;
    summary.period = std::llround(usual);
    return StragglerPattern::periodic;
  }

  /// Returns the mean over `late` steps by how much more time `rank` spends on a part than the
  /// median of the others.
  std::optional<double> excess(std::size_t rank, const std::vector<std::size_t>& late,
                               double RankStep::*part) const {
    std::vector<double> values;
    for (const std::size_t step : late) {
      const auto all = values_of(*steps_[step], part);
      if (std::ranges::all_of(all, [](double value) { return value >= 0; }))
        values.push_back(all[rank] - medians_of_others(all)[rank]);
    }
    if (2 * values.size() < late.size() || values.empty()) return std::nullopt;
    return mean(values);
  }

  void find_cause(std::size_t rank, const std::vector<double>& lateness, StragglerRank& summary) {
    const bool in_bursts = summary.pattern == StragglerPattern::bursts ||
                           summary.pattern == StragglerPattern::periodic;
    const double least_ns = in_bursts ? burst_ns_ : found_.least_ns;
    std::vector<std::size_t> late;
    double by_ns = 0;
    for (std::size_t step = 0; step < lateness.size(); ++step) {
      if (lateness[step] < least_ns) continue;
      late.push_back(step);
      by_ns += lateness[step];
    }
    if (late.empty()) return;
    by_ns /= static_cast<double>(late.size());
    StragglerParts& parts = summary.excess;
    parts = {excess(rank, late, &RankStep::compute_ns), excess(rank, late, &RankStep::host_ns),
             excess(rank, late, &RankStep::data_ns), excess(rank, late, &RankStep::transfer_ns),
             excess(rank, late, &RankStep::copy_ns)};
    const std::pair<std::optional<double>, StragglerCause> causes[] = {
        {parts.compute_ns, StragglerCause::computation},
        {parts.host_ns, StragglerCause::host},
        {parts.data_ns, StragglerCause::data},
        {parts.transfer_ns, StragglerCause::link},
        {parts.copy_ns, StragglerCause::copies}};
    double most = kExplainedShare * by_ns;
    for (const auto& [value, cause] : causes) {
      if (!value || *value < most) continue;
      most = *value;
      summary.cause = cause;
    }
  }

  StragglerVerdict verdict() const {
    const auto blames = [](const StragglerRank& r) { return r.pattern != StragglerPattern::none; };
    if (std::ranges::any_of(found_.ranks, blames)) return StragglerVerdict::late_ranks;
    if (found_.blocked_ns < found_.least_ns) return StragglerVerdict::none;
    std::vector<double> chances;
    for (std::size_t rank = 0; rank < ranks_; ++rank) chances.push_back(order_chance(rank, true));
    const auto corrected = holm_corrected(chances);
    const bool is_uneven =
        std::ranges::any_of(corrected, [](double chance) { return chance < kStragglerError; });
    return is_uneven ? StragglerVerdict::uneven : StragglerVerdict::alternating;
  }

  void summarize_places() {
    struct Seen {
      std::vector<double> skew, alone;
      std::map<std::size_t, std::int64_t> last;
    };
    std::map<std::size_t, Seen> seen;
    for (const ComparedArrivals& arrivals : input_.arrivals) {
      if (arrivals.place >= input_.places.size() || arrivals.members.size() < 2) continue;
      auto members = arrivals.members;
      std::ranges::stable_sort(members, {}, &ComparedArrivals::Late::late_ns);
      if (members.back().rank >= ranks_) continue;
      Seen& place = seen[arrivals.place];
      place.skew.push_back(members.back().late_ns - members.front().late_ns);
      place.alone.push_back(members.back().late_ns - members[members.size() - 2].late_ns);
      ++place.last[members.back().rank];
    }
    for (auto& [index, place] : seen) {
      const auto last = std::ranges::max_element(
          place.last, {}, [](const auto& rank_and_count) { return rank_and_count.second; });
      const auto count = std::ssize(place.skew);
      found_.places.push_back(
          {.place = input_.places[index],
           .count = count,
           .last_rank = input_.ranks[last->first],
           .last_share = static_cast<double>(last->second) / static_cast<double>(count),
           .skew_median_ns = median(place.skew),
           .skew_p95_ns = quantile(place.skew, 0.95),
           .alone_median_ns = median(place.alone),
           .alone_p95_ns = quantile(place.alone, 0.95)});
    }
    std::ranges::stable_sort(found_.places, std::ranges::greater{},
                             &StragglerPlace::skew_median_ns);
  }

  const StragglerInput& input_;
  const std::size_t ranks_;
  std::vector<const JobStep*> steps_;
  Lateness lateness_;
  std::vector<std::size_t> last_;  // by step: the rank that is last alone, or kNobody
  // By rank, over all steps: how many ranks are less late than it, and later.
  std::vector<std::int64_t> less_late_, later_;
  std::vector<Episode> episodes_;
  double burst_ns_ = 0;  // lateness from which a step counts as a burst
  Stragglers found_;
};

nlohmann::json to_json(const StragglerRank& rank) {
  nlohmann::json document = {{"rank", rank.rank},
                             {"last_share", rank.last_share},
                             {"late_share", rank.late_share},
                             {"kept_waiting_ns", rank.kept_waiting_ns},
                             {"late_median_ns", rank.late_median_ns},
                             {"late_p95_ns", rank.late_p95_ns},
                             {"pattern", to_string(rank.pattern)}};
  if (rank.pattern == StragglerPattern::none) return document;
  document["cause"] = to_string(rank.cause);
  document["chance"] = rank.chance;
  document["confidence"] = confidence_of(rank);
  if (rank.change_ns != 0) document["change_ns"] = rank.change_ns;
  if (rank.period != 0) document["period"] = rank.period;
  auto& excess = document["excess"] = nlohmann::json::object();
  const auto add = [&](const char* name, const std::optional<double>& value) {
    if (value) excess[name] = *value;
  };
  add("compute_ns", rank.excess.compute_ns);
  add("host_ns", rank.excess.host_ns);
  add("data_ns", rank.excess.data_ns);
  add("transfer_ns", rank.excess.transfer_ns);
  add("copy_ns", rank.excess.copy_ns);
  return document;
}

nlohmann::json to_json(const StragglerPlace& place) {
  return {{"name", place.place.name},
          {"group", place.place.group},
          {"position", place.place.position},
          {"count", place.count},
          {"last_rank", place.last_rank},
          {"last_share", place.last_share},
          {"skew_median_ns", place.skew_median_ns},
          {"skew_p95_ns", place.skew_p95_ns},
          {"alone_median_ns", place.alone_median_ns},
          {"alone_p95_ns", place.alone_p95_ns}};
}

}  // namespace

Stragglers find_stragglers(const StragglerInput& input) {
  return Finding(input).find();
}

std::string_view confidence_of(const StragglerRank& rank) {
  constexpr double kHigh = 1e-4;
  if (rank.pattern == StragglerPattern::none) return "none";
  return rank.chance < kHigh ? "high" : "moderate";
}

std::string_view to_string(StragglerPattern pattern) {
  constexpr std::string_view kWords[] = {"none",      "persistent", "growing",
                                         "shrinking", "periodic",   "bursts"};
  return kWords[static_cast<std::size_t>(pattern)];
}

std::string_view to_string(StragglerCause cause) {
  constexpr std::string_view kWords[] = {"unknown", "computation", "host",
                                         "data",    "link",        "copies"};
  return kWords[static_cast<std::size_t>(cause)];
}

std::string_view to_string(StragglerVerdict verdict) {
  constexpr std::string_view kWords[] = {"too_few", "none", "late_ranks", "uneven", "alternating"};
  return kWords[static_cast<std::size_t>(verdict)];
}

nlohmann::json to_json(const Stragglers& stragglers) {
  auto ranks = nlohmann::json::array(), places = ranks;
  for (const StragglerRank& rank : stragglers.ranks) ranks.push_back(to_json(rank));
  for (const StragglerPlace& place : stragglers.places) places.push_back(to_json(place));
  return {{"verdict", to_string(stragglers.verdict)}, {"steps", stragglers.steps},
          {"iteration_ns", stragglers.iteration_ns},  {"blocked_ns", stragglers.blocked_ns},
          {"least_ns", stragglers.least_ns},          {"ranks", std::move(ranks)},
          {"collectives", std::move(places)}};
}

}  // namespace hocket
