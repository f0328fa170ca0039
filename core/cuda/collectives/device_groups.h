#pragma once

// All ranks and the groups that they form (core/step/rank_grid.h), each a DeviceCollective of its
// own: those of a host, and those at one place on every host. Where a rank is alone on its host, or
// all are on one, nobody exchanges anything in groups, and there is but the whole.
//
// One thread calls open() and exchange().

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
  /// `world` has the ranks of `grid`, and must outlive the groups.
  DeviceGroups(DeviceCollective& world, const RankGrid& grid);

  /// Makes the groups, the first time, and prepares `channels` channels of each. Blocks until all
  /// ranks have called it, while nothing is under way.
  Result<void> open(int channels);

  /// Puts `part` into `stream`, of which only kind, group, values, blocks and bucket count. Each
  /// rank makes a channel's calls in one order. invalid_argument for a kind that is not carried
  /// out.
  Result<void> exchange(const PartWork& part, int channel, DeviceStream stream);

  /// As DeviceCollective has them, of all.
  Result<void> health();
  void abort();

  int rank() const { return world_.rank(); }
  const RankGrid& grid() const { return grid_; }

 private:
  /// Null where a rank is alone in it.
  DeviceCollective* of(CollectiveGroup group);
  Result<void> split();

  DeviceCollective& world_;
  const RankGrid grid_;
  std::vector<DevicePiece> pieces_;  // scratch
  std::mutex mutex_;
  // Guarded by mutex_, where threads other than the one that calls open() look:
  std::unique_ptr<DeviceCollective> inside_, between_;
  bool is_aborted_ = false;
};

}  // namespace hocket
