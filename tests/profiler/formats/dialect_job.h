#pragma once

// A job whose figures are known: what its ranks do in each step, and when. Writers of each dialect
// (kineto_dialect.h, nsight_dialect.h) write what a profiler would record of it. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "core/step/collective_kind.h"

namespace hocket::dialects {

/// Times in nanoseconds. A step has four kernels, and after them its collectives, one after
/// another: the first begins beside the last kernel, the others are exposed.
inline constexpr std::int64_t kStepNs = 200'000, kKernelNs = 20'000, kCollectiveNs = 12'000;
inline constexpr std::int64_t kKernels = 4;
/// By how much a rank begins collectives later than the rank before it. All end together.
inline constexpr std::int64_t kLateNs = 300;
/// Time from the recording's begin to the first step: a warm-up of other kernels.
inline constexpr std::int64_t kWarmUpNs = 100'000;

struct Group {
  std::string name;
  std::vector<std::int64_t> ranks;
};

struct Work {
  bool is_collective = false;
  std::string name;             ///< of a kernel
  CollectiveKind collective{};  ///< of a collective
  std::size_t group = 0;        ///< in Job::groups
  std::int64_t number = 0;      ///< of a collective within its group
  std::int64_t begin_ns = 0, end_ns = 0;
};

struct Job {
  std::int64_t ranks = 2, steps = 6;
  std::vector<Group> groups;
  /// Collectives of a step in each group.
  std::int64_t collectives = 3;
  /// Every third step does work of its own.
  bool has_extra_work = false;

  static Job of_one_group(std::int64_t ranks) {
    Job job;
    job.ranks = ranks;
    job.groups.push_back({"0", {}});
    for (std::int64_t rank = 0; rank < ranks; ++rank) job.groups[0].ranks.push_back(rank);
    return job;
  }

  /// Returns a job on a mesh: a group for each row, one of the same name on all rows, and for each
  /// column.
  static Job of_mesh(std::int64_t rows, std::int64_t columns) {
    Job job;
    job.ranks = rows * columns;
    for (std::int64_t row = 0; row < rows; ++row) {
      Group& group = job.groups.emplace_back(Group{"tp", {}});
      for (std::int64_t column = 0; column < columns; ++column)
        group.ranks.push_back(row * columns + column);
    }
    for (std::int64_t column = 0; column < columns; ++column) {
      Group& group = job.groups.emplace_back(Group{"dp", {}});
      for (std::int64_t row = 0; row < rows; ++row) group.ranks.push_back(row * columns + column);
    }
    return job;
  }

  static std::int64_t step_begin_ns(std::int64_t step) { return kWarmUpNs + step * kStepNs; }

  /// Returns the indices of the groups of `rank`; odd ranks run theirs in the other order.
  std::vector<std::size_t> groups_of(std::int64_t rank) const {
    std::vector<std::size_t> found;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const std::int64_t member : groups[g].ranks) {
        if (member == rank) found.push_back(g);
      }
    }
    return rank % 2 == 0 ? found : std::vector<std::size_t>(found.rbegin(), found.rend());
  }

  /// Returns the exposed communication of a step of `rank`: all but the part beside the last
  /// kernel.
  std::int64_t exposed_ns(std::int64_t rank) const {
    const auto count = collectives * static_cast<std::int64_t>(groups_of(rank).size());
    return count * (kCollectiveNs - late_ns(rank)) - (kKernelNs / 2 - late_ns(rank));
  }

  static std::int64_t late_ns(std::int64_t rank) { return kLateNs * rank; }

  /// Returns what `rank` does, by begin, with the warm-up.
  std::vector<Work> work_of(std::int64_t rank) const {
    std::vector<Work> all;
    for (std::int64_t i = 0; i < 3; ++i) {
      all.push_back({.name = "warm_up_" + std::to_string(i),
                     .begin_ns = 10'000 * (i + 1),
                     .end_ns = 10'000 * (i + 1) + 5'000});
    }
    for (std::int64_t step = 0; step < steps; ++step) add_step(rank, step, all);
    return all;
  }

 private:
  void add_step(std::int64_t rank, std::int64_t step, std::vector<Work>& all) const {
    std::int64_t at_ns = step_begin_ns(step);
    for (std::int64_t i = 0; i < kKernels; ++i, at_ns += kKernelNs) {
      all.push_back(
          {.name = "gemm_" + std::to_string(i), .begin_ns = at_ns, .end_ns = at_ns + kKernelNs});
    }
    at_ns -= kKernelNs / 2;
    for (std::int64_t i = 0; i < collectives; ++i) {
      for (const std::size_t group : groups_of(rank)) {
        all.push_back(
            {.is_collective = true,
             .name = {},
             .collective = i == 1 ? CollectiveKind::all_gather : CollectiveKind::all_reduce,
             .group = group,
             .number = step * collectives + i,
             .begin_ns = at_ns + late_ns(rank),
             .end_ns = at_ns + kCollectiveNs});
        at_ns += kCollectiveNs;
      }
    }
    if (has_extra_work && step % 3 == 2)
      all.push_back({.name = "evaluate", .begin_ns = at_ns, .end_ns = at_ns + 2'000});
  }
};

}  // namespace hocket::dialects
