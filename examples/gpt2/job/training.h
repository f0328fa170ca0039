#pragma once

// Trains a model in phases: each is a run of steps on a scheduler of its own, over one model and
// one connection. Every rank calls the same functions in the same order, from one thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/scheduler/executor.h"
#include "core/scheduler/scheduler.h"
#include "core/step/schedule_config.h"
#include "examples/gpt2/model/model.h"
#include "profiler/session/device_recorder.h"
#include "tuner/client/live/live_job.h"

namespace hocket {

/// What all phases share.
struct Training {
  Gpt2& model;
  Collective& collective;
  const Clock& clock;
  /// Makes what runs the tasks of a phase; empty: a HostExecutor.
  std::function<std::unique_ptr<Executor>()> make_executor = {};
  /// Records this rank's device in profiles; may be null.
  DeviceRecorder* recorder = nullptr;
  /// Called for each step that is done.
  std::function<void(std::int64_t)> step_done = [](std::int64_t) {};
};

/// How a phase is tuned while it trains.
struct LivePhase {
  LiveJobOptions options = {};
  DaemonLink* link = nullptr;  ///< rank 0's; null elsewhere
  /// On rank 0: what a step that is done took, where that is known and counts.
  std::function<std::optional<std::int64_t>(std::int64_t step)> iteration_ns = {};
  /// On rank 0: how such a step was spent; empty: nobody measures it.
  std::function<std::optional<JobActivity>(std::int64_t step)> activity = {};
  /// Asked on every rank before each step, counted from the phase's first: whether the training is
  /// to pause there. All ranks answer alike. Empty: never.
  std::function<bool(std::int64_t step)> pauses = {};
  /// Called on every rank in a pause, with nothing under way.
  std::function<void()> paused = [] {};
  /// Called on every rank when the phase has ended well.
  std::function<void(const LiveJob&)> done = [](const LiveJob&) {};
};

struct Phase {
  ScheduleConfig config;
  std::int64_t first_step = 0, end_step = 0;
  SchedulerOptions options = {};
  /// No computation beside communication: a collective waits for all that was submitted before it,
  /// and all after it waits for it.
  bool serial = false;
  /// If not null, every rank's step has a ballot.
  const LivePhase* live = nullptr;
};

/// Where the configuration asks for step_issue=graph, a device gets the phase's steps as graphs,
/// as far as Scheduler::replay() and why_task_by_task() say.
Result<void> run_phase(const Training& training, const Phase& phase);

/// Why `phase` goes task by task on `ranks` ranks though its configuration asks for graphs; nothing
/// where it does not ask, or gets them.
std::optional<std::string> why_task_by_task(const Phase& phase, bool on_device, int ranks);

/// As run_phase, and writes what the plan decides to the file `path` (on rank r > 0: `path`.r).
/// unavailable when the file cannot be written.
Result<void> run_recorded_phase(const Training& training, Phase phase, const std::string& path);

}  // namespace hocket
