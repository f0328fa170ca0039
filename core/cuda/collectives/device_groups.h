#pragma once

// All ranks and the groups they form (core/step/mesh.h): the tiers of all ranks, and the sets of
// axes that are asked for, with their tiers. Each group is a DeviceCollective of its own, made when
// the channels are first opened, since all ranks must take part in making it. Groups of the same
// ranks are one; one of all ranks or of a single rank is not made.
//
// open() and exchange() must be called by one thread at a time; health() and abort() by any.

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/cuda/collectives/device_collective.h"
#include "core/scheduler/executor.h"
#include "core/step/mesh.h"

namespace hocket {

class DeviceGroups {
 public:
  /// `world` must have the ranks of `mesh` and must outlive the groups. `axes` are the same, in the
  /// same order, on every rank.
  DeviceGroups(DeviceCollective& world, const Mesh& mesh, std::vector<AxisSet> axes = {});

  /// Prepares `channels` channels of each group; the first call also creates the groups. Blocks
  /// until all ranks have called it; nothing may be in flight.
  Result<void> open(int channels);

  /// Puts `part` into `stream`; only its kind, group, values, blocks, bucket, and what belongs to a
  /// broadcast, an all-to-all or a message are used. All ranks of a group must make the calls on a
  /// channel in the same order; both ranks of a message use one channel. Returns invalid_argument
  /// for an unsupported kind, and for a group whose axes were not asked for.
  Result<void> exchange(const PartWork& part, int channel, DeviceStream stream);

  /// Puts messages between members of `group` into `stream`, at once as in DeviceCollective. Peers
  /// are members in ascending order of ranks.
  Result<void> exchange_messages(CollectiveGroup group, std::span<const DeviceMessage> messages,
                                 int channel, DeviceStream stream);

  /// As in DeviceCollective, for all groups.
  Result<void> health();
  void abort();

  int rank() const { return world_.rank(); }
  const Mesh& mesh() const { return mesh_; }

 private:
  struct Group {
    CollectiveGroup group;
    std::unique_ptr<DeviceCollective> ranks;
  };

  /// Returns the collective of `group`; null if it was not made.
  DeviceCollective* of(CollectiveGroup group);
  /// Returns the collective of a group of several ranks, or why there is none.
  Result<DeviceCollective*> made(CollectiveGroup group);
  Result<void> exchange_without_blocks(const PartWork& part, int channel, DeviceStream stream);
  Result<void> split();

  DeviceCollective& world_;
  const Mesh mesh_;
  const std::vector<AxisSet> axes_;
  std::vector<DevicePiece> pieces_;      // scratch
  std::vector<DeviceMessage> messages_;  // scratch
  std::mutex mutex_;
  /// Set once groups_ changes no more.
  std::atomic<bool> is_split_ = false;
  // Guarded by mutex_ until then:
  std::vector<Group> groups_;
  bool is_aborted_ = false;
};

}  // namespace hocket
