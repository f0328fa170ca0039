#pragma once

// Predicts a training step: runs the scheduler's own Plan on a virtual clock, with streams,
// channels and links that take the time that a step description says. A pure function of its input:
// equal times are ordered by the sequence in which they were scheduled, and random draws depend on
// the description's seed alone.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/plan/captured_step.h"
#include "core/plan/plan_observer.h"
#include "core/step/schedule_config.h"
#include "core/step/step_description.h"
#include "core/trace/trace_sink.h"

namespace hocket {

/// The simulation's virtual time, for what its observer writes down.
class SimulationClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now_ns_; }
  /// Never waits: virtual time passes between events, not while one is handled.
  void sleep_until_ns(std::int64_t) const override {}
  void set_ns(std::int64_t now_ns) { now_ns_ = now_ns; }

 private:
  std::int64_t now_ns_ = 0;
};

struct StepLayout;

struct SimulationOptions {
  ScheduleConfig config;
  /// How many iterations to simulate. 0: until the period repeats; with jitter kJitterIterations.
  std::int64_t iterations = 0;
  /// Receives what one simulated rank does, if not null. A part's interval lasts from when it takes
  /// a channel until it is done; lanes are chosen so that intervals of one lane never overlap.
  TraceSink* trace = nullptr;
  /// Receives the decisions of that rank's plan, at virtual times, if not null.
  PlanObserver* observer = nullptr;
  /// Set to the virtual time before each event, if not null.
  SimulationClock* clock = nullptr;
  /// Which rank `trace` and `observer` watch.
  std::int64_t watched_rank = 0;
};

inline constexpr std::int64_t kJitterIterations = 32;

/// Times of one steady iteration; busy times are means over the ranks.
struct Simulation {
  std::int64_t iteration_ns = 0;      ///< steady period between iterations
  std::int64_t compute_ns = 0;        ///< at least one compute task was running
  std::int64_t communication_ns = 0;  ///< at least one part held a channel or was not done
  std::int64_t exposed_ns = 0;        ///< of that, while no compute task was running
  /// T*: no schedule on these streams and links is faster (core/sim/step_bound.h).
  std::int64_t bound_ns = 0;
  /// η = (C + M − T) / (C + M − T*), see core/step/overlap_bound.h.
  double efficiency = 1;
  /// Each simulated iteration, from the first.
  std::vector<std::int64_t> iterations_ns;
  std::int64_t parts = 0;  ///< a step's parts
  /// Ends of tasks, beginnings and ends of transfers, ends of parts, over all simulated ranks.
  std::int64_t events = 0;
  std::int64_t simulated_ranks = 0;  ///< after folding identical ones
  /// Of the last iteration: the collective (counted from 0 in the step) of each part, in the order
  /// in which they started. What order=static repeats.
  std::vector<std::uint32_t> part_order;
  /// Keeps the names in trace events valid.
  std::shared_ptr<const CapturedStep> names;
};

/// Simulates `step` under `options.config`, which partitions it first where it says so
/// (core/partitioning/step_partition.h): collectives are then those of the partitioned step.
/// invalid_argument when `step` or the configuration does not validate, they do not fit each other,
/// or the two make more work than kMaxStepParts parts a step, or kMaxStepTasks pieces.
Result<Simulation> simulate(const StepDescription& step, const SimulationOptions& options);

/// A step made ready to be simulated under many configurations, each of which then costs its events
/// alone. Immutable; thread-safe.
class PreparedStep {
 public:
  /// invalid_argument when `step` does not validate. Jitter is left out.
  static Result<PreparedStep> make(StepDescription step);

  /// Simulation::iteration_ns of simulate() with so many `iterations`. invalid_argument as from
  /// there.
  Result<std::int64_t> iteration_ns(const ScheduleConfig& config,
                                    std::int64_t iterations = 0) const;

  /// All that simulate() tells but the bound and the efficiency; the events of a static order count
  /// those in which it was found.
  Result<Simulation> simulation(const ScheduleConfig& config, std::int64_t iterations = 0) const;

  /// In the general form.
  const StepDescription& step() const;

 private:
  explicit PreparedStep(std::shared_ptr<const StepLayout> layout) : layout_(std::move(layout)) {}

  std::shared_ptr<const StepLayout> layout_;
};

/// The order in which the parts of `step`, partitioned where `config` says so, start when the most
/// urgent goes first, without jitter: what every rank repeats under order=static.
Result<std::vector<std::uint32_t>> static_order(const StepDescription& step,
                                                const ScheduleConfig& config);

inline constexpr std::int64_t kMaxStepParts = 20'000'000;

/// What the plan of a partitioned step has as its partition_bytes: it cuts nothing more.
inline constexpr std::int64_t kPiecesAreWholeBytes = kMaxStepTaskBytes;

}  // namespace hocket
