#pragma once

// Random jobs whose ranks run different programs, for tests, reproducible by seed.

#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "core/description/step_description.h"

namespace hocket {

/// A computation on what the stage has.
inline StepTask computation(const std::string& name, std::int64_t duration_ns) {
  StepTask task;
  task.name = name;
  task.duration_ns = duration_ns;
  task.accesses = {update({0})};
  return task;
}

/// A job of random programs, one for each index along the first axes, with communications in one
/// order for all ranks.
class RandomJob {
 public:
  explicit RandomJob(std::uint64_t seed) : random_(seed) {}

  StepDescription make() {
    const std::int64_t sizes[] = {1 + below(3), 1 + below(3), 1 + below(2)};
    step_.mesh = {{"pipeline", sizes[0]}, {"data", sizes[1]}, {"tensor", sizes[2]}};
    step_.ranks = sizes[0] * sizes[1] * sizes[2];
    const std::int64_t per_host[] = {1, sizes[2], sizes[2] * sizes[1], step_.ranks};
    step_.ranks_per_host = per_host[below(4)];
    step_.cluster = Cluster{{1e9 * static_cast<double>(1 + below(50)), below(3000)},
                            {1e9 * static_cast<double>(1 + below(5)), below(9000)},
                            CollectiveAlgorithm::ring};
    if (below(2)) step_.message = PartCost{number(5000), 0.1 + number(1), number(3000)};
    step_.channel_split = 0;
    differs_in_data_ = below(2) == 1;
    for (std::int64_t i = 0; i < sizes[0]; ++i) {
      for (std::int64_t j = 0; j < (differs_in_data_ ? sizes[1] : 1); ++j) add_program(i, j);
    }
    if (below(3) == 0) {
      for (std::int64_t rank = 0; rank < step_.ranks; ++rank)
        step_.rank_compute_scale.push_back(below(3) == 0 ? 1.5 : 1);
    }
    for (auto left = 2 + below(12); left > 0; --left) add_communication();
    return step_;
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }
  double number(double high) { return std::uniform_real_distribution<double>(0, high)(random_); }

  void add_program(std::int64_t i, std::int64_t j) {
    RankProgram program;
    program.at = {{"pipeline", {i}}};
    if (differs_in_data_) program.at.push_back({"data", {j}});
    program.data = {"stage", "a", "b", "c"};
    add_compute(program);
    step_.programs.push_back(std::move(program));
  }
  RankProgram& program(std::int64_t i, std::int64_t j) {
    return step_
        .programs[static_cast<std::size_t>(differs_in_data_ ? i * step_.mesh[1].size + j : i)];
  }
  void add_compute(RankProgram& program) {
    StepTask task = computation("", below(20'000));
    touch(task);
    program.tasks.push_back(std::move(task));
  }
  void touch(StepTask& task) {
    for (std::uint32_t data = 1; data < 4; ++data)
      if (below(2)) task.accesses.push_back({{data}, AccessMode(below(3))});
  }
  void add_to(RankProgram& program, StepTask task) {
    if (below(2)) add_compute(program);
    task.priority = static_cast<std::uint32_t>(below(3));
    touch(task);
    program.tasks.push_back(std::move(task));
    if (below(2)) add_compute(program);
  }

  void add_communication() {
    StepTask task;
    task.bytes = 1 + below(40'000);
    const std::int64_t stages = step_.mesh[0].size, datas = step_.mesh[1].size;
    const auto axis = static_cast<std::size_t>(below(2));
    if (below(2) && step_.mesh[axis].size > 1 && (axis == 0 || differs_in_data_)) {
      // From one index to another along an axis, for all indices along the others or one.
      const std::int64_t size = step_.mesh[axis].size, from = below(size);
      const std::int64_t to = (from + 1 + below(size - 1)) % size;
      const bool is_relative = below(2) == 1;
      task.group = {AxisSet::of(axis), GroupTier::whole};
      const std::int64_t others = axis == 1 ? stages : differs_in_data_ ? datas : 1;
      const std::int64_t only = below(2) ? below(others) : -1;
      for (std::int64_t other = 0; other < others; ++other) {
        if (only >= 0 && other != only) continue;
        for (const bool sends : {true, false}) {
          const std::int64_t own = sends ? from : to, peer = sends ? to : from;
          task.collective = sends ? CollectiveKind::send : CollectiveKind::receive;
          task.peer = MessagePeer{is_relative ? peer - own : peer, is_relative};
          add_to(axis == 0 ? program(own, other) : program(other, own), task);
        }
      }
      return;
    }
    constexpr CollectiveKind kKinds[] = {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                         CollectiveKind::all_to_all, CollectiveKind::shift};
    task.collective = kKinds[below(4)];
    const auto axes = static_cast<std::size_t>(below(4));
    if (axes < 3) task.group.axes = AxisSet::of(axes);
    if (task.collective == CollectiveKind::shift) {
      const std::int64_t size = axes < 3 ? step_.mesh[axes].size : step_.ranks;
      task.peer = MessagePeer{below(2 * size - 1) - size + 1, true};
    }
    // A group that does not join the stages may be used by one stage alone.
    const std::int64_t only = axes == 1 || axes == 2 ? below(stages) : -1;
    for (std::int64_t i = 0; i < stages; ++i) {
      if (only >= 0 && i != only) continue;
      for (std::int64_t j = 0; j < (differs_in_data_ ? datas : 1); ++j) add_to(program(i, j), task);
    }
  }

  std::mt19937_64 random_;
  StepDescription step_;
  bool differs_in_data_ = false;
};

}  // namespace hocket
