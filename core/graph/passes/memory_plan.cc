#include "core/graph/passes/memory_plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "core/graph/passes/micro_batches.h"
#include "core/graph/passes/optimiser.h"
#include "core/graph/region.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// Beyond so many blocks only the fast method is tried.
constexpr std::size_t kMostBySize = 20'000;

constexpr std::int64_t kMostAlignment = 1 << 30;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;

std::int64_t aligned(std::int64_t bytes, std::int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Finds which values share memory, and how long it is used.
class Owners {
 public:
  Owners(const Graph& graph, std::int64_t slack)
      : graph_(graph), slack_(static_cast<std::size_t>(slack)), last_uses_(graph.values()) {
    const std::size_t end = graph.operations().size();
    for (std::size_t i = 0; i < end; ++i) {
      const Operation& operation = graph.operations()[i];
      for (const ValueId operand : operation.operands) last_uses_[operand.index] = i;
      for (std::size_t r = 0; r < graph.results(operation); ++r)
        last_uses_[graph.result(operation, r).index] = i;
    }
    for (const GraphOutput& output : graph.outputs()) {
      last_uses_[output.value.index] = end;
      if (!output.name.starts_with(updated_name(""))) continue;
      const auto leaf = graph.leaf(output.name.substr(updated_name("").size()));
      if (leaf) homes_.emplace(output.value, *leaf);
    }
    extend_homes();
    // A reshape keeps what it is a reshape of.
    for (std::size_t i = end; i-- > 0;) {
      const Operation& operation = graph.operations()[i];
      if (operation.kind == Kind::reshape) extend(operation.operands[0], operation.first_result);
    }
  }

  std::vector<ValueId> find() {
    std::vector<ValueId> owners(graph_.values());
    for (std::uint32_t i = 0; i < owners.size(); ++i) owners[i] = {i};
    // The last use of each memory, by owner.
    lasts_ = last_uses_;
    last_reads_.assign(graph_.values(), 0);
    for (std::size_t i = 0; i < graph_.operations().size(); ++i) {
      const Operation& operation = graph_.operations()[i];
      if (operation.kind == Kind::reshape) {
        owners[operation.first_result.index] = owners[operation.operands[0].index];
        continue;
      }
      std::set<ValueId> taken;
      for (std::size_t r = 0; r < graph_.results(operation); ++r) {
        const ValueId result = graph_.result(operation, r);
        const auto owner = overwritten(operation, i, r, owners);
        if (!owner || !taken.insert(*owner).second) continue;
        owners[result.index] = *owner;
        lasts_[owner->index] = last_uses_[result.index];
      }
      for (const ValueId operand : operation.operands) last_reads_[owners[operand.index].index] = i;
    }
    return owners;
  }

  /// Returns the last use of the memory of an owner, after find().
  std::size_t last(ValueId owner) const { return lasts_[owner.index]; }

 private:
  /// Returns the memory that a result of operation `i` is written over. That of a parameter is only
  /// written over by what the parameter is after the step.
  std::optional<ValueId> overwritten(const Operation& operation, std::size_t i, std::size_t result,
                                     const std::vector<ValueId>& owners) const {
    const auto home = homes_.find(graph_.result(operation, result));
    std::optional<ValueId> found;
    for (const std::size_t o : in_place_operands(graph_, operation, result)) {
      const ValueId owner = owners[operation.operands[o].index];
      if (lasts_[owner.index] != i || uses_of(operation, owner, owners) > 1) continue;
      const bool is_leaf = graph_.operations()[graph_.producer(owner)].kind <= Kind::parameter;
      const bool is_home = home != homes_.end() && home->second == owner;
      // An earlier reader may still be at work.
      const bool is_read = last_reads_[owner.index] > 0 && i < last_reads_[owner.index] + slack_;
      if (is_home || (!is_leaf && !is_read && !found)) found = owner;
      if (is_home) break;
    }
    return found;
  }
  /// A value that is only used to make what a parameter is after the step may be in its memory,
  /// too.
  void extend_homes() {
    std::vector<int> uses(graph_.values());
    for (const Operation& operation : graph_.operations())
      for (const ValueId operand : operation.operands) ++uses[operand.index];
    for (const GraphOutput& output : graph_.outputs()) ++uses[output.value.index];
    for (std::size_t i = graph_.operations().size(); i-- > 0;) {
      const Operation& operation = graph_.operations()[i];
      const auto home = homes_.find(operation.first_result);
      if (home == homes_.end()) continue;
      for (const std::size_t o : in_place_operands(graph_, operation, 0)) {
        const ValueId operand = operation.operands[o];
        const bool is_leaf = graph_.operations()[graph_.producer(operand)].kind <= Kind::parameter;
        if (is_leaf || uses[operand.index] > 1) continue;
        homes_.emplace(operand, home->second);
        break;
      }
    }
  }
  void extend(ValueId value, ValueId view) {
    last_uses_[value.index] = std::max(last_uses_[value.index], last_uses_[view.index]);
  }
  /// Returns how many operands are in the memory of an owner.
  static std::ptrdiff_t uses_of(const Operation& operation, ValueId owner,
                                const std::vector<ValueId>& owners) {
    return std::ranges::count_if(operation.operands,
                                 [&](ValueId operand) { return owners[operand.index] == owner; });
  }

  const Graph& graph_;
  const std::size_t slack_;
  std::vector<std::size_t> last_uses_;   ///< by value
  std::vector<std::size_t> last_reads_;  ///< by owner: by operations before the present one
  std::vector<std::size_t> lasts_;       ///< by owner: of its memory
  std::map<ValueId, ValueId> homes_;     ///< the parameter that an output is after the step
};

/// A block of the arena that is sought, and who has it.
struct Block {
  std::optional<MemoryPlace>* owner = nullptr;
  MemoryPlace place;
  /// The micro-batch outside of which nobody uses it.
  std::optional<std::int64_t> micro_batch = {};
};

bool is_at_the_same_time(const MemoryPlace& one, const MemoryPlace& other) {
  return one.first <= other.last && other.first <= one.last;
}

std::int64_t end_of(const std::vector<Block>& blocks) {
  std::int64_t end = 0;
  for (const Block& block : blocks)
    end = std::max(end, block.place.offset_bytes + block.place.bytes);
  return end;
}

/// Places the largest blocks first, each at the lowest offset where nothing is at its time.
void place_by_size(std::vector<Block>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t one, std::size_t other) {
    return blocks[one].place.bytes > blocks[other].place.bytes;
  });
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t i : order) {
    MemoryPlace& place = blocks[i].place;
    std::int64_t offset = 0;
    for (const std::size_t other : placed) {
      const MemoryPlace& there = blocks[other].place;
      if (!is_at_the_same_time(there, place)) continue;
      if (there.offset_bytes >= offset + place.bytes) break;
      offset = std::max(offset, there.offset_bytes + there.bytes);
    }
    place.offset_bytes = offset;
    const auto at = std::ranges::upper_bound(
        placed, offset, {}, [&](std::size_t other) { return blocks[other].place.offset_bytes; });
    placed.insert(at, i);
  }
}

/// Free memory below the end of the arena, which grows where none of it fits.
class FreeMemory {
 public:
  std::int64_t take(std::int64_t bytes) {
    const auto best = by_size_.lower_bound({bytes, 0});
    if (best == by_size_.end()) return grow(bytes);
    const auto [size, offset] = *best;
    remove(offset, size);
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  void give(std::int64_t offset, std::int64_t bytes) {
    const auto next = by_offset_.find(offset + bytes);
    if (next != by_offset_.end()) {
      const std::int64_t more = next->second;
      remove(offset + bytes, more);
      bytes += more;
    }
    const auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.begin()) {
      const auto [before, size] = *std::prev(after);
      if (before + size == offset) {
        remove(before, size);
        offset = before;
        bytes += size;
      }
    }
    add(offset, bytes);
  }

 private:
  /// Takes the free memory at the end of the arena, too.
  std::int64_t grow(std::int64_t bytes) {
    std::int64_t offset = end_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        remove(last, size);
        offset = last;
      }
    }
    end_ = offset + bytes;
    return offset;
  }
  void add(std::int64_t offset, std::int64_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void remove(std::int64_t offset, std::int64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::int64_t end_ = 0;
  std::map<std::int64_t, std::int64_t> by_offset_;           // sizes
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;  // size and offset
};

/// Places blocks in the order of their beginnings, each where the least is left over.
void place_by_time(std::vector<Block>& blocks) {
  FreeMemory free;
  std::multimap<std::size_t, const MemoryPlace*> ends;
  for (Block& block : blocks) {
    while (!ends.empty() && ends.begin()->first < block.place.first) {
      free.give(ends.begin()->second->offset_bytes, ends.begin()->second->bytes);
      ends.erase(ends.begin());
    }
    block.place.offset_bytes = free.take(block.place.bytes);
    ends.emplace(block.place.last, &block.place);
  }
}

/// Places blocks by the better method, and returns the end of their arena.
std::int64_t place_blocks(std::vector<Block>& blocks) {
  place_by_time(blocks);
  if (blocks.size() <= kMostBySize) {
    std::vector<Block> others = blocks;
    place_by_size(others);
    if (end_of(others) < end_of(blocks)) blocks = std::move(others);
  }
  return end_of(blocks);
}

/// Returns the blocks for which `takes` is true.
template <class Takes>
std::vector<Block> blocks_that(const std::vector<Block>& blocks, Takes takes) {
  std::vector<Block> taken;
  std::ranges::copy_if(blocks, std::back_inserter(taken), takes);
  return taken;
}

/// Gives micro-batches arenas of their own in turn, behind one for what belongs to none of them.
void place_apart(std::vector<Block>& blocks, std::int64_t kept, MemoryPlan& plan) {
  std::vector<Block> placed =
      blocks_that(blocks, [](const Block& block) { return !block.micro_batch; });
  const std::int64_t shared = place_blocks(placed);
  std::vector<std::vector<Block>> arenas;
  for (std::int64_t i = 0; i < kept; ++i) {
    arenas.push_back(blocks_that(blocks, [&](const Block& block) {
      return block.micro_batch && *block.micro_batch % kept == i;
    }));
    plan.micro_batch_bytes = std::max(plan.micro_batch_bytes, place_blocks(arenas.back()));
  }
  std::int64_t begin = shared;
  for (std::vector<Block>& arena : arenas) {
    for (Block& block : arena) {
      block.place.offset_bytes += begin;
      placed.push_back(block);
    }
    begin += plan.micro_batch_bytes;
  }
  blocks = std::move(placed);
  plan.arena_bytes = begin;
}

/// Keeps the most bytes that live at the same time.
void find_fullest(const std::vector<Block>& blocks, std::size_t operations, MemoryPlan& plan) {
  std::vector<std::int64_t> changes(operations + 2);
  for (const Block& block : blocks) {
    changes[block.place.first] += block.place.bytes;
    changes[block.place.last + 1] -= block.place.bytes;
  }
  std::int64_t live = 0;
  for (std::size_t i = 0; i < operations; ++i) {
    live += changes[i];
    if (live <= plan.live_bytes) continue;
    plan.live_bytes = live;
    plan.fullest = i;
  }
}

/// invalid_argument where sums of bytes might not fit into their type.
Result<void> check_bytes(const Graph& graph, std::span<const std::int64_t> scratch) {
  std::int64_t bytes = 0;
  const auto add = [&](std::int64_t more) { bytes = std::min(bytes + more, kMostBytes); };
  for (std::uint32_t i = 0; i < graph.values(); ++i) add(graph.type({i}).bytes());
  for (const std::int64_t each : scratch) add(std::min(each, kMostBytes));
  if (bytes == kMostBytes) {
    return failure(ErrorCode::invalid_argument, "the values take more than " +
                                                    std::to_string(kMostBytes >> 60) +
                                                    " EiB together, which no machine has");
  }
  return {};
}

/// Gives the owners of grouped values places in their groups.
Result<void> place_groups(const Graph& graph, const std::vector<std::vector<ValueId>>& groups,
                          MemoryPlan& plan) {
  plan.grouped.resize(graph.values());
  for (const std::vector<ValueId>& group : groups) {
    std::int64_t bytes = 0;
    for (const ValueId value : group) {
      const ValueId owner = plan.owners[value.index];
      const Operation& maker = graph.operations()[graph.producer(owner)];
      if (maker.kind <= Kind::parameter || plan.grouped[owner.index] ||
          graph.type(owner).bytes() != graph.type(value).bytes()) {
        return failure(ErrorCode::invalid_argument,
                       "group " + std::to_string(plan.group_bytes.size()) + ": " +
                           words_of(graph.operations()[graph.producer(value)]) +
                           " has no memory of its own");
      }
      plan.grouped[owner.index] = {plan.group_bytes.size(), bytes};
      bytes += graph.type(value).bytes();
    }
    plan.group_bytes.push_back(bytes);
  }
  return {};
}

}  // namespace

std::vector<std::size_t> in_place_operands(const Graph& graph, const Operation& operation,
                                           std::size_t result) {
  const ValueType& type = graph.type(graph.result(operation, result));
  std::vector<std::size_t> candidates;
  switch (operation.kind) {
    case Kind::add:
    case Kind::subtract:
    case Kind::multiply:
    case Kind::divide:
    case Kind::swiglu:
    case Kind::relu_gradient:
    case Kind::gelu_gradient:
    case Kind::silu_gradient:
    case Kind::softmax_gradient:
      candidates = {0, 1};
      break;
    case Kind::select:
      candidates = {1, 2};
      break;
    case Kind::scale:
    case Kind::exponential:
    case Kind::logarithm:
    case Kind::square_root:
    case Kind::reciprocal_square_root:
    case Kind::tanh:
    case Kind::sigmoid:
    case Kind::relu:
    case Kind::gelu:
    case Kind::silu:
    case Kind::dropout:
    case Kind::softmax:
      candidates = {0};
      break;
    case Kind::cross_entropy_gradient:
      candidates = {0};
      break;
    case Kind::matmul:
      if (const auto residual = operand_place(operation.kind, operation.attributes, "residual");
          residual && result == 0)
        candidates = {*residual};
      break;
    case Kind::adamw:
      candidates = {result == 0 ? 0U : result + 1};
      break;
    case Kind::sgd:
      candidates = {result == 0 ? 0U : 2U};
      break;
    default:
      break;
  }
  std::erase_if(candidates,
                [&](std::size_t o) { return graph.type(operation.operands[o]) != type; });
  return candidates;
}

Result<MemoryPlan> plan_memory(const Graph& graph, const MemoryOptions& options) {
  if (options.alignment_bytes < 1 || options.alignment_bytes > kMostAlignment ||
      !std::has_single_bit(static_cast<std::uint64_t>(options.alignment_bytes))) {
    return failure(ErrorCode::invalid_argument, "alignment: expected a power of two up to " +
                                                    std::to_string(kMostAlignment) + ", found " +
                                                    std::to_string(options.alignment_bytes));
  }
  if (options.slack_operations < 0 || options.slack_operations > kMostSlack) {
    return failure(ErrorCode::invalid_argument,
                   "slack: expected 0 to " + std::to_string(kMostSlack) + " operations, found " +
                       std::to_string(options.slack_operations));
  }
  if (options.micro_batches_kept < 1 || options.micro_batches_kept > kMostMicroBatches) {
    return failure(ErrorCode::invalid_argument, "micro-batches that are kept: expected 1 to " +
                                                    std::to_string(kMostMicroBatches) + ", found " +
                                                    std::to_string(options.micro_batches_kept));
  }
  HOCKET_TRY(check_bytes(graph, options.scratch_bytes));
  MemoryPlan plan;
  Owners owners(graph, options.slack_operations);
  plan.owners = owners.find();
  plan.places.resize(graph.values());
  HOCKET_TRY(place_groups(graph, options.groups, plan));
  plan.scratch.resize(graph.operations().size());
  std::vector<Block> blocks;
  const auto add = [&](std::optional<MemoryPlace>& owner, std::int64_t bytes, std::size_t first,
                       std::size_t last) {
    const std::size_t end = graph.operations().size();
    const auto slack = static_cast<std::size_t>(options.slack_operations);
    const auto of_first = micro_batch_of(graph.operations()[first].region);
    const bool is_within =
        last < end && of_first == micro_batch_of(graph.operations()[last].region);
    blocks.push_back(
        {&owner,
         {0, aligned(bytes, options.alignment_bytes), first, std::min(last + slack, end)},
         is_within ? of_first : std::nullopt});
  };
  for (std::size_t i = 0; i < graph.operations().size(); ++i) {
    const Operation& operation = graph.operations()[i];
    for (std::size_t r = 0; r < graph.results(operation); ++r) {
      const ValueId value = graph.result(operation, r);
      const std::int64_t bytes = graph.type(value).bytes();
      if (operation.kind == Kind::parameter) plan.parameter_bytes += bytes;
      if (operation.kind == Kind::input) plan.input_bytes += bytes;
      if (operation.kind <= Kind::parameter || plan.owners[value.index] != value) continue;
      if (plan.grouped[value.index]) continue;
      add(plan.places[value.index], bytes, i, owners.last(value));
    }
    if (i < options.scratch_bytes.size() && options.scratch_bytes[i] > 0)
      add(plan.scratch[i], options.scratch_bytes[i], i, i);
  }
  find_fullest(blocks, graph.operations().size(), plan);
  if (options.micro_batches_kept > 1) {
    place_apart(blocks, options.micro_batches_kept, plan);
  } else {
    auto first = blocks_that(blocks, [](const Block& block) { return block.micro_batch == 0; });
    plan.micro_batch_bytes = place_blocks(first);
    plan.arena_bytes = place_blocks(blocks);
  }
  for (const Block& block : blocks) *block.owner = block.place;
  return plan;
}

}  // namespace hocket
