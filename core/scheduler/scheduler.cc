#include "core/scheduler/scheduler.h"

#include <utility>

#include "core/base/check.h"
#include "core/partitioning/step_partition.h"
#include "core/scheduler/dispatch.h"
#include "core/scheduler/partitioned_steps.h"
#include "core/scheduler/placed_steps.h"
#include "core/scheduler/schedule.h"
#include "core/scheduler/step_capture.h"
#include "core/scheduler/task_submission.h"
#include "core/scheduler/whole_steps.h"

namespace hocket {

static_assert(Scheduler::kStepsAhead == Dispatch::kStepsAhead);

Scheduler::Scheduler(const ScheduleConfig& config, Executor& executor, SchedulerOptions options)
    : executor_(executor),
      is_observed_(options.observer != nullptr),
      partitions_(is_partitioned(config)),
      dispatch_(std::make_unique<Dispatch>(schedule_of(config, std::move(options.static_order)),
                                           !partitions_, executor, options.trace, options.observer,
                                           options.memory != nullptr)),
      whole_steps_(std::make_unique<WholeSteps>(*dispatch_)) {
  if (options.memory) {
    HOCKET_CHECK(executor.runs_lanes(), "this executor runs no placed steps");
    placed_ = std::make_unique<PlacedSteps>(*dispatch_, *options.memory, config, options.trace);
  }
  if (auto ok = check_servers(config, executor.servers(), placed_ != nullptr); !ok)
    dispatch_->fail(ok.error());
  // No step is recognised yet, so the configuration fits.
  (void)configure_partition(config);
}

Scheduler::~Scheduler() {
  // Ends first what still runs and uses the other members.
  dispatch_.reset();
}

Schedule Scheduler::schedule_of(const ScheduleConfig& config,
                                std::vector<std::uint32_t> static_order) const {
  return hocket::schedule_of(config, std::move(static_order), rank(), world_size(),
                             executor_.servers());
}

Result<void> Scheduler::configure_partition(const ScheduleConfig& config) {
  if (!is_partitioned(config)) return {};
  if (!partitioned_) partitioned_ = std::make_unique<PartitionedSteps>(*dispatch_, grid());
  return partitioned_->configure(config);
}

Result<void> Scheduler::reconfigure(const ScheduleConfig& config,
                                    std::vector<std::uint32_t> static_order) {
  HOCKET_CHECK(!capturing_ && !dispatch_->is_submitting(),
               "the configuration changes between steps");
  if (auto ok = validate(config); !ok) return ok;
  if (auto ok = check_servers(config, executor_.servers(), placed_ != nullptr); !ok) return ok;
  if (placed_) {
    if (auto ok = dispatch_->synchronize(); !ok) return ok;
    if (auto ok = placed_->configure(config); !ok) return ok;
    return dispatch_->configure(schedule_of(config, std::move(static_order)), true);
  }
  if (auto ok = configure_partition(config); !ok) return ok;
  const bool partitions = is_partitioned(config);
  if (partitions || partitions_) {
    // The partitioned step accesses the same values under other identities, so only waiting orders
    // the two.
    if (auto ok = dispatch_->synchronize(); !ok) return ok;
  }
  auto ok = dispatch_->configure(schedule_of(config, std::move(static_order)),
                                 !partitions || partitioned_->is_recognised());
  if (ok) partitions_ = partitions;
  return ok;
}

DataId Scheduler::add_data(const DataPlace& place, std::string_view name) {
  const DataId data = dispatch_->add_data();
  if (placed_) placed_->add_data(data, place, name);
  return data;
}

void Scheduler::compute(const TaskOptions& options, std::span<const Access> accesses,
                        TaskBody body) {
  submit({.options = options,
          .accesses = static_cast<std::uint32_t>(accesses.size()),
          .body = std::move(body)},
         accesses);
}

void Scheduler::compute_pieces(const TaskOptions& options, std::span<const Access> accesses,
                               PieceBody body) {
  HOCKET_CHECK(options.place && !options.place->dimensions.empty(),
               "a computation in pieces needs a dimension");
  auto pieces = std::make_shared<const PieceBody>(std::move(body));
  const std::int64_t all = options.place->dimensions.front().extent;
  submit({.options = options,
          .accesses = static_cast<std::uint32_t>(accesses.size()),
          .body = [pieces, all] { (*pieces)({.dimension = 0, .begin = 0, .end = all}); },
          .pieces = pieces},
         accesses);
}

void Scheduler::all_reduce(const TaskOptions& options, DataId data, std::span<float> values) {
  submit_collective(options, data, values, CollectiveKind::all_reduce);
}

void Scheduler::optimizer_step(const TaskOptions& options, DataId data, std::span<float> values,
                               const OptimizerStep& step) {
  submit_collective(options, data, values, CollectiveKind::all_reduce, &step);
}

void Scheduler::reduce_scatter(const TaskOptions& options, DataId data, std::span<float> values) {
  submit_collective(options, data, values, CollectiveKind::reduce_scatter);
}

void Scheduler::all_gather(const TaskOptions& options, DataId data, std::span<float> values) {
  submit_collective(options, data, values, CollectiveKind::all_gather);
}

void Scheduler::submit_collective(const TaskOptions& options, DataId data, std::span<float> values,
                                  CollectiveKind kind, const OptimizerStep* optimizer) {
  TaskSubmission submission{.options = options,
                            .is_collective = true,
                            .accesses = 1,
                            .bytes = static_cast<std::int64_t>(values.size_bytes()),
                            .optimizer = optimizer};
  if (kind == CollectiveKind::all_reduce) {
    submission.values = values;
  } else {
    SpecialCollective special{.is_scattered = true};
    special.work.kind = kind;
    special.work.values = values;
    submission.special = std::make_unique<SpecialCollective>(std::move(special));
  }
  const Access access = update(data);
  submit(std::move(submission), {&access, 1});
}

void Scheduler::submit(TaskSubmission&& submission, std::span<const Access> accesses) {
  if (capturing_) return capturing_->add(std::move(submission), accesses);
  if (placed_) return placed_->submit(std::move(submission), accesses);
  if (partitions_) return partitioned_->submit(std::move(submission), accesses);
  dispatch_->submit(std::move(submission), accesses);
}

Result<void> Scheduler::end_step() {
  HOCKET_CHECK(!capturing_, "a step cannot end while it is captured");
  if (placed_) return placed_->end_step();
  return partitions_ ? partitioned_->end_step() : dispatch_->end_step();
}

void Scheduler::begin_capture() {
  HOCKET_CHECK(!capturing_, "a step is being captured already");
  capturing_ = std::make_shared<StepCapture>();
}

std::shared_ptr<Scheduler::Capture> Scheduler::end_capture() {
  HOCKET_CHECK(capturing_ && capturing_->has_tasks(), "nothing was captured");
  capturing_->finish();
  return std::exchange(capturing_, nullptr);
}

bool Scheduler::launches_whole_steps() const {
  const Schedule& schedule = dispatch_->schedule();
  return schedule.config.step_issue == StepIssue::graph && executor_.runs_whole_steps() &&
         !schedule.announces && !is_observed_;
}

Result<void> Scheduler::launch(const std::shared_ptr<Capture>& step) {
  HOCKET_CHECK(!capturing_, "a step cannot be launched while one is captured");
  dispatch_->flush();
  if (placed_) return placed_->launch(step);
  if (!launches_whole_steps())
    return partitions_ ? partitioned_->launch(step) : dispatch_->launch(step);
  if (!partitions_) return whole_steps_->launch(step);
  const auto pieces = partitioned_->capture_of_pieces(step);
  return pieces ? whole_steps_->launch(pieces) : partitioned_->launch(step);
}

Result<void> Scheduler::synchronize() {
  return dispatch_->synchronize();
}

}  // namespace hocket
