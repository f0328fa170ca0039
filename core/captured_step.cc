#include "core/captured_step.h"

#include <algorithm>
#include <utility>

#include "core/dependency_graph.h"

namespace hocket {

CapturedStep::CapturedStep(std::vector<Task> tasks) : tasks_(std::move(tasks)) {
  // Two launches, none of whose tasks ever finishes, have every edge that later ones can have: what
  // a launch waits for is either its own or the one before, which accesses all the same data.
  struct NoFields {};
  DependencyGraph<NoFields> graph;
  const auto add_data_of = [&graph](const Task& task) {
    for (const Access& access : task.accesses)
      while (graph.data_size() <= access.data.index) graph.add_data();
  };
  for (int launch = 0; launch < 2; ++launch) {
    for (const Task& task : tasks_) {
      add_data_of(task);
      graph.add(task.accesses);
    }
  }

  edges_.resize(size() + 1);
  std::vector<std::uint32_t> of_task;
  for (std::uint32_t index = 0; index < size(); ++index) {
    if (tasks_[index].is_collective) ++collectives_;
    of_task.clear();
    graph.for_each_successor(index, [&](std::uint32_t slot) { of_task.push_back(slot); });
    std::sort(of_task.begin(), of_task.end());
    of_task.erase(std::unique(of_task.begin(), of_task.end()), of_task.end());
    edges_[index].first_successor = static_cast<std::uint32_t>(successors_.size());
    successors_.insert(successors_.end(), of_task.begin(), of_task.end());
    for (const std::uint32_t slot : of_task)
      ++(slot < size() ? edges_[slot].waits_within : edges_[slot - size()].waits_before);
  }
  edges_[size()].first_successor = static_cast<std::uint32_t>(successors_.size());
}

}  // namespace hocket
