#include "core/sim/offload/offload_choice.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/placement/described_placement.h"
#include "core/sim/simulator.h"

namespace hocket {
namespace {

constexpr std::array<std::int64_t, 4> kPrefetchLayers{0, 1, 2, 4};

void find_busiest(const Simulation& simulation, OffloadCandidate& candidate) {
  const std::pair<TaskLane, std::int64_t> busy[] = {{TaskLane::stream, simulation.compute_ns},
                                                    {TaskLane::host, simulation.host_ns},
                                                    {TaskLane::to_device, simulation.to_device_ns},
                                                    {TaskLane::to_host, simulation.to_host_ns}};
  const auto& [lane, busy_ns] =
      *std::ranges::max_element(busy, {}, &std::pair<TaskLane, std::int64_t>::second);
  candidate.busiest = lane;
  candidate.busy_share =
      simulation.iteration_ns > 0
          ? static_cast<double>(busy_ns) / static_cast<double>(simulation.iteration_ns)
          : 0;
}

/// Judges one offload_k. Of values of prefetch_layers that are equally fast, the least takes the
/// least memory.
OffloadCandidate judge(const PreparedStep& step, ScheduleConfig config, std::int64_t offload_k) {
  OffloadCandidate candidate{.offload_k = offload_k};
  config.offload_k = offload_k;
  bool fits = false;
  for (const std::int64_t prefetch_layers : kPrefetchLayers) {
    config.prefetch_layers = prefetch_layers;
    const auto simulation = step.simulation(config);
    if (!simulation) {
      // Fetches that run ahead take more memory, so the first reason says the most.
      if (candidate.why_not.empty()) candidate.why_not = simulation.error().message;
      continue;
    }
    if (fits && simulation->iteration_ns >= candidate.iteration_ns) continue;
    fits = true;
    candidate.prefetch_layers = prefetch_layers;
    candidate.iteration_ns = simulation->iteration_ns;
    candidate.peak_bytes = simulation->device_peak_bytes;
    find_busiest(*simulation, candidate);
  }
  if (fits) candidate.why_not.clear();
  return candidate;
}

/// An update of a layer, for CoTrain's rule.
struct LayerUpdate {
  std::int64_t layer = 0;
  /// Time at which the device has computed what the update reads, and time that the host takes.
  std::int64_t ready_ns = 0, host_ns = 0;
};

struct BackwardPass {
  std::vector<LayerUpdate> updates;
  std::int64_t end_ns = 0;
};

/// Returns when the gradients of a step in the general form are there if the device runs its other
/// computations one after the other.
BackwardPass backward_pass(const StepDescription& step) {
  BackwardPass pass;
  std::vector<std::int64_t> written_ns(step.data.size());
  const auto whole_of = [&](DataId data) -> std::size_t {
    if (data.index >= step.data_places.size()) return data.index;
    const std::uint32_t whole = step.data_places[data.index].range_of;
    return whole == kNotARange ? data.index : whole;
  };
  for (const StepTask& task : step.tasks) {
    std::int64_t ready_ns = 0;
    for (const Access& access : task.accesses)
      ready_ns = std::max(ready_ns, written_ns[whole_of(access.data)]);
    if (task.place.updates_layer != kNoLayer) {
      const std::int64_t host_ns =
          task.host_duration_ns > 0 ? task.host_duration_ns : task.duration_ns;
      pass.updates.push_back({task.place.updates_layer, ready_ns, host_ns});
      continue;
    }
    if (!task.collective) {
      pass.end_ns += task.duration_ns;
      ready_ns = pass.end_ns;
    }
    for (const Access& access : task.accesses)
      if (access.mode != AccessMode::read) written_ns[whole_of(access.data)] = ready_ns;
  }
  return pass;
}

/// Returns when the host has updated the layers from `offload_k` on, in the order of submission.
std::int64_t updated_ns(const BackwardPass& pass, std::int64_t offload_k) {
  std::int64_t free_ns = 0;
  for (const LayerUpdate& update : pass.updates)
    if (update.layer >= offload_k) free_ns = std::max(free_ns, update.ready_ns) + update.host_ns;
  return free_ns;
}

}  // namespace

Result<OffloadChoice> choose_offload(const StepDescription& step, const ScheduleConfig& config) {
  if (step.device_memory_bytes <= 0) {
    return failure(ErrorCode::invalid_argument,
                   "the step has no device_memory_bytes, so all its layers stay on the device");
  }
  const auto prepared = PreparedStep::make(step);
  HOCKET_TRY(prepared);
  OffloadChoice choice;
  const std::int64_t layers = layers_of(prepared->step());
  for (std::int64_t offload_k = 0; offload_k <= layers; ++offload_k) {
    choice.candidates.push_back(judge(*prepared, config, offload_k));
    const OffloadCandidate &last = choice.candidates.back(), &best = choice.chosen();
    if (!last.fits()) continue;
    if (!best.fits() || last.iteration_ns <= best.iteration_ns)
      choice.best = choice.candidates.size() - 1;
  }
  if (!choice.chosen().fits())
    return failure(ErrorCode::invalid_argument, choice.candidates.front().why_not);
  return choice;
}

std::int64_t cotrain_offload_k(const StepDescription& step) {
  const StepDescription general = expand(step);
  const BackwardPass pass = backward_pass(general);
  // Fewer layers never keep the host longer, so the first that is in time is found by bisection.
  std::int64_t fewest = 0, enough = layers_of(general);
  while (fewest < enough) {
    const std::int64_t middle = fewest + (enough - fewest) / 2;
    if (updated_ns(pass, middle) > pass.end_ns) {
      fewest = middle + 1;
    } else {
      enough = middle;
    }
  }
  return fewest;
}

}  // namespace hocket
