#pragma once

// Random jobs whose ranks run different programs, as the scheduler runs them, for tests.

#include <cstdint>
#include <random>
#include <vector>

#include "core/step/schedule_config.h"
#include "tests/core/random_job.h"

namespace hocket {

inline constexpr std::size_t kItemValues = 3000;

/// Returns how many values a member of an all-to-all sends to another: any number up to the bound
/// that the size of the task stands for.
inline std::size_t exchanged(const StepTask& task, std::size_t members, std::size_t from,
                             std::size_t to) {
  const std::size_t most = static_cast<std::size_t>(task.bytes) / sizeof(float) / members;
  return (from * 911 + to * 577 + most / 2) % (most + 1);
}

/// Returns how many the member sends to each; with `receives`, how many it gets from each.
inline std::vector<std::size_t> exchanged_counts(const StepTask& task, std::size_t members,
                                                 std::size_t own, bool receives) {
  std::vector<std::size_t> counts;
  for (std::size_t other = 0; other < members; ++other)
    counts.push_back(receives ? exchanged(task, members, other, own)
                              : exchanged(task, members, own, other));
  return counts;
}

inline std::size_t root_of(const StepTask& broadcast, std::size_t members) {
  return static_cast<std::size_t>(broadcast.bytes) / sizeof(float) % members;
}

/// Returns a random job whose communications are such as the scheduler has: each of one data item,
/// an all-to-all or a shift of two.
inline StepDescription random_job_of_ranks(std::uint64_t seed) {
  constexpr CollectiveKind kKinds[] = {CollectiveKind::all_reduce, CollectiveKind::broadcast,
                                       CollectiveKind::all_to_all, CollectiveKind::shift};
  StepDescription step = RandomJob(seed).make();
  const Mesh mesh = mesh_of(step);
  std::uint32_t count = 0;
  for (RankProgram& program : step.programs) {
    for (StepTask& task : program.tasks) {
      if (!task.collective) continue;
      std::int64_t values = task.bytes % static_cast<std::int64_t>(kItemValues) + 1;
      if (!is_message(*task.collective))
        task.collective = kKinds[static_cast<std::size_t>(values) % std::size(kKinds)];
      const std::int64_t members = mesh.size_of(task.group);
      // A bound for each member.
      if (task.collective == CollectiveKind::all_to_all) values = values / members * members;
      task.bytes = values * static_cast<std::int64_t>(sizeof(float));
      const DataId data{1 + count++ % 3}, other{1 + count % 3};
      task.accesses = {*task.collective == CollectiveKind::send      ? read(data)
                       : *task.collective == CollectiveKind::receive ? write(data)
                                                                     : update(data)};
      if (is_message(*task.collective)) continue;
      task.peer = std::nullopt;
      if (task.collective == CollectiveKind::shift)
        task.peer = MessagePeer{values % (2 * members - 1) - members + 1, true};
      if (task.peer) task.accesses = {read(data), write(other)};
      // A task before it counts what it sends, and one behind it forgets that.
      if (task.collective == CollectiveKind::all_to_all)
        task.accesses = {update(data), update(other)};
    }
  }
  return step;
}

inline std::size_t peer_of(const StepTask& task, const Mesh& mesh, std::int64_t rank) {
  const auto members = mesh.ranks_of(task.group, rank);
  const auto size = std::ssize(members);
  const auto own = std::ranges::find(members, rank) - members.begin();
  const std::int64_t index = task.peer->index;
  return static_cast<std::size_t>(task.peer->is_relative ? (own + index + size) % size : index);
}

inline ScheduleConfig random_config_of_ranks(std::mt19937_64& random) {
  ScheduleConfig config;
  config.partition_bytes = 4096;
  config.credit_bytes = std::int64_t{4096} << random() % 3;
  config.comm_channels = 1 + static_cast<int>(random() % 3);
  config.streams = 1 + static_cast<int>(random() % 2);
  config.order = random() % 2 ? CollectiveOrder::static_order : CollectiveOrder::fifo;
  return config;
}

}  // namespace hocket
