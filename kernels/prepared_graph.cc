#include "kernels/prepared_graph.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/graph/passes/optimiser.h"

namespace hocket {
namespace {

bool is_leaf(const Operation& operation) {
  return operation.kind == OperationKind::input || operation.kind == OperationKind::parameter;
}

/// Returns whether the memory plan's choice is one that the kernel allows.
bool allows(const Kernel& kernel, const InPlace& pair) {
  return std::ranges::find(kernel.in_place(), pair) != kernel.in_place().end();
}

}  // namespace

Result<std::unique_ptr<PreparedGraph>> PreparedGraph::prepare(Graph graph, const KernelTable& table,
                                                              KernelDevice device,
                                                              KernelMemory& memory,
                                                              MemoryOptions memory_options) {
  std::unique_ptr<PreparedGraph> prepared(new PreparedGraph(std::move(graph), memory));
  HOCKET_TRY(prepared->find_kernels(table, device, std::move(memory_options)));
  HOCKET_TRY(prepared->allocate());
  prepared->place_tasks();
  return prepared;
}

Result<void> PreparedGraph::find_kernels(const KernelTable& table, KernelDevice device,
                                         MemoryOptions options) {
  options.scratch_bytes.assign(graph_.operations().size(), 0);
  for (std::size_t i = 0; i < graph_.operations().size(); ++i) {
    const Operation& operation = graph_.operations()[i];
    // A reshape is where the value is that it reshapes.
    if (is_leaf(operation) || operation.kind == OperationKind::reshape) continue;
    auto kernel = table.make(signature_of(graph_, operation), device);
    if (!kernel) return failure(kernel.error().in(words_of(operation)));
    options.scratch_bytes[i] = (*kernel)->scratch_bytes();
    tasks_.push_back({.operation = i, .kernel = std::move(*kernel)});
  }
  auto plan = plan_memory(graph_, options);
  HOCKET_TRY(plan);
  plan_ = std::move(*plan);
  return {};
}

Result<void> PreparedGraph::check_memory() const {
  constexpr std::int64_t kMebibyte = 1 << 20;
  const std::int64_t groups =
      std::accumulate(plan_.group_bytes.begin(), plan_.group_bytes.end(), std::int64_t{0});
  const std::int64_t needed =
      plan_.parameter_bytes + plan_.input_bytes + plan_.arena_bytes + groups;
  const auto available = memory_.available_bytes();
  if (!available || needed <= *available) return {};
  const auto mebibytes = [](std::int64_t bytes) {
    return std::to_string((bytes + kMebibyte - 1) / kMebibyte) + " MiB";
  };
  return failure(
      ErrorCode::unavailable,
      "a step takes " + mebibytes(needed) + " of memory, " + mebibytes(plan_.parameter_bytes) +
          " for parameters and " + mebibytes(plan_.arena_bytes + groups) +
          " for values within the step; there are " + std::to_string(*available / kMebibyte) +
          " MiB. Recompute more, or choose smaller batches or a smaller model");
}

Result<void> PreparedGraph::allocate() {
  HOCKET_TRY(check_memory());
  leaves_.resize(graph_.values());
  for (const Operation& operation : graph_.operations()) {
    if (!is_leaf(operation)) continue;
    auto block = memory_.allocate(graph_.type(operation.first_result).bytes());
    if (!block) return failure(block.error().in(words_of(operation)));
    leaves_[operation.first_result.index] = std::move(*block);
  }
  auto arena = memory_.allocate(plan_.arena_bytes);
  if (!arena) return failure(arena.error().in("the values of a step"));
  arena_ = std::move(*arena);
  for (const std::int64_t bytes : plan_.group_bytes) {
    auto group = memory_.allocate(bytes);
    if (!group) return failure(group.error().in("a group of values"));
    groups_.push_back(std::move(*group));
  }
  return {};
}

void PreparedGraph::place_tasks() {
  for (Task& task : tasks_) {
    const Operation& operation = graph_.operations()[task.operation];
    for (const ValueId operand : operation.operands) task.operands.push_back(memory_of(operand));
    for (std::size_t r = 0; r < graph_.results(operation); ++r) {
      task.results.push_back(memory_of(graph_.result(operation, r)));
      for (std::size_t o = 0; o < task.operands.size(); ++o) {
        HOCKET_CHECK(task.operands[o] != task.results[r] || allows(*task.kernel, {r, o}),
                     "kernels write over the operands over which operations may be written");
      }
    }
    if (const auto& scratch = plan_.scratch[task.operation])
      task.scratch = arena_.get() + scratch->offset_bytes;
  }
  for (const GraphOutput& output : graph_.outputs()) {
    if (!output.name.starts_with(updated_name(""))) continue;
    const auto home = graph_.leaf(output.name.substr(updated_name("").size()));
    if (home && plan_.owners[output.value.index] != *home) moves_.push_back({output.value, *home});
  }
}

std::byte* PreparedGraph::memory_of(ValueId value) const {
  const ValueId owner = plan_.owners[value.index];
  if (const auto& leaf = leaves_[owner.index]) return leaf.get();
  if (const auto& place = plan_.grouped[owner.index])
    return groups_[place->group].get() + place->offset_bytes;
  return arena_.get() + plan_.places[owner.index]->offset_bytes;
}

std::span<std::byte> PreparedGraph::bytes_of(ValueId value) const {
  return {memory_of(value), static_cast<std::size_t>(graph_.type(value).bytes())};
}

std::span<std::byte> PreparedGraph::leaf(std::string_view name) {
  const auto value = graph_.leaf(name);
  HOCKET_CHECK(value, "an input or a parameter of the graph");
  return bytes_of(*value);
}

std::span<const std::byte> PreparedGraph::output(std::string_view name) const {
  const auto value = graph_.output(name);
  HOCKET_CHECK(value, "an output of the graph");
  return bytes_of(*value);
}

Result<void> PreparedGraph::run(const Task& task, UnitRange units) const {
  auto done = task.kernel->run({task.operands, task.results, task.scratch}, units);
  if (!done) return failure(done.error().in(words_of(graph_.operations()[task.operation])));
  return {};
}

void PreparedGraph::run(const Move& move) const {
  memory_.copy(memory_of(move.to), memory_of(move.from), graph_.type(move.to).bytes());
}

Result<void> PreparedGraph::run() const {
  for (const Task& task : tasks_) HOCKET_TRY(run(task));
  for (const Move& move : moves_) run(move);
  return {};
}

}  // namespace hocket
