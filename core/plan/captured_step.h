#pragma once

// A step whose dependencies were derived once, to be launched many times: the edges within it, and
// those from one launch to the next. Immutable, so many plans may share one.
//
// Tasks are numbered as they are submitted, but lie in slots in the order in which they become
// ready when each takes equally long: what runs one after another then lies side by side, so a
// large step is replayed from the cache.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/step/task.h"

namespace hocket {

class CapturedStep {
 public:
  struct Task {
    std::string name;
    std::uint32_t priority = 0;
    bool is_collective = false;
    std::int64_t bytes = 0;  ///< of a collective
    std::vector<Access> accesses;
  };

  /// Derives the dependencies of `tasks`, which will be launched in this order, each launch after
  /// the one before.
  explicit CapturedStep(std::vector<Task> tasks);

  std::uint32_t size() const { return size_; }
  std::span<const Task> tasks() const { return tasks_; }
  const Task& task(std::uint32_t index) const { return tasks_[index]; }
  std::uint32_t collectives() const { return collectives_; }

  /// Where task `index` lies, from 0 to size() − 1; and the reverse.
  std::uint32_t slot_of(std::uint32_t index) const { return slots_[index]; }
  std::uint32_t index_in(std::uint32_t slot) const { return indices_[slot]; }
  /// The id of task `index` in the launch whose first slot has the id `first`; and the reverse.
  TaskId id_of(std::uint32_t index, TaskId first) const {
    return {first.slot + slots_[index], first.generation};
  }
  std::uint32_t index_of(TaskId task) const {
    return indices_[task.slot < size() ? task.slot : task.slot - size()];
  }

  /// The slots that wait for the task in `slot`: a value below size() is in the same launch,
  /// value − size() in the next.
  std::span<const std::uint32_t> successors(std::uint32_t slot) const {
    return {successors_.data() + edges_[slot].first_successor,
            successors_.data() + edges_[slot + 1].first_successor};
  }
  /// How many tasks of the same launch, and of the one before, the task in `slot` waits for.
  std::uint32_t waits_within(std::uint32_t slot) const { return edges_[slot].waits_within; }
  std::uint32_t waits_before(std::uint32_t slot) const { return edges_[slot].waits_before; }

 private:
  std::vector<Task> tasks_;
  std::uint32_t size_ = 0;
  std::uint32_t collectives_ = 0;
  std::vector<std::uint32_t> slots_, indices_;
  struct Edges {
    std::uint32_t first_successor = 0;  ///< in successors_; they end where the next slot's begin
    std::uint32_t waits_within = 0, waits_before = 0;
  };
  std::vector<Edges> edges_;  // by slot, and one for the end
  std::vector<std::uint32_t> successors_;
};

}  // namespace hocket
