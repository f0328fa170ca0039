#pragma once

// What a task is to the scheduler: the data it reads and writes, how urgent it is, and for a
// collective its size. Plain values.

#include <cstdint>
#include <string_view>

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

struct TaskOptions {
  /// For traces; the string must outlive the scheduler (a literal, or owned by the model).
  std::string_view name = {};
  /// 0 is most urgent; below kPriorityLevels. By convention the layer's place in the forward pass,
  /// since that is the order in which the next iteration needs the results.
  std::uint32_t priority = 0;
};

/// Number of distinct priorities.
inline constexpr std::uint32_t kPriorityLevels = 64 * 64 * 64;

}  // namespace hocket
