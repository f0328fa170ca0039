#include "tests/plugins/nccl/host/rank.h"

#include <signal.h>
#include <sys/prctl.h>

#include <memory>
#include <random>

#include "tests/plugins/nccl/host/enqueue.h"

namespace hocket::nccl_host {
namespace {

/// Makes the communicators in order. The ids of splits follow from the parent's.
void make_communicators(RankContext& context, SharedRun& shared,
                        std::vector<std::unique_ptr<Communicator>>& communicators) {
  const Options& options = context.options;
  const auto& specs = options.workload.communicators;
  for (int index = 0; index < static_cast<int>(specs.size()); ++index) {
    const Membership place =
        membership(options.workload, index, context.rank, options.ranks, options.nodes);
    std::uint64_t id = mix(shared.id ^ mix(index));
    if (specs[index].parent >= 0) {
      Communicator& parent = *communicators[specs[index].parent];
      id = parent.split_id(parent.count_split(), place.part);
    }
    communicators.push_back(std::make_unique<Communicator>(context, index, place, id,
                                                           *shared.groups[index][context.rank]));
  }
}

/// Returns the step before which a rank stops that leaves the last collective, or the group which
/// contains it, out.
std::size_t end_without_last_collective(const std::vector<Step>& steps) {
  std::size_t end = steps.size(), begin = 0;
  bool in_group = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!in_group) begin = i;
    if (steps[i].kind == StepKind::group) in_group = true;
    if (steps[i].kind == StepKind::group_end || steps[i].kind == StepKind::simulate_end) {
      in_group = false;
    }
    if (steps[i].kind == StepKind::collective) end = begin;
  }
  return end;
}

void run_workload(RankContext& context, Enqueuer& enqueuer, Device& device) {
  const Options& options = context.options;
  const bool is_uneven = find_fault(options.faults, FaultKind::uneven, context.rank) != nullptr;
  enqueuer.run(options.workload.setup, options.workload.setup.size());
  device.synchronize();
  const auto& steps = options.workload.iteration;
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    const bool stops_early = is_uneven && iteration + 1 == options.iterations;
    device.begin_iteration();
    enqueuer.run(steps, stops_early ? end_without_last_collective(steps) : steps.size());
    device.end_iteration(iteration);
  }
}

}  // namespace

std::size_t shared_bytes(const Options& options) {
  const std::size_t communicators = options.workload.communicators.size();
  const std::size_t each_rank =
      sizeof(RankRecord) + communicators * (sizeof(ProcessGroup) + sizeof(Arrival) + 256);
  return (1 << 20) + options.ranks * (each_rank + 256) +
         2 * sizeof(double) * static_cast<std::size_t>(options.iterations);
}

SharedRun prepare_run(SharedArena& arena, const Options& options) {
  SharedRun shared;
  shared.arena = &arena;
  shared.state = arena.make<RunState>();
  shared.violations = arena.make<ViolationLog>();
  shared.records = arena.make<RankRecord>(options.ranks);
  shared.iteration_us = arena.make<double>(options.iterations);
  shared.iteration_real_us = arena.make<double>(options.iterations);
  std::random_device random;
  shared.id = static_cast<std::uint64_t>(random()) << 32 | random();
  int number = 0;
  for (int index = 0; index < static_cast<int>(options.workload.communicators.size()); ++index) {
    auto& groups = shared.groups.emplace_back(options.ranks, nullptr);
    for (int rank = 0; rank < options.ranks; ++rank) {
      const Membership place =
          membership(options.workload, index, rank, options.ranks, options.nodes);
      if (place.rank != 0) continue;
      auto* group = arena.make<ProcessGroup>();
      group->prepare(arena, *shared.state, number++, place.ranks);
      for (const int member : members(options.workload, index, rank, options.ranks)) {
        groups[member] = group;
      }
    }
  }
  return shared;
}

int run_rank(const Options& options, SharedRun& shared, int rank) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Pauses shall end on time.
  prctl(PR_SET_TIMERSLACK, 1000);
  const CostModel model(options.model);
  RankRecord& record = shared.records[rank];
  LoadedTuner tuner(options.tuner, options.tuner_version);
  LoadedProfiler profiler(options.profiler, options.profiler_version, record);
  RankContext context{
      .options = options,
      .model = model,
      .rank = rank,
      .has_plugin = find_fault(options.faults, FaultKind::no_plugin, rank) == nullptr,
      .tuner = tuner,
      .profiler = profiler,
      .run = *shared.state,
      .record = record,
      .violations = *shared.violations,
      .iteration_us = shared.iteration_us,
      .iteration_real_us = shared.iteration_real_us};

  std::vector<std::unique_ptr<Communicator>> communicators;
  bool is_aborted = false;
  try {
    make_communicators(context, shared, communicators);
    Device device(context, static_cast<int>(options.workload.communicators.size()));
    Enqueuer enqueuer(context, communicators, device);
    run_workload(context, enqueuer, device);
  } catch (const Aborted&) {
    is_aborted = true;
  }
  for (const auto& communicator : communicators) communicator->destroy();
  record.end = is_aborted ? RankRecord::End::aborted : RankRecord::End::finished;
  return is_aborted ? 4 : 0;
}

}  // namespace hocket::nccl_host
