#pragma once

// A graph with a kernel for each operation and memory for each value: what is left is to run it.
// All is found and allocated once, before the first step.
//
//   auto prepared = PreparedGraph::prepare(graph, table, KernelDevice::host, host_memory());
//   (*prepared)->leaf("tokens") …                        // write what the step reads
//   (*prepared)->run();                                  // or each task by itself, in an order
//   that
//                                                        // keeps to what they read and write
//   (*prepared)->output("loss") …
//
// A parameter for which the graph has an output "updated/NAME" is that after run(). One thread
// prepares, writes and reads; tasks may run on any, as the order of their values allows.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/graph/passes/memory_plan.h"
#include "kernels/kernel_memory.h"
#include "kernels/kernel_table.h"

namespace hocket {

class PreparedGraph {
 public:
  /// An operation that has work to do.
  struct Task {
    std::size_t operation = 0;  ///< its place in the graph
    std::unique_ptr<Kernel> kernel = {};
    std::vector<const void*> operands = {};
    std::vector<void*> results = {};
    void* scratch = nullptr;
  };

  /// not_found for an operation that has no kernel, which it names; unavailable, with what a step
  /// takes, where the memory is not there; the errors of plan_memory(). Its scratch memory is that
  /// of the kernels.
  static Result<std::unique_ptr<PreparedGraph>> prepare(Graph graph, const KernelTable& table,
                                                        KernelDevice device, KernelMemory& memory,
                                                        MemoryOptions memory_options = {});

  const Graph& graph() const { return graph_; }
  const MemoryPlan& plan() const { return plan_; }
  std::span<std::byte> bytes_of(ValueId value) const;
  std::span<const Task> tasks() const { return tasks_; }

  /// Returns the memory of an input or a parameter, which is 0 at first. Requires that there is one
  /// of this name.
  std::span<std::byte> leaf(std::string_view name);
  /// Returns an output of the last run. Requires that there is one of this name. Those of
  /// parameters after the step are in the memory of their parameters.
  std::span<const std::byte> output(std::string_view name) const;

  /// Returns the memory of a group.
  std::span<std::byte> group(std::size_t index) const {
    return {groups_[index].get(), static_cast<std::size_t>(plan_.group_bytes[index])};
  }

  /// Carries out a task, whole or in part. The error of its kernel, with the operation's name.
  Result<void> run(const Task& task) const { return run(task, {0, task.kernel->units()}); }
  Result<void> run(const Task& task, UnitRange units) const;
  /// A parameter whose value after the step is not made in its memory, so that it must be moved
  /// there when the parameter is used no more.
  struct Move {
    ValueId from, to;
  };
  std::span<const Move> moves() const { return moves_; }
  void run(const Move& move) const;

  /// Carries out all tasks in the graph's order, then all moves.
  Result<void> run() const;

 private:
  PreparedGraph(Graph graph, KernelMemory& memory) : graph_(std::move(graph)), memory_(memory) {}

  Result<void> find_kernels(const KernelTable& table, KernelDevice device, MemoryOptions options);
  Result<void> check_memory() const;
  Result<void> allocate();
  void place_tasks();
  std::byte* memory_of(ValueId value) const;

  const Graph graph_;
  KernelMemory& memory_;
  MemoryPlan plan_;
  std::vector<Task> tasks_;
  std::vector<Move> moves_;
  KernelMemory::Block arena_;
  std::vector<KernelMemory::Block> groups_;
  std::vector<KernelMemory::Block> leaves_;  ///< by value; null for those that are no leaf
};

}  // namespace hocket
