#pragma once

// A captured step: its dependencies are derived once and it is launched many times. Holds the edges
// within a launch and the edges from one launch to the next. Immutable, so many plans may share
// one.
//
// Tasks are numbered in order of submission, but stored in slots in the order in which they would
// become ready if every task took equally long. Tasks that run one after another are then adjacent
// in memory, and a launch of a large step runs from the cache.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/step/task.h"
#include "core/step/task_communication.h"

namespace hocket {

class CapturedStep {
 public:
  struct Task {
    std::string name;
    std::uint32_t priority = 0;
    bool is_collective = false;
    /// Size of the collective; 0 for a compute task.
    std::int64_t bytes = 0;
    std::vector<Access> accesses;
    TaskLane lane = TaskLane::stream;
    /// For a collective or message.
    TaskCommunication communication = {};
  };

  /// Derives the dependencies of `tasks`. Each launch submits them in this order, after the launch
  /// before it.
  explicit CapturedStep(std::vector<Task> tasks);

  std::uint32_t size() const { return size_; }
  std::span<const Task> tasks() const { return tasks_; }
  const Task& task(std::uint32_t index) const { return tasks_[index]; }
  std::uint32_t collectives() const { return collectives_; }

  /// Returns the slot of task `index`, from 0 to size() − 1; index_in() is the inverse.
  std::uint32_t slot_of(std::uint32_t index) const { return slots_[index]; }
  std::uint32_t index_in(std::uint32_t slot) const { return indices_[slot]; }
  /// Returns the id of task `index` in the launch whose first slot has the id `first`; index_of()
  /// is the inverse.
  TaskId id_of(std::uint32_t index, TaskId first) const {
    return {first.slot + slots_[index], first.generation};
  }
  std::uint32_t index_of(TaskId task) const {
    return indices_[task.slot < size() ? task.slot : task.slot - size()];
  }

  /// Returns the slots that wait for the task in `slot`: a value below size() is a slot of the same
  /// launch, any other is size() plus a slot of the next launch.
  std::span<const std::uint32_t> successors(std::uint32_t slot) const {
    return {successors_.data() + edges_[slot].first_successor,
            successors_.data() + edges_[slot + 1].first_successor};
  }
  /// Returns the number of tasks in the same launch (waits_within) and in the launch before
  /// (waits_before) that the task in `slot` waits for.
  std::uint32_t waits_within(std::uint32_t slot) const { return edges_[slot].waits_within; }
  std::uint32_t waits_before(std::uint32_t slot) const { return edges_[slot].waits_before; }

 private:
  std::vector<Task> tasks_;
  std::uint32_t size_ = 0;
  std::uint32_t collectives_ = 0;
  std::vector<std::uint32_t> slots_, indices_;
  struct Edges {
    /// Index into successors_; a slot's successors end where those of the next slot begin.
    std::uint32_t first_successor = 0;
    std::uint32_t waits_within = 0, waits_before = 0;
  };
  // Indexed by slot, with one entry past the end.
  std::vector<Edges> edges_;
  std::vector<std::uint32_t> successors_;
};

}  // namespace hocket
