#include "core/scheduler/whole_steps.h"

#include "core/scheduler/dispatch/part_counts.h"

namespace hocket {

Result<void> WholeSteps::launch(const std::shared_ptr<StepCapture>& step) {
  const auto formed = tasks_.formed(step);
  return formed ? launch_whole(formed) : tasks_.launch(step);
}

Result<void> WholeSteps::launch_whole(const std::shared_ptr<StepCapture>& step) {
  if (!data_) data_ = dispatch_.add_data();
  if (!is_prepared(step)) {
    if (auto ok = prepare(step); !ok) return ok;
  }
  return dispatch_.launch_whole(*work_, *data_);
}

bool WholeSteps::is_prepared(const std::shared_ptr<StepCapture>& step) const {
  return work_ && dispatch_.whole_step() == work_.get() && step_ == step &&
         configuration_ == dispatch_.configurations();
}

Result<void> WholeSteps::prepare(const std::shared_ptr<StepCapture>& step) {
  if (auto ok = dispatch_.synchronize(); !ok) return ok;
  const Schedule& schedule = dispatch_.schedule();
  if (auto error = schedule.static_order.check(*step->step(), schedule.plan.partition_bytes)) {
    dispatch_.fail(*error);
    return failure(std::move(*error));
  }
  work_ = std::make_unique<StepWork>(work_of(*step));
  step_ = step;
  configuration_ = dispatch_.configurations();
  return {};
}

StepWork WholeSteps::work_of(StepCapture& capture) {
  const std::shared_ptr<const CapturedStep>& step = capture.step();
  const Schedule& schedule = dispatch_.schedule();
  StepWork work{.version = dispatch_.new_version(),
                .step = step,
                .sequence = sequence_of(step, schedule.plan, schedule.static_order.collectives()),
                .bodies = {},
                .parts = {}};
  for (std::uint32_t task = 0; task < step->size(); ++task)
    work.bodies.push_back(step->task(task).is_collective ? nullptr
                                                         : &capture.payload_of(task).body);
  PartCounts counts;
  for (const StepEntry& entry : work.sequence) {
    if (!entry.is_part) continue;
    const PartDecision decision{{entry.task, 0}, 0, entry.offset_bytes, entry.bytes};
    PartWork& part = work.parts.emplace_back(
        part_of(capture.payload_of(entry.task), decision, dispatch_.world_size()));
    part.name = step->task(entry.task).name;
    part.accesses = step->task(entry.task).accesses;
    part.collective.index = entry.part;
    part.number = counts.next(capture.payload_of(entry.task).special.get());
  }
  return work;
}

}  // namespace hocket
