#pragma once

// Predicts a training step: runs the scheduler's own Plan on a virtual clock, with streams,
// channels and links that take the times of a step description. A pure function of its input:
// events at equal times are ordered by the sequence in which they were scheduled, and random draws
// depend only on the description's seed.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/plan/captured_step.h"
#include "core/plan/plan_observer.h"
#include "core/step/schedule_config.h"
#include "core/trace/trace_sink.h"

namespace hocket {

/// The simulation's virtual time, for its observer.
class SimulationClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now_ns_; }
  /// Returns immediately: virtual time passes between events, not while one is handled.
  void sleep_until_ns(std::int64_t) const override {}
  void set_ns(std::int64_t now_ns) { now_ns_ = now_ns; }

 private:
  std::int64_t now_ns_ = 0;
};

struct StepLayout;

struct SimulationOptions {
  ScheduleConfig config;
  /// Number of iterations to simulate. 0: until the period repeats; with jitter, kJitterIterations.
  std::int64_t iterations = 0;
  /// If not null, it receives the activity of one simulated rank. A part's interval lasts from when
  /// it takes a channel until it is done; lanes are chosen so that intervals of one lane never
  /// overlap. Updates on the host are on the lane after those of the streams; copies to the device
  /// are on lane 0 of copies, those to the host on lane 1.
  TraceSink* trace = nullptr;
  /// If not null, it receives the decisions of that rank's plan, at virtual times.
  PlanObserver* observer = nullptr;
  /// If not null, it is set to the virtual time before each event.
  SimulationClock* clock = nullptr;
  /// Rank that `trace` and `observer` watch.
  std::int64_t watched_rank = 0;
};

inline constexpr std::int64_t kJitterIterations = 32;

/// Times of one steady iteration; busy times are means over the ranks.
struct Simulation {
  std::int64_t iteration_ns = 0;      ///< steady period between iterations
  std::int64_t compute_ns = 0;        ///< time with at least one compute task on a stream
  std::int64_t communication_ns = 0;  ///< time with at least one part on a channel or not done
  std::int64_t exposed_ns = 0;        ///< part of communication_ns with no compute task on a stream
  /// Times with the lanes of a placed step busy: updates on the host, and copies. 0 where nothing
  /// is placed.
  std::int64_t host_ns = 0, to_device_ns = 0, to_host_ns = 0;
  /// Device memory that the placed step takes; 0 where nothing is placed.
  std::int64_t device_peak_bytes = 0;
  /// T*: no schedule on these streams and links is faster (core/sim/step_bound.h).
  std::int64_t bound_ns = 0;
  /// η = (C + M − T) / (C + M − T*), see core/plan/overlap_bound.h. C includes the other lanes of a
  /// placed step. Absent where ranks do not all take part in everything: they also wait for each
  /// other's computations, which no overlap hides.
  std::optional<double> efficiency;
  /// Durations of the simulated iterations, from the first.
  std::vector<std::int64_t> iterations_ns;
  std::int64_t parts = 0;  ///< parts of a step on rank 0
  /// Number of ends of tasks, begins and ends of transfers, and ends of parts, over all simulated
  /// ranks.
  std::int64_t events = 0;
  std::int64_t simulated_ranks = 0;  ///< after folding identical ranks
  /// For each part of the last iteration on rank 0, its collective (counted from 0 in the step), in
  /// the order in which the parts started. order=static repeats this order.
  std::vector<std::uint32_t> part_order;
  /// Keeps the names in trace events valid.
  std::shared_ptr<const CapturedStep> names;
};

/// Simulates `step` under `options.config`, after partitioning it as the configuration says
/// (core/partitioning/step_partition.h); collectives are then those of the partitioned step. A step
/// with a limit of the device's memory is placed instead (core/placement/described_placement.h).
/// Returns invalid_argument when `step` or the configuration is not valid, when they do not fit
/// each other, when the step does not fit into the device's memory, or when together they exceed
/// kMaxStepParts parts or kMaxStepTasks pieces per step.
Result<Simulation> simulate(const StepDescription& step, const SimulationOptions& options);

/// A step prepared for simulation under many configurations; each then costs only its own events.
/// Immutable; thread-safe.
class PreparedStep {
 public:
  /// Prepares `step` without its jitter. Returns invalid_argument when it is not valid.
  static Result<PreparedStep> make(StepDescription step);

  /// Returns Simulation::iteration_ns of simulate() with `iterations`. Returns invalid_argument as
  /// simulate() does.
  Result<std::int64_t> iteration_ns(const ScheduleConfig& config,
                                    std::int64_t iterations = 0) const;

  /// Returns the result of simulate() without the bound and the efficiency. With order=static,
  /// `events` includes those of finding the order.
  Result<Simulation> simulation(const ScheduleConfig& config, std::int64_t iterations = 0) const;

  /// Returns the step in the general form.
  const StepDescription& step() const;

 private:
  explicit PreparedStep(std::shared_ptr<const StepLayout> layout) : layout_(std::move(layout)) {}

  std::shared_ptr<const StepLayout> layout_;
};

/// Returns the order in which the parts of `step`, partitioned or placed as `config` says, start
/// when the most urgent goes first, without jitter. Every rank repeats it under order=static.
/// If ranks do not all take part in everything, each repeats its own part of the job's order, and
/// this is that of `rank`.
Result<std::vector<std::uint32_t>> static_order(const StepDescription& step,
                                                const ScheduleConfig& config,
                                                std::int64_t rank = 0);

inline constexpr std::int64_t kMaxStepParts = 20'000'000;

/// partition_bytes of the plan of a partitioned step: large enough that the plan cuts nothing more.
inline constexpr std::int64_t kPiecesAreWholeBytes = kMaxStepTaskBytes;

}  // namespace hocket
