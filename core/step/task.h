#pragma once

// What a task is to the scheduler: the data it reads and writes, how urgent it is, and where in the
// step it belongs. Plain values.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// A piece of data that tasks read and write: a buffer whose accesses are ordered. Made by
/// Scheduler::add_data; an index, not a pointer.
struct DataId {
  std::uint32_t index = 0;
  bool operator==(const DataId&) const = default;
};

/// A submitted task. Ids of finished tasks are reused with another generation, so an old id is
/// never mistaken for a new one.
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
/// Overwrites without looking at what was there.
constexpr Access write(DataId data) {
  return {data, AccessMode::write};
}
/// Reads, then writes.
constexpr Access update(DataId data) {
  return {data, AccessMode::update};
}

/// What dividing a computation along a dimension means (Centauri, ASPLOS 2024, section 4, workload
/// partitioning).
enum class DimensionKind : std::uint8_t {
  outer,        ///< pieces compute different results: a batch's, a product's rows or columns
  contraction,  ///< pieces compute summands of the same results: a piece that does not begin at 0
                ///< adds to what is there
  normalized,   ///< never divided: results depend on all of it, as a softmax's do
};

/// What of a piece of data a task accesses: unit i of the dimension accesses the bytes from
/// begin_bytes + i · bytes_per_unit on, and the last one those up to `tail_bytes` further, too.
/// Data of the task without a slice are accessed as a whole by each piece.
struct DimensionSlice {
  DataId data;
  std::int64_t begin_bytes = 0;
  std::int64_t bytes_per_unit = 0;
  std::int64_t tail_bytes = 0;
  /// Bytes count from the beginning of this rank's block of the data (core/step/rank_grid.h).
  bool of_block = false;

  bool operator==(const DimensionSlice&) const = default;
};

/// A dimension of a computation.
struct Dimension {
  std::string name;
  DimensionKind kind = DimensionKind::outer;
  std::int64_t extent = 1;  ///< in units, the smallest pieces
  std::vector<DimensionSlice> slices;
  /// What each piece after the first adds to the computation's time; 0 where that is not known.
  std::int64_t piece_ns = 0;

  bool operator==(const Dimension&) const = default;
};

/// Where a task belongs, which does nothing unless the configuration says something of it.
struct TaskPlace {
  /// As in ScheduleConfig::regions, such as "backward_layer1"; empty: none.
  std::string region;
  /// Of the step's micro-batches, from 0; tasks of none have kNoMicroBatch.
  std::uint32_t micro_batch = ~std::uint32_t{0};
  /// Along which the computation may be divided, in the order of preference.
  std::vector<Dimension> dimensions;

  bool operator==(const TaskPlace&) const = default;
};

inline constexpr std::uint32_t kNoMicroBatch = ~std::uint32_t{0};

struct TaskOptions {
  /// For traces; the string must outlive the scheduler (a literal, or owned by the model).
  std::string_view name = {};
  /// 0 is most urgent; below kPriorityLevels. By convention the layer's place in the forward pass,
  /// since that is the order in which the next iteration needs the results.
  std::uint32_t priority = 0;
  /// Null: nowhere. Must outlive the scheduler, as the name does.
  const TaskPlace* place = nullptr;
};

/// Number of distinct priorities.
inline constexpr std::uint32_t kPriorityLevels = 64 * 64 * 64;

}  // namespace hocket
