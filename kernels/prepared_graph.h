#pragma once

// A graph with a kernel for each operation and memory for each value: what is left is to run it.
// All is found and allocated once, before the first step.
//
//   auto prepared = PreparedGraph::prepare(graph, table, KernelDevice::host, host_kernel_memory());
//   (*prepared)->leaf("tokens") …                        // write what the step reads
//   (*prepared)->run();                                  // or each task by itself, in an order
//                                                        // that keeps to what they read and write
//   (*prepared)->output("loss") …
//
// A parameter for which the graph has an output "updated/NAME" is that after run(). One thread
// prepares, writes and reads; tasks may run on any, as the order of their values allows.

#include <cstddef>
#include <cstdint>
#include <functional>
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

/// The part of its elements that a step of the optimiser is carried out for, where other ranks have
/// the rest: its states have memory for that part alone.
struct UpdatedPart {
  std::size_t operation = 0;  ///< adamw or sgd, on float32
  std::int64_t begin = 0, count = 0;
};

struct PrepareOptions {
  MemoryOptions memory = {};
  /// Parameters that have memory side by side, in this order.
  std::vector<std::vector<ValueId>> parameter_groups = {};
  std::vector<UpdatedPart> parts = {};
  /// Whoever runs the tasks has memory for values within a step, and says where values are.
  /// Parameters and groups have memory here, too: of the host.
  bool is_placed = false;
  /// Limit of what all of it may take; 0: what there is.
  std::int64_t limit_bytes = 0;
};

class PreparedGraph {
 public:
  /// An operation that has work to do.
  struct Task {
    std::size_t operation = 0;            ///< its place in the graph
    std::unique_ptr<Kernel> kernel = {};  ///< null: this rank has no part of it
    std::vector<const void*> operands = {};
    std::vector<void*> results = {};
    void* scratch = nullptr;

    std::int64_t units() const { return kernel ? kernel->units() : 1; }
  };

  /// not_found for an operation that has no kernel, which it names; unavailable, with what a step
  /// takes, where the memory is not there, and invalid_argument with the micro-batches that could
  /// be kept; the errors of plan_memory(). Its scratch memory is that of the kernels.
  static Result<std::unique_ptr<PreparedGraph>> prepare(Graph graph, const KernelTable& table,
                                                        KernelDevice device, KernelMemory& memory,
                                                        PrepareOptions options = {});

  const Graph& graph() const { return graph_; }
  const MemoryPlan& plan() const { return plan_; }
  /// Return the bytes that are allocated, and how many may be, if that is known.
  std::int64_t allocated_bytes() const;
  std::optional<std::int64_t> limit_bytes() const;
  /// Returns the memory of a value; empty if it is placed and within a step.
  std::span<std::byte> bytes_of(ValueId value) const;
  std::span<const Task> tasks() const { return tasks_; }
  /// Returns the part of its elements that an update is carried out for; none: all of them.
  std::optional<UpdatedPart> part_of(std::size_t operation) const;

  /// Returns the memory of an input or a parameter, which is 0 at first. Requires that there is one
  /// of this name.
  std::span<std::byte> leaf(std::string_view name);
  /// Returns an output of the last run. Requires that there is one of this name. Those of
  /// parameters after the step are in the memory of their parameters.
  std::span<const std::byte> output(std::string_view name) const;

  /// Return the memory of a group, and of a group of parameters.
  std::span<std::byte> group(std::size_t index) const {
    return {groups_[index].get(), static_cast<std::size_t>(plan_.group_bytes[index])};
  }
  std::span<std::byte> parameter_group(std::size_t index) const;

  /// Carries out a task, whole or in part. The error of its kernel, with the operation's name.
  Result<void> run(const Task& task) const { return run(task, {0, task.units()}); }
  Result<void> run(const Task& task, UnitRange units) const;
  /// Carries out some summands of a task (Kernel::run_summands()).
  Result<void> run_summands(const Task& task, UnitRange range) const;
  /// Does the same where values are placed: with a kernel for the memory in which `place` says that
  /// the memory of an owner begins (MemoryPlan::owners).
  using Place = std::function<std::byte*(ValueId owner)>;
  Result<void> run(const Task& task, UnitRange units, const Kernel& kernel, const Place& place,
                   void* scratch) const;

  /// A parameter whose value after the step is not made in its memory, so that it must be moved
  /// there when the parameter is used no more.
  struct Move {
    ValueId from, to;
  };
  std::span<const Move> moves() const { return moves_; }
  Result<void> run(const Move& move) const;

  /// Carries out all tasks in the graph's order, then all moves.
  Result<void> run() const;

  /// Returns an operation as its kernel sees it: for the part that this rank has.
  KernelSignature signature_of(std::size_t operation) const;

 private:
  PreparedGraph(Graph graph, KernelMemory& memory, PrepareOptions options)
      : graph_(std::move(graph)), memory_(memory), options_(std::move(options)) {}

  Result<void> find_kernels(const KernelTable& table, KernelDevice device);
  Result<void> check_memory() const;
  Result<void> allocate();
  Result<KernelMemory::Block> allocate_kept(std::int64_t bytes);
  Result<void> allocate_parameters();
  std::int64_t leaf_bytes(ValueId leaf) const;
  void place_tasks();
  std::byte* memory_of(ValueId value) const;
  /// Returns by how much an operand or a result of an update in part begins later.
  std::int64_t offset_in(std::size_t operation, ValueId value) const;

  const Graph graph_;
  KernelMemory& memory_;
  const PrepareOptions options_;
  MemoryPlan plan_;
  std::vector<Task> tasks_;
  std::vector<Move> moves_;
  KernelMemory::Block arena_;
  std::vector<KernelMemory::Block> groups_;
  std::vector<KernelMemory::Block> parameter_groups_;
  std::vector<KernelMemory::Block> leaf_blocks_;
  std::vector<std::byte*> leaves_;  ///< by value; null for those that are no leaf
};

}  // namespace hocket
