#include "job/training/training.h"

#include <utility>

#include "core/base/check.h"
#include "core/files/file_stream.h"
#include "core/files/regular_file.h"
#include "core/host/host_executor.h"
#include "core/partitioning/step_partition.h"
#include "core/tape/tape.h"
#include "job/step/scheduler_submitter.h"

namespace hocket {
namespace {

/// Reports the iteration time of the step before `step`, and what this rank counted in it; both
/// steps have finished.
void report_iteration(const TrainingPhase& phase, std::int64_t step, LiveJob& live) {
  if (step == phase.first_step) return;
  const auto activity = phase.live->activity ? phase.live->activity(step - 1) : std::nullopt;
  if (activity) {
    live.counted(step - 1,
                 {.waited_ns = activity->exposed_ns, .computed_ns = activity->computed_ns});
  }
  const auto ns = phase.live->iteration_ns ? phase.live->iteration_ns(step - 1) : std::nullopt;
  if (!ns) return;
  phase.live->measured(live);
  live.iteration(step - 1, *ns, activity);
}

/// Captures a step if the phase's steps are to be launched; otherwise returns null.
std::shared_ptr<Scheduler::Capture> capture_step(TrainedModel& model, const TrainingPhase& phase,
                                                 bool runs_whole_steps, Scheduler& scheduler) {
  if (!runs_whole_steps || phase.config.step_issue != StepIssue::graph) return nullptr;
  if (phase.serial || phase.live || phase.options.observer) return nullptr;
  scheduler.begin_capture();
  model.submit_tasks();
  return scheduler.end_capture();
}

Result<void> run_steps(const Training& training, const TrainingPhase& phase, bool runs_whole_steps,
                       Scheduler& scheduler, Submitter& submitter, LiveJob* live) {
  training.model.attach(submitter);
  const auto captured = capture_step(training.model, phase, runs_whole_steps, scheduler);
  const DataId late = training.model.first_gradient();
  // end_step() lets up to kStepsAhead steps run ahead.
  std::int64_t done = phase.first_step;
  for (std::int64_t step = phase.first_step; step < phase.end_step; ++step) {
    training.model.draw(step);
    if (!captured) training.model.submit_tasks();
    if (live) live->submit(late);
    if (auto ok = captured ? scheduler.launch(captured) : scheduler.end_step(); !ok) return ok;
    for (; done <= step - Scheduler::kStepsAhead; ++done) {
      training.step_done(done);
      if (live) report_iteration(phase, done, *live);
    }
    if (!live) continue;
    if (auto ok = live->step_submitted(); !ok) return ok;
    if (!phase.live->pauses || !phase.live->pauses(step + 1 - phase.first_step)) continue;
    if (auto ok = scheduler.synchronize(); !ok) return ok;
    phase.live->paused();
  }
  if (auto ok = scheduler.synchronize(); !ok) return ok;
  for (; done < phase.end_step; ++done) training.step_done(done);
  if (live) {
    live->finish();
    phase.live->done(*live);
  }
  return {};
}

}  // namespace

Result<void> run_phase(const Training& training, const TrainingPhase& phase) {
  const std::unique_ptr<Executor> executor =
      training.make_executor ? training.make_executor()
                             : std::make_unique<HostExecutor>(training.collective, training.clock);
  std::optional<LiveJob> live;  // must outlive the tasks that it submits
  SchedulerOptions scheduler_options = phase.options;
  scheduler_options.memory = training.memory;
  HOCKET_CHECK(!phase.serial || !training.memory, "a placed step runs when it ends");
  Scheduler scheduler(phase.config, *executor, std::move(scheduler_options));
  if (phase.live) {
    LiveJobOptions options = phase.live->options;
    options.tuning.config = phase.config;
    options.static_order = phase.options.static_order.value_or(std::vector<std::uint32_t>());
    options.first_step = phase.first_step;
    live.emplace(std::move(options), scheduler, phase.live->link, training.clock);
  }
  LiveJob* const tuned = live ? &*live : nullptr;
  const bool runs_whole_steps = executor->runs_whole_steps();
  SchedulerSubmitter submitter(scheduler, phase.serial);
  return run_steps(training, phase, runs_whole_steps, scheduler, submitter, tuned);
}

std::optional<std::string> why_task_by_task(const TrainingPhase& phase, bool on_device, int ranks) {
  const ScheduleConfig& config = phase.config;
  const bool is_negotiated =
      config.order == CollectiveOrder::negotiated ||
      (config.order == CollectiveOrder::static_order && !phase.options.static_order);
  if (config.step_issue != StepIssue::graph) return std::nullopt;
  if (!on_device) return "a host runs tasks; use --device cuda";
  if (phase.live) return "a job that listens while it trains submits each step anew";
  if (phase.options.observer) return "a profile is of tasks";
  if (is_negotiated && ranks > 1)
    return "the order of collectives is negotiated while they run; use order=fifo or order=static";
  return std::nullopt;
}

Result<void> run_recorded_phase(const Training& training, TrainingPhase phase,
                                const std::string& name, const std::string& path) {
  const int rank = training.collective.rank();
  const std::string file = rank == 0 ? path : path + "." + std::to_string(rank);
  auto opened = open_to_write(file, Writing::from_begin);
  if (!opened) return failure(opened.error().in("the tape"));
  FileWriter output(std::move(*opened));
  const auto axes = training.collective.mesh().axes();
  const TapeHeader header{.plan = plan_options(phase.config, phase.options.static_order.has_value(),
                                               rank, training.servers),
                          .rank = rank,
                          .ranks = training.collective.world_size(),
                          .virtual_time = false,
                          .name = name,
                          .axes = {axes.begin(), axes.end()},
                          .ranks_per_host = training.collective.ranks_per_host()};
  Result<void> trained;
  {
    TapeWriter tape(header, training.clock, [&output](std::string_view bytes) {
      output.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    });
    phase.options.observer = &tape;
    trained = run_phase(training, phase);
  }
  if (!output.close() && trained)
    return failure(ErrorCode::unavailable, "cannot write the tape " + file);
  return trained;
}

}  // namespace hocket
