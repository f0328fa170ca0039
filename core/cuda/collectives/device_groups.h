#pragma once

// All ranks and the groups they form (core/step/rank_grid.h): the ranks of a host, and the ranks at
// one place on every host. Each group is a DeviceCollective of its own. When every host has one
// rank, or all ranks are on one host, a group is either all ranks or a single rank, and no group is
// created.
//
// open() and exchange() must be called by one thread at a time; health() and abort() by any.

#include <memory>
#include <mutex>
#include <vector>

#include "core/base/result.h"
#include "core/cuda/collectives/device_collective.h"
#include "core/scheduler/executor.h"
#include "core/step/rank_grid.h"

namespace hocket {

class DeviceGroups {
 public:
  /// `world` must have the ranks of `grid` and must outlive the groups.
  DeviceGroups(DeviceCollective& world, const RankGrid& grid);

  /// Prepares `channels` channels of each group; the first call also creates the groups. Blocks
  /// until all ranks have called it; nothing may be in flight.
  Result<void> open(int channels);

  /// Puts `part` into `stream`; only its kind, group, values, blocks and bucket are used. All ranks
  /// must make the calls on a channel in the same order. Returns invalid_argument for an
  /// unsupported kind.
  Result<void> exchange(const PartWork& part, int channel, DeviceStream stream);

  /// As in DeviceCollective, for all groups.
  Result<void> health();
  void abort();

  int rank() const { return world_.rank(); }
  const RankGrid& grid() const { return grid_; }

 private:
  /// Returns the collective of `group`; null when this rank is alone in it.
  DeviceCollective* of(CollectiveGroup group);
  Result<void> split();

  DeviceCollective& world_;
  const RankGrid grid_;
  std::vector<DevicePiece> pieces_;  // scratch
  std::mutex mutex_;
  // Guarded by mutex_, since other threads than that of open() use them:
  std::unique_ptr<DeviceCollective> inside_, between_;
  bool is_aborted_ = false;
};

}  // namespace hocket
