#pragma once

// Communication of a task: its kind and the ranks that take part, as recordings of a plan tell it.
// The plan itself decides the same for all kinds and groups. Plain values.

#include <cstdint>

#include "core/step/collective_group.h"
#include "core/step/collective_kind.h"

namespace hocket {

struct TaskCommunication {
  CollectiveKind kind = CollectiveKind::all_reduce;
  CollectiveGroup group = CollectiveGroup::world;
  /// The other end of a message: a member of the group, in ascending order of ranks. 0 for other
  /// kinds. (Of 32 bits, since launches read many captured tasks.)
  std::int32_t peer = 0;
  /// `peer` counts from this rank's own place in the group, and wraps around.
  bool is_relative = false;

  bool operator==(const TaskCommunication&) const = default;
};

}  // namespace hocket
