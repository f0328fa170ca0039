#pragma once

// All ranks and the groups they form (core/step/mesh.h): the tiers of all ranks, and the sets of
// axes that are asked for, with their tiers. Each group is a DeviceCollective of its own. Groups of
// the same ranks are one; one of all ranks or of a single rank is not made. Messages and
// all-to-alls use the collective of all ranks, so their groups need not be asked for.
//
// All ranks must take part in making a group, those outside it too (ncclCommSplit), and a rank that
// has no communication in it cannot know when others do. So groups are not made when they are first
// used, but when the channels are first opened, before any work: all of them, in the order in which
// they are named, which is the same on every rank. Nothing can then wait for a group in a circle.
//
// open() and exchange() must be called by one thread at a time; health() and abort() by any.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/cuda/collectives/device_collective.h"
#include "core/scheduler/executor.h"
#include "core/step/mesh.h"

namespace hocket {

/// Returns every set of the mesh's axes. Each group costs the device memory, so a job that knows
/// its groups names those alone.
std::vector<AxisSet> all_axis_sets(const Mesh& mesh);

class DeviceGroups {
 public:
  /// `world` must have the ranks of `mesh` and must outlive the groups. `axes` are the same, in the
  /// same order, on every rank.
  DeviceGroups(DeviceCollective& world, const Mesh& mesh, std::vector<AxisSet> axes = {});

  /// Prepares `channels` channels of each group; the first call also creates the groups. Blocks
  /// until all ranks have called it; nothing may be in flight.
  Result<void> open(int channels);

  /// Puts `part` into `stream`; only its kind, group, values, blocks, bucket, and what belongs to a
  /// broadcast, an all-to-all or a message are used. All ranks of a part use one channel, and make
  /// the calls on it in an order that is part of one order of the whole job. Returns
  /// invalid_argument for an unsupported kind, and for a collective of blocks or a broadcast in a
  /// group whose axes were not asked for.
  Result<void> exchange(const PartWork& part, int channel, DeviceStream stream);

  /// Puts messages between members of `group` into `stream`, at once as in DeviceCollective. Peers
  /// are members in ascending order of ranks.
  Result<void> exchange_messages(CollectiveGroup group, std::span<const DeviceMessage> messages,
                                 int channel, DeviceStream stream);

  /// Returns a number that is the same on all ranks of `part` and chooses its channel. Messages
  /// from one rank to another have one number, so they stay in order however many there are in a
  /// step; those the other way, and those of neighbours along an axis, have others.
  std::uint64_t channel_number(const PartWork& part) const;

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
  std::vector<DevicePiece> pieces_;  // scratch
  /// Scratch; its peers are among all ranks.
  std::vector<DeviceMessage> messages_;
  std::mutex mutex_;
  /// Set once groups_ changes no more.
  std::atomic<bool> is_split_ = false;
  // Guarded by mutex_ until then:
  std::vector<Group> groups_;
  bool is_aborted_ = false;
};

}  // namespace hocket
