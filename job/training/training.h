#pragma once

// Trains a model in phases: each is a run of steps on a scheduler of its own, with the same model
// and connection. Every rank calls the same functions in the same order, from one thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "client/live/live_job.h"
#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/placement/offload_memory.h"
#include "core/scheduler/executor.h"
#include "core/scheduler/scheduler.h"
#include "core/step/schedule_config.h"
#include "job/step/trained_model.h"
#include "profiler/metrics/activity_meter.h"
#include "profiler/session/device_recorder.h"

namespace hocket {

/// State shared by all phases.
struct Training {
  TrainedModel& model;
  Collective& collective;
  const Clock& clock;
  /// Creates the executor of a phase; empty: a HostExecutor.
  std::function<std::unique_ptr<Executor>()> make_executor = {};
  /// Records this rank's device in profiles; may be null.
  DeviceRecorder* recorder = nullptr;
  /// The memories that steps are placed on; null: the device has room for a whole step.
  OffloadMemory* memory = nullptr;
  /// Parameter servers that the executors can sum over.
  int servers = 0;
  /// Called for each finished step.
  std::function<void(std::int64_t)> step_done = [](std::int64_t) {};
};

/// Live tuning of a phase while it trains.
struct LivePhase {
  LiveJobOptions options = {};
  DaemonLink* link = nullptr;  ///< rank 0's; null on other ranks
  /// On rank 0: returns the iteration time of a finished step, if it is known and counts.
  std::function<std::optional<std::int64_t>(std::int64_t step)> iteration_ns = {};
  /// On every rank: returns the activity in a finished step; empty: it is not measured.
  std::function<std::optional<IterationActivity>(std::int64_t step)> activity = {};
  /// Called on rank 0 before the time of a step is reported, to add values of the job to reports.
  std::function<void(LiveJob&)> measured = [](LiveJob&) {};
  /// Called on every rank before each step, counted from 0 in the phase: returns whether the
  /// training pauses there. All ranks must return the same value. Empty: never.
  std::function<bool(std::int64_t step)> pauses = {};
  /// Called on every rank during a pause, with nothing under way.
  std::function<void()> paused = [] {};
  /// Called on every rank when the phase has ended without an error.
  std::function<void(const LiveJob&)> done = [](const LiveJob&) {};
};

struct TrainingPhase {
  ScheduleConfig config;
  std::int64_t first_step = 0, end_step = 0;
  SchedulerOptions options = {};
  /// Runs no computation beside communication: a collective waits for everything submitted before
  /// it, and everything after it waits for it. Not where steps are placed, which run when they end.
  bool serial = false;
  /// If not null, every step has a ballot on every rank.
  const LivePhase* live = nullptr;
};

/// Trains the steps of `phase`. With step_issue=graph, a device runs them as graphs, subject to
/// Scheduler::launch() and why_task_by_task().
Result<void> run_phase(const Training& training, const TrainingPhase& phase);

/// Returns why `phase` runs task by task on `ranks` ranks although its configuration asks for
/// graphs; empty when it does not ask for them or gets them.
std::optional<std::string> why_task_by_task(const TrainingPhase& phase, bool on_device, int ranks);

/// Does what run_phase() does, and writes the plan's decisions to the file `path` (on rank r > 0:
/// `path`.r), a tape with the `name` of the program. Returns unavailable when the file cannot be
/// written.
Result<void> run_recorded_phase(const Training& training, TrainingPhase phase,
                                const std::string& name, const std::string& path);

}  // namespace hocket
