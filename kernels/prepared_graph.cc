#include "kernels/prepared_graph.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
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

/// Returns the number of an update's operands up to the states of its optimiser: the parameter, the
/// gradient, and the states, which are results, too.
std::size_t states_end(std::size_t results) {
  return 1 + results;
}

/// Returns whether the memory plan's choice is one that the kernel allows.
bool allows(const Kernel& kernel, const InPlace& pair) {
  return std::ranges::find(kernel.in_place(), pair) != kernel.in_place().end();
}

}  // namespace

Result<std::unique_ptr<PreparedGraph>> PreparedGraph::prepare(Graph graph, const KernelTable& table,
                                                              KernelDevice device,
                                                              KernelMemory& memory,
                                                              PrepareOptions options) {
  std::unique_ptr<PreparedGraph> prepared(
      new PreparedGraph(std::move(graph), memory, std::move(options)));
  HOCKET_TRY(prepared->find_kernels(table, device));
  HOCKET_TRY(prepared->allocate());
  prepared->place_tasks();
  return prepared;
}

std::optional<UpdatedPart> PreparedGraph::part_of(std::size_t operation) const {
  const auto part = std::ranges::find(options_.parts, operation, &UpdatedPart::operation);
  return part == options_.parts.end() ? std::nullopt : std::optional(*part);
}

KernelSignature PreparedGraph::signature_of(std::size_t operation) const {
  KernelSignature signature = hocket::signature_of(graph_, graph_.operations()[operation]);
  const auto part = part_of(operation);
  if (!part) return signature;
  for (ValueType& result : signature.results) result.shape = {part->count};
  for (std::size_t i = 0; i < states_end(signature.results.size()); ++i)
    signature.operands[i].shape = {part->count};
  return signature;
}

Result<void> PreparedGraph::find_kernels(const KernelTable& table, KernelDevice device) {
  MemoryOptions options = options_.memory;
  options.scratch_bytes.assign(graph_.operations().size(), 0);
  for (std::size_t i = 0; i < graph_.operations().size(); ++i) {
    const Operation& operation = graph_.operations()[i];
    // A reshape is where the value is that it reshapes.
    if (is_leaf(operation) || operation.kind == OperationKind::reshape) continue;
    const auto part = part_of(i);
    if (part && part->count == 0) {
      tasks_.push_back({.operation = i});
      continue;
    }
    auto kernel = table.make(signature_of(i), device);
    if (!kernel) return failure(kernel.error().in(words_of(operation)));
    options.scratch_bytes[i] = (*kernel)->scratch_bytes();
    tasks_.push_back({.operation = i, .kernel = std::move(*kernel)});
  }
  auto plan = plan_memory(graph_, options);
  HOCKET_TRY(plan);
  plan_ = std::move(*plan);
  // The states that this rank has no part of.
  plan_.parameter_bytes = 0;
  for (const Operation& operation : graph_.operations())
    if (operation.kind == OperationKind::parameter)
      plan_.parameter_bytes += leaf_bytes(operation.first_result);
  return {};
}

std::int64_t PreparedGraph::leaf_bytes(ValueId leaf) const {
  for (const UpdatedPart& part : options_.parts) {
    const Operation& update = graph_.operations()[part.operation];
    const std::span operands(update.operands);
    const auto states = operands.subspan(2, states_end(graph_.results(update)) - 2);
    if (std::ranges::find(states, leaf) != states.end())
      return part.count * static_cast<std::int64_t>(sizeof(float));
  }
  return graph_.type(leaf).bytes();
}

std::int64_t PreparedGraph::allocated_bytes() const {
  const std::int64_t groups =
      std::accumulate(plan_.group_bytes.begin(), plan_.group_bytes.end(), std::int64_t{0});
  return plan_.parameter_bytes + plan_.input_bytes + groups +
         (options_.is_placed ? 0 : plan_.arena_bytes);
}

std::optional<std::int64_t> PreparedGraph::limit_bytes() const {
  const auto available = (options_.is_placed ? host_kernel_memory() : memory_).available_bytes();
  if (options_.limit_bytes == 0) return available;
  return std::min(options_.limit_bytes, available.value_or(options_.limit_bytes));
}

Result<void> PreparedGraph::check_memory() const {
  constexpr std::int64_t kMebibyte = 1 << 20;
  const std::int64_t needed = allocated_bytes();
  const auto limit = limit_bytes();
  if (!limit || needed <= *limit) return {};
  const auto mebibytes = [](std::int64_t bytes) {
    return std::to_string((bytes + kMebibyte - 1) / kMebibyte) + " MiB";
  };
  const std::int64_t kept = options_.memory.micro_batches_kept, each = plan_.micro_batch_bytes;
  const std::int64_t spare = *limit - (needed - (kept - 1) * each);
  if (kept > 1 && spare >= 0) {
    return failure(ErrorCode::invalid_argument,
                   "field \"micro_batches_kept\": " + std::to_string(kept) +
                       " micro-batches take " + mebibytes(kept * each) +
                       ", for which the memory is not there; keep at most " +
                       std::to_string(1 + spare / each));
  }
  return failure(
      ErrorCode::unavailable,
      "a step takes " + mebibytes(needed) + " of memory, " + mebibytes(plan_.parameter_bytes) +
          " for parameters and " + mebibytes(needed - plan_.parameter_bytes - plan_.input_bytes) +
          " for values within the step; there are " + std::to_string(*limit / kMebibyte) +
          " MiB. Recompute more, or choose smaller batches or a smaller model");
}

Result<KernelMemory::Block> PreparedGraph::allocate_kept(std::int64_t bytes) {
  return options_.is_placed ? memory_.allocate_on_host(bytes) : memory_.allocate(bytes);
}

Result<void> PreparedGraph::allocate() {
  HOCKET_TRY(check_memory());
  leaves_.resize(graph_.values());
  HOCKET_TRY(allocate_parameters());
  for (const std::int64_t bytes : plan_.group_bytes) {
    auto group = allocate_kept(bytes);
    if (!group) return failure(group.error().in("a group of values"));
    groups_.push_back(std::move(*group));
  }
  if (options_.is_placed) return {};
  auto arena = memory_.allocate(plan_.arena_bytes);
  if (!arena) return failure(arena.error().in("the values of a step"));
  arena_ = std::move(*arena);
  return {};
}

Result<void> PreparedGraph::allocate_parameters() {
  for (const std::vector<ValueId>& group : options_.parameter_groups) {
    std::int64_t bytes = 0;
    for (const ValueId parameter : group) bytes += graph_.type(parameter).bytes();
    auto block = allocate_kept(bytes);
    if (!block) return failure(block.error().in("a group of parameters"));
    std::byte* next = block->get();
    for (const ValueId parameter : group) {
      leaves_[parameter.index] = next;
      next += graph_.type(parameter).bytes();
    }
    parameter_groups_.push_back(std::move(*block));
  }
  for (const Operation& operation : graph_.operations()) {
    const ValueId value = operation.first_result;
    if (!is_leaf(operation) || leaves_[value.index]) continue;
    const bool is_input = operation.kind == OperationKind::input;
    auto block = is_input ? memory_.allocate(leaf_bytes(value)) : allocate_kept(leaf_bytes(value));
    if (!block) return failure(block.error().in(words_of(operation)));
    leaves_[value.index] = block->get();
    leaf_blocks_.push_back(std::move(*block));
  }
  return {};
}

std::span<std::byte> PreparedGraph::parameter_group(std::size_t index) const {
  std::int64_t bytes = 0;
  for (const ValueId parameter : options_.parameter_groups[index])
    bytes += graph_.type(parameter).bytes();
  return {parameter_groups_[index].get(), static_cast<std::size_t>(bytes)};
}

void PreparedGraph::place_tasks() {
  for (Task& task : tasks_) {
    const Operation& operation = graph_.operations()[task.operation];
    if (options_.is_placed || !task.kernel) continue;
    for (const ValueId operand : operation.operands)
      task.operands.push_back(memory_of(operand) + offset_in(task.operation, operand));
    for (std::size_t r = 0; r < graph_.results(operation); ++r) {
      const ValueId result = graph_.result(operation, r);
      task.results.push_back(memory_of(result) + offset_in(task.operation, result));
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
  if (is_leaf(graph_.operations()[graph_.producer(owner)])) return leaves_[owner.index];
  if (const auto& place = plan_.grouped[owner.index])
    return groups_[place->group].get() + place->offset_bytes;
  if (options_.is_placed) return nullptr;
  return arena_.get() + plan_.places[owner.index]->offset_bytes;
}

std::int64_t PreparedGraph::offset_in(std::size_t operation, ValueId value) const {
  const auto part = part_of(operation);
  if (!part) return 0;
  // The states are those of the part.
  const std::vector<ValueId>& operands = graph_.operations()[operation].operands;
  const ValueId owner = plan_.owners[value.index];
  const bool is_whole =
      owner == plan_.owners[operands[0].index] || owner == plan_.owners[operands[1].index];
  return is_whole ? part->begin * static_cast<std::int64_t>(sizeof(float)) : 0;
}

std::span<std::byte> PreparedGraph::bytes_of(ValueId value) const {
  std::byte* const memory = memory_of(value);
  if (!memory) return {};
  const bool is_whole = !is_leaf(graph_.operations()[graph_.producer(value)]);
  const std::int64_t bytes = is_whole ? graph_.type(value).bytes() : leaf_bytes(value);
  return {memory, static_cast<std::size_t>(bytes)};
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
  if (!task.kernel) return {};
  auto done = task.kernel->run({task.operands, task.results, task.scratch}, units);
  if (!done) return failure(done.error().in(words_of(graph_.operations()[task.operation])));
  return {};
}

Result<void> PreparedGraph::run_summands(const Task& task, UnitRange range) const {
  auto done = task.kernel->run_summands({task.operands, task.results, task.scratch}, range);
  if (!done) return failure(done.error().in(words_of(graph_.operations()[task.operation])));
  return {};
}

Result<void> PreparedGraph::run(const Task& task, UnitRange units, const Kernel& kernel,
                                const Place& place, void* scratch) const {
  const Operation& operation = graph_.operations()[task.operation];
  boost::container::small_vector<const void*, 16> operands;
  boost::container::small_vector<void*, 4> results;
  const auto memory = [&](ValueId value) {
    return place(plan_.owners[value.index]) + offset_in(task.operation, value);
  };
  for (const ValueId operand : operation.operands) operands.push_back(memory(operand));
  for (std::size_t r = 0; r < graph_.results(operation); ++r)
    results.push_back(memory(graph_.result(operation, r)));
  auto done = kernel.run(
      {{operands.data(), operands.size()}, {results.data(), results.size()}, scratch}, units);
  if (!done) return failure(done.error().in(words_of(operation)));
  return {};
}

Result<void> PreparedGraph::run(const Move& move) const {
  return memory_.copy(memory_of(move.to), memory_of(move.from), graph_.type(move.to).bytes());
}

Result<void> PreparedGraph::run() const {
  for (const Task& task : tasks_) HOCKET_TRY(run(task));
  for (const Move& move : moves_) HOCKET_TRY(run(move));
  return {};
}

}  // namespace hocket
