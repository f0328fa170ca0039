#pragma once

// Places of a graph's values in one arena, so that the memory of a step is known before it runs.
// Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace hocket {

struct MemoryOptions {
  /// A power of two; each value begins at a multiple of it.
  std::int64_t alignment_bytes = 256;
  /// Operations by which memory stays after its last use. The plan is for operations one after the
  /// other; where several run at the same time, what needs memory would wait for what uses it, so
  /// this is memory given for time. At most kMostSlack.
  std::int64_t slack_operations = 0;
  /// Micro-batches that have memory of their own, so that they need not wait for each other: number
  /// i has that of number i - micro_batches_kept. From 1 to kMostMicroBatches; 1: all values share.
  std::int64_t micro_batches_kept = 1;
  /// By operation: memory that its kernel needs while it runs. Empty: none.
  std::vector<std::int64_t> scratch_bytes = {};
  /// Values that have memory of their own, outside of the arena, one after the other: gradients
  /// that are communicated together. Each is in one group alone, and is no input, parameter or
  /// reshape.
  std::vector<std::vector<ValueId>> groups = {};
};

inline constexpr std::int64_t kMostSlack = 1 << 20;

/// Memory of a value in a group.
struct GroupPlace {
  std::size_t group = 0;
  std::int64_t offset_bytes = 0;
};

/// Memory of the arena, from the operation that writes it first to the last one that uses it.
struct MemoryPlace {
  std::int64_t offset_bytes = 0, bytes = 0;
  std::size_t first = 0, last = 0;  ///< operations; the number of operations: to the end

  bool operator==(const MemoryPlace&) const = default;
};

struct MemoryPlan {
  /// By value: the value whose memory it has. Another one's where it is a reshape of it, or written
  /// over it by an operation that is the last to use it.
  std::vector<ValueId> owners;
  /// By value: the place in the arena of those that own one. Inputs and parameters have memory of
  /// their own, outside, and so has what is written over a parameter.
  std::vector<std::optional<MemoryPlace>> places;
  /// By value: the place in its group of those that own one.
  std::vector<std::optional<GroupPlace>> grouped;
  std::vector<std::int64_t> group_bytes;  ///< by group
  /// By operation: the place of its scratch memory.
  std::vector<std::optional<MemoryPlace>> scratch;
  std::int64_t arena_bytes = 0;
  /// The part of the arena that each micro-batch which is kept has, and which each further one
  /// would take; 0 for a graph without micro-batches.
  std::int64_t micro_batch_bytes = 0;
  /// Most bytes that live at the same time, rounded up to the alignment: no arena can be smaller.
  std::int64_t live_bytes = 0;
  /// An operation at which so many live.
  std::size_t fullest = 0;
  std::int64_t parameter_bytes = 0, input_bytes = 0;

  const std::optional<MemoryPlace>& place(ValueId value) const {
    return places[owners[value.index].index];
  }
};

/// Plans the memory of a graph whose operations run one after the other in its order, and keep to
/// in_place_operands(). Values that an output needs live to the end. Blocks are placed by two
/// methods, of which the smaller arena is taken: best fit in the order of time; and, where there
/// are not too many, the largest first, each as low as it fits (Pisarchyk & Lee, "Efficient memory
/// management for deep neural net inference", 2020, section 5.2). invalid_argument for options out
/// of their ranges, and for groups whose values cannot have memory of their own.
Result<MemoryPlan> plan_memory(const Graph& graph, const MemoryOptions& options = {});

/// Returns the operands over which an operation may write a result, in the order of preference: its
/// kernels allow that result and operand are the same memory. They have the same bytes.
std::vector<std::size_t> in_place_operands(const Graph& graph, const Operation& operation,
                                           std::size_t result);

}  // namespace hocket
