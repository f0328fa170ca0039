#include "core/sim/partition_search/partition_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/description/step_programs.h"
#include "core/sim/partition_search/search_axes.h"
#include "core/sim/simulator.h"
#include "core/sim/step_bound.h"

namespace hocket {
namespace {

/// Inverse of the relative gain above which a configuration replaces another: 0.1 %.
constexpr std::int64_t kLeastGainShare = 1000;
/// The same for an override of a region, 0.5 %: each override complicates the configuration.
constexpr std::int64_t kLeastRegionGainShare = 200;
/// Events reserved for simplify(): this many times the events of the base, and at most this share
/// of all (its inverse).
constexpr std::int64_t kSimplifyingTimes = 8, kSimplifyingShare = 10;
/// Cost of partitioning and laying out a step, in events per task.
constexpr std::int64_t kEventsPerTask = 4;

bool is_above(std::int64_t ns, std::int64_t other_ns, std::int64_t share = kLeastGainShare) {
  return ns > other_ns + other_ns / share;
}

/// Returns `config` with the overrides that `plain` has for `region`, or with none.
ScheduleConfig with_region_of(const ScheduleConfig& plain, const std::string& region,
                              ScheduleConfig config) {
  const auto own = plain.regions.find(region);
  if (own == plain.regions.end()) {
    config.regions.erase(region);
  } else {
    config.regions[region] = own->second;
  }
  return config;
}

class PartitionSearch {
 public:
  /// No configuration may take less than `least_ns`.
  PartitionSearch(const PreparedStep& prepared, const PartitionSearchOptions& options,
                  std::int64_t least_ns)
      : prepared_(prepared),
        axes_(prepared.step(), options),
        least_ns_(least_ns),
        tolerance_(options.tolerance),
        always_(options.always),
        most_events_(options.events),
        events_(options.events) {}

  /// Runs the search from `base`. The caller adds the bound.
  Result<PartitionChoice> run(const ScheduleConfig& base);

 private:
  using Index = std::size_t;  ///< index into considered_

  bool ended() const { return events_ <= 0 || ideal_; }
  Index consider(const ScheduleConfig& config);
  bool faster(Index challenger, Index holder, std::int64_t share) const;
  /// Returns the best of `from` and the configurations that `axis` leads to from there.
  Index best_of(Index from, const MoveAxis& axis, std::int64_t share);
  /// Moves along the axes of `axes_of(config)` until none of them gives an improvement.
  template <class AxesOf>
  Index descend(Index from, std::int64_t share, const AxesOf& axes_of);
  std::vector<Index> starts_from(const ScheduleConfig& base);
  /// Returns `base`, or one that takes at most `most_ns`.
  Index simplify(Index from, Index base, std::int64_t most_ns);

  const PreparedStep& prepared_;
  const PartitionAxes axes_;
  const std::int64_t least_ns_;
  const double tolerance_;
  const std::vector<ScheduleConfig> always_;
  bool ideal_ = false;  // nothing faster can be found
  const std::int64_t most_events_;
  std::int64_t events_;  // events left
  std::vector<ConsideredPartition> considered_;
  std::map<std::string, Index> index_;
};

PartitionSearch::Index PartitionSearch::consider(const ScheduleConfig& config) {
  const auto [found, is_new] = index_.try_emplace(knob_values(config).dump(), considered_.size());
  if (!is_new) return found->second;
  ConsideredPartition considered{.config = config, .iteration_ns = 0, .refusal = {}};
  const auto simulation = prepared_.simulation(config);
  if (simulation) {
    considered.iteration_ns = simulation->iteration_ns;
    ideal_ = ideal_ || !is_above(considered.iteration_ns, least_ns_);
    events_ -= simulation->events + kEventsPerTask * simulation->names->size();
  } else {
    considered.refusal = simulation.error().message;
    events_ -= kEventsPerTask * static_cast<std::int64_t>(prepared_.step().tasks.size());
  }
  considered_.push_back(std::move(considered));
  return found->second;
}

bool PartitionSearch::faster(Index challenger, Index holder, std::int64_t share) const {
  const ConsideredPartition &a = considered_[challenger], &b = considered_[holder];
  if (!a.refusal.empty() || !b.refusal.empty()) return a.refusal.empty();
  return is_above(b.iteration_ns, a.iteration_ns, share);
}

PartitionSearch::Index PartitionSearch::best_of(Index from, const MoveAxis& axis,
                                                std::int64_t share) {
  Index best = from;
  const ScheduleConfig config = considered_[from].config;
  for (const KnobMove& move : axis) {
    if (ended()) break;
    const Index next = consider(config_after(config, move));
    if (faster(next, best, share)) best = next;
  }
  return best;
}

template <class AxesOf>
PartitionSearch::Index PartitionSearch::descend(Index from, std::int64_t share,
                                                const AxesOf& axes_of) {
  for (Index best = from;;) {
    const std::size_t axes = axes_of(considered_[best].config).size();
    for (std::size_t i = 0; i < axes; ++i)
      best = best_of(best, axes_of(considered_[best].config)[i], share);
    if (best == from || ended()) return best;
    from = best;
  }
}

/// Takes back changes that hardly help: all of them, or one region after another, then single
/// knobs.
PartitionSearch::Index PartitionSearch::simplify(Index from, Index base, std::int64_t most_ns) {
  const ScheduleConfig plain = considered_[base].config;
  const auto plain_values = knob_values(plain);
  const auto fastest_ns = static_cast<double>(considered_[from].iteration_ns);
  const auto is_near = [&](Index index) {
    const ConsideredPartition& found = considered_[index];
    return found.refusal.empty() &&
           static_cast<double>(found.iteration_ns) <= fastest_ns * (1 + tolerance_);
  };
  // No other configuration is recommended unless it is clearly faster than the base.
  if (is_near(base)) return base;
  const auto is_fast = [&](Index index) {
    return is_near(index) && considered_[index].iteration_ns <= most_ns;
  };
  const auto take = [&](const ScheduleConfig& config) {
    if (events_ <= 0) return;
    const Index simpler = consider(config);
    if (is_fast(simpler)) from = simpler;
  };
  for (const std::string& region : axes_.regions())
    take(with_region_of(plain, region, considered_[from].config));
  for (const std::string& knob : changed_knobs(plain, considered_[from].config)) {
    if (plain_values.contains(knob))
      take(config_after(considered_[from].config, {{knob, plain_values.at(knob)}}));
  }
  return from;
}

/// Returns the starting points that are not refused, the fastest first.
std::vector<PartitionSearch::Index> PartitionSearch::starts_from(const ScheduleConfig& base) {
  std::vector<Index> starts;
  for (const KnobMove& start : axes_.starts())
    if (!ended()) starts.push_back(consider(config_after(base, start)));
  std::erase_if(starts, [this](Index start) { return !considered_[start].refusal.empty(); });
  std::ranges::stable_sort(starts, {},
                           [this](Index start) { return considered_[start].iteration_ns; });
  return starts;
}

Result<PartitionChoice> PartitionSearch::run(const ScheduleConfig& base_config) {
  const Index base = consider(base_config);
  if (!considered_[base].refusal.empty())
    return failure(ErrorCode::invalid_argument, considered_[base].refusal);
  const std::int64_t kept =
      std::min(kSimplifyingTimes * (most_events_ - events_), most_events_ / kSimplifyingShare);
  events_ -= kept;
  const auto of_step = [&](const ScheduleConfig& config) { return axes_.of_step(config); };
  Index best = base;
  const auto keep = [&](Index found) {
    if (faster(found, best, kLeastGainShare)) best = found;
  };
  std::vector<Index> always;
  for (const ScheduleConfig& config : always_) {
    const Index index = consider(config);
    if (!considered_[index].refusal.empty()) continue;
    always.push_back(index);
    keep(index);
  }
  // Evaluates all starts first, before descending from the first of them uses up the events.
  keep(best_of(best, axes_.starts(), kLeastGainShare));
  keep(descend(best, kLeastGainShare, of_step));
  for (const Index start : starts_from(base_config)) {
    if (ended()) break;
    keep(descend(start, kLeastGainShare, of_step));
  }
  for (const std::string& region : axes_.regions()) {
    keep(descend(best, kLeastRegionGainShare,
                 [&](const ScheduleConfig& config) { return axes_.of_region(region, config); }));
  }
  std::int64_t most_ns = std::numeric_limits<std::int64_t>::max();
  for (const Index index : always) {
    most_ns = std::min(most_ns, considered_[index].iteration_ns);
    if (considered_[index].iteration_ns < considered_[best].iteration_ns) best = index;
  }
  const bool complete = events_ > 0;
  events_ += kept;
  best = simplify(best, base, most_ns);

  PartitionChoice choice{.config = considered_[best].config,
                         .iteration_ns = considered_[best].iteration_ns,
                         .baseline_ns = considered_[base].iteration_ns,
                         .rejected = {},
                         .events = most_events_ - events_,
                         .complete = complete};
  considered_.erase(considered_.begin() + static_cast<std::ptrdiff_t>(best));
  std::ranges::stable_sort(considered_, {}, [](const ConsideredPartition& considered) {
    return std::pair(!considered.refusal.empty(), considered.iteration_ns);
  });
  choice.rejected = std::move(considered_);
  return choice;
}

}  // namespace

Result<PartitionChoice> choose_partition(const StepDescription& step, const ScheduleConfig& base,
                                         const PartitionSearchOptions& options) {
  HOCKET_TRY(check_same_on_all_ranks(step, "the search for a partitioning"));
  const auto prepared = PreparedStep::make(step);
  HOCKET_TRY(prepared);
  HOCKET_TRY(validate(base));
  const auto base_bound = bound_of(step, base);
  HOCKET_TRY(base_bound);
  const std::int64_t least_ns = base_bound->compute_ns / base.streams;
  auto choice = PartitionSearch(*prepared, options, least_ns).run(base);
  if (!choice) return choice;
  const auto bound = bound_of(step, choice->config);
  HOCKET_TRY(bound);
  choice->bound_ns = bound->bound_ns;
  return choice;
}

}  // namespace hocket
