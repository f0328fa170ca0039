#pragma once

// Names, places and priorities of the tasks of a graph that is trained. Pure; any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/step/task.h"
#include "job/graph/gradient_groups.h"

namespace hocket {

/// The scheduler's options of a task; it outlives the scheduler.
struct DescribedTask {
  std::string name;
  TaskPlace place = {};
  std::uint32_t priority = 0;

  TaskOptions options() const { return {.name = name, .priority = priority, .place = &place}; }
};

/// Tasks are named by their kind, the parameter that they are about, and the region: "matmul with
/// up.weight in block3.mlp", "gradient of up.weight in block3.mlp/backward".
///
/// Regions are named as configurations name them, by the pass and the layer: "backward_block3". The
/// derivative is the most urgent, from the last layer to the first, since gradients are sent on;
/// then come updates and the next step, in the order in which it needs them. What no other layer
/// needs may wait.
class GraphTasks {
 public:
  /// `graph` must outlive it.
  explicit GraphTasks(const Graph& graph);

  DescribedTask operation(std::size_t operation) const;
  /// Takes an input of a step from where it was drawn.
  DescribedTask load(const Operation& input) const;
  /// Keeps an output of a step.
  DescribedTask keep(std::string_view output) const;
  /// Moves what a parameter is after the step to its place.
  DescribedTask move(const Operation& parameter) const;
  /// Sums a group's gradients over the ranks.
  DescribedTask sum(const GradientGroup& group) const;
  /// Gathers a group's parameters from the ranks that updated them.
  DescribedTask gather(const GradientGroup& group) const;
  /// Counts the steps that servers have made for a group.
  DescribedTask count(const GradientGroup& group) const;

  /// Returns the place of a parameter's layer among those that have parameters, in the order of the
  /// graph.
  std::int64_t layer_number(const Operation& parameter) const;

 private:
  std::uint32_t part_number(std::string_view region) const;
  std::uint32_t priority_of(const Operation& operation, bool may_wait) const;
  void find_gradients();
  std::string name_of(std::size_t operation) const;

  const Graph& graph_;
  std::vector<std::string> parts_;   ///< of the model, in the order of the graph
  std::vector<std::string> layers_;  ///< that have parameters
  std::vector<bool> may_wait_;       ///< by operation
  /// By operation: the parameter whose gradient is its first result.
  std::vector<const Operation*> gradient_of_;
};

}  // namespace hocket
