#pragma once

// A step whose dependencies were derived once, to be launched many times: the edges within it, and
// those from one launch to the next. Immutable, so many plans may share one.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/task.h"

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

  std::uint32_t size() const { return static_cast<std::uint32_t>(tasks_.size()); }
  std::span<const Task> tasks() const { return tasks_; }
  const Task& task(std::uint32_t index) const { return tasks_[index]; }
  std::uint32_t collectives() const { return collectives_; }

  /// The tasks that wait for task `index`: a value below size() is one of the same launch, value −
  /// size() one of the next.
  std::span<const std::uint32_t> successors(std::uint32_t index) const {
    return {successors_.data() + edges_[index].first_successor,
            successors_.data() + edges_[index + 1].first_successor};
  }
  /// Brings what successors() reads closer, in two steps. Inlined, since GCC drops calls of
  /// functions that only prefetch.
  [[gnu::always_inline]] void prefetch(std::uint32_t index) const {
    __builtin_prefetch(&edges_[index]);
  }
  [[gnu::always_inline]] void prefetch_successors(std::uint32_t index) const {
    __builtin_prefetch(successors_.data() + edges_[index].first_successor);
  }

  /// How many tasks of the same launch, and of the one before, task `index` waits for.
  std::uint32_t waits_within(std::uint32_t index) const { return edges_[index].waits_within; }
  std::uint32_t waits_before(std::uint32_t index) const { return edges_[index].waits_before; }

 private:
  std::vector<Task> tasks_;
  std::uint32_t collectives_ = 0;
  struct Edges {
    std::uint32_t first_successor = 0;  ///< in successors_; they end where the next task's begin
    std::uint32_t waits_within = 0, waits_before = 0;
  };
  std::vector<Edges> edges_;  // by task, and one for the end
  std::vector<std::uint32_t> successors_;
};

}  // namespace hocket
