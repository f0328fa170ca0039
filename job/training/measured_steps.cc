#include "job/training/measured_steps.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "job/training/step_measurement.h"

namespace hocket {

bool have_same_tasks(const StepDescription& a, const StepDescription& b) {
  return std::ranges::equal(a.tasks, b.tasks, [](const StepTask& x, const StepTask& y) {
    return x.collective.has_value() == y.collective.has_value() && x.bytes == y.bytes &&
           x.priority == y.priority && x.accesses.size() == y.accesses.size();
  });
}

StepDescription with_places(StepDescription measured, const StepDescription& submitted) {
  std::vector<StepTask> tasks = submitted.tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].duration_ns = measured.tasks[i].duration_ns;
    tasks[i].host_duration_ns = measured.tasks[i].host_duration_ns;
    for (Dimension& dimension : tasks[i].place.dimensions) {
      for (const Dimension& known : measured.tasks[i].place.dimensions)
        if (known.name == dimension.name) dimension.piece_ns = known.piece_ns;
    }
  }
  measured.tasks = std::move(tasks);
  measured.data = submitted.data;
  measured.data_places = submitted.data_places;
  measured.device_memory_bytes = submitted.device_memory_bytes;
  measured.ranks = submitted.ranks;
  measured.ranks_per_host = submitted.ranks_per_host;
  measured.micro_batch_bytes = submitted.micro_batch_bytes;
  measured.memory_limit_bytes = submitted.memory_limit_bytes;
  return measured;
}

Result<StepDescription> described_step(const Training& training,
                                       const std::vector<ProfiledStep>& profiled) {
  auto measured = describe_step(profiled);
  if (!measured) return measured;
  const StepDescription submitted = described_step(training);
  HOCKET_CHECK(have_same_tasks(*measured, submitted), "a profile is of what the model submits");
  auto step = with_places(std::move(*measured), submitted);
  step.channel_split = 0;  // All TCP connections share one link.
  return step;
}

Result<void> run_measured(const Training& training, TrainingPhase phase,
                          std::vector<ProfiledStep>& profiled) {
  StepProfile profile;
  phase.config.comm_channels = 1;
  phase.options.trace = &profile;
  phase.options.observer = &profile;
  if (auto ok = run_phase(training, phase); !ok) return ok;
  std::ranges::move(profile.steps(1), std::back_inserter(profiled));
  return {};
}

}  // namespace hocket
