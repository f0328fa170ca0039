#pragma once

// The scheduler's view of a task: its accesses, priority and place in the step. Plain values.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// A data item that tasks read and write: a buffer whose accesses are ordered. Created by
/// Scheduler::add_data; an index, not a pointer.
struct DataId {
  std::uint32_t index = 0;
  bool operator==(const DataId&) const = default;
};

/// A submitted task. The slot of a finished task is reused with another generation, so an old id
/// never matches a new task.
struct TaskId {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  bool operator==(const TaskId&) const = default;
};

/// The id as one number, for maps and for sorting.
constexpr std::uint64_t packed(TaskId id) {
  return std::uint64_t{id.slot} << 32 | id.generation;
}

enum class AccessMode : std::uint8_t { read, write, update };

struct Access {
  DataId data;
  AccessMode mode = AccessMode::read;
};

constexpr Access read(DataId data) {
  return {data, AccessMode::read};
}
/// Overwrites the data without reading them.
constexpr Access write(DataId data) {
  return {data, AccessMode::write};
}
/// Reads the data, then writes them.
constexpr Access update(DataId data) {
  return {data, AccessMode::update};
}

/// Effect of dividing a computation along a dimension (Centauri, ASPLOS 2024, section 4, workload
/// partitioning).
enum class DimensionKind : std::uint8_t {
  /// Pieces compute different results, as along a batch or the rows or columns of a product.
  outer,
  /// Pieces compute summands of the same results: a piece that does not begin at 0 adds to the
  /// existing values.
  contraction,
  /// Never divided: results depend on the whole dimension, as in a softmax.
  normalized,
};

/// Part of a data item that a task accesses: unit i of the dimension accesses bytes_per_unit bytes
/// from begin_bytes + i · bytes_per_unit on, and the last unit also the `tail_bytes` after that.
/// Each piece accesses all of the task's data that have no slice.
struct DimensionSlice {
  DataId data;
  std::int64_t begin_bytes = 0;
  std::int64_t bytes_per_unit = 0;
  std::int64_t tail_bytes = 0;
  /// True when bytes count from the beginning of this rank's block of the data
  /// (core/step/rank_grid.h).
  bool of_block = false;

  bool operator==(const DimensionSlice&) const = default;
};

/// A dimension of a computation.
struct Dimension {
  std::string name;
  DimensionKind kind = DimensionKind::outer;
  /// Number of units, which are the smallest possible pieces.
  std::int64_t extent = 1;
  std::vector<DimensionSlice> slices;
  /// Time that each piece after the first adds to the computation; 0 if unknown.
  std::int64_t piece_ns = 0;

  bool operator==(const Dimension&) const = default;
};

inline constexpr std::int64_t kNoLayer = -1;

/// Place of a task in the step. Has an effect only where the configuration refers to it.
struct TaskPlace {
  /// Name as in ScheduleConfig::regions, such as "backward_block1"; empty: no region.
  std::string region = {};
  /// Micro-batch of the step, from 0; kNoMicroBatch for other tasks.
  std::uint32_t micro_batch = ~std::uint32_t{0};
  /// Dimensions along which the computation may be divided, in order of preference.
  std::vector<Dimension> dimensions = {};
  /// Layer whose parameters the task updates, or kNoLayer.
  std::int64_t updates_layer = kNoLayer;

  bool operator==(const TaskPlace&) const = default;
};

inline constexpr std::uint32_t kNoMicroBatch = ~std::uint32_t{0};

/// The lane that runs a compute task. A step on a device with memory of its own has tasks for the
/// host and copies between the two (core/placement/step_placement.h); all others run on streams.
enum class TaskLane : std::uint8_t {
  stream,     ///< a stream of the device, or a thread of a host that is its own device
  host,       ///< the host beside a device
  to_device,  ///< copies from the host's memory to the device's
  to_host,    ///< copies from the device's memory to the host's
};
inline constexpr std::size_t kTaskLanes = 4;

constexpr std::string_view to_string(TaskLane lane) {
  constexpr std::string_view kNames[kTaskLanes] = {"stream", "host", "to_device", "to_host"};
  return kNames[static_cast<std::size_t>(lane)];
}

inline constexpr std::uint32_t kNotARange = ~std::uint32_t{0};

/// A data item as the placement of a step needs to know it.
struct DataPlace {
  /// Bytes that it takes; 0: it only orders tasks.
  std::int64_t bytes = 0;
  /// Layer whose parameters or optimizer state it holds, from 0, or kNoLayer.
  std::int64_t layer = kNoLayer;
  /// It holds nothing from one step to the next, even if the first task of a step to access it
  /// reads it.
  bool is_transient = false;
  /// Index of the data item of whose memory it is a range, or kNotARange. A range has no bytes of
  /// its own.
  std::uint32_t range_of = kNotARange;

  bool operator==(const DataPlace&) const = default;
};

struct TaskOptions {
  /// Name for traces. The string must outlive the scheduler (a literal, or owned by the model).
  std::string_view name = {};
  /// 0 is most urgent; below kPriorityLevels. By convention the layer's index in the forward pass,
  /// the order in which the next iteration needs the results.
  std::uint32_t priority = 0;
  /// Place in the step, or null. Must outlive the scheduler, as the name must.
  const TaskPlace* place = nullptr;
  /// Only the scheduler submits to lanes other than the stream's.
  TaskLane lane = TaskLane::stream;
};

/// Number of distinct priorities.
inline constexpr std::uint32_t kPriorityLevels = 64 * 64 * 64;

}  // namespace hocket
