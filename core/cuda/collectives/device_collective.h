#pragma once

// The seam to collectives that run on a device. Implementations: NCCL (nccl_collective.h), and a
// sole rank, which has nothing to exchange.
//
// What is exchanged is in the device's memory, and stays where it is. A call puts the collective
// into `stream` and returns before it has run. Each rank makes a channel's calls in one order. One
// thread calls open(), split() and the collectives.

#include <cstddef>
#include <memory>
#include <span>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/step/collective_kind.h"

namespace hocket {

/// Some of the values that ranks exchange: as many on each, which lie wherever the rank has them.
struct DevicePiece {
  std::span<float> values;
  int owner = 0;  ///< a rank
};

class DeviceCollective {
 public:
  virtual ~DeviceCollective() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  /// Prepares `channels` channels, whose collectives may be under way at once; again when their
  /// number changes, while nothing is under way. Blocks until all ranks have called it.
  virtual Result<void> open(int channels) = 0;

  /// Exchanges `pieces`, all at once:
  ///  - all_reduce: each becomes the sum of all ranks' values, whoever owns it;
  ///  - reduce_scatter: each becomes that on its owner, and nothing in particular elsewhere;
  ///  - all_gather: each becomes what it is on its owner. One piece is a broadcast.
  virtual Result<void> exchange(CollectiveKind kind, std::span<const DevicePiece> pieces,
                                int channel, DeviceStream stream) = 0;

  /// `values` becomes the sum of all ranks' values.
  Result<void> all_reduce(std::span<float> values, int channel, DeviceStream stream);
  /// The rank's piece of `values`, the rank()-th of world_size() equal ones, becomes the sum of all
  /// ranks' values there; the others are lost. invalid_argument unless world_size() divides the
  /// number of values.
  Result<void> reduce_scatter(std::span<float> values, int channel, DeviceStream stream);
  /// Each piece of `values` becomes that of its rank. invalid_argument as for reduce_scatter().
  Result<void> all_gather(std::span<float> values, int channel, DeviceStream stream);
  /// `values` becomes that of rank `root`. invalid_argument when there is no such rank.
  Result<void> broadcast(std::span<float> values, int root, int channel, DeviceStream stream);

  /// The ranks that give the same `group`, from 0, among themselves, in the order that they have
  /// here; open() it before its first collective. Blocks until all ranks have called it, while
  /// nothing is under way. It has an end, health and abort() of its own; all ranks end theirs in
  /// one order.
  virtual Result<std::unique_ptr<DeviceCollective>> split(int group) = 0;

  /// What has gone wrong since with what was put into streams; unavailable when a rank is gone.
  /// Never blocks.
  virtual Result<void> health() = 0;

  /// Ends what is under way, with whatever result, so that no stream is held up any more; later
  /// calls fail. Any thread.
  virtual void abort() = 0;
};

class SoleRankCollective : public DeviceCollective {
 public:
  int rank() const override { return 0; }
  int world_size() const override { return 1; }
  Result<void> open(int) override { return {}; }
  Result<void> exchange(CollectiveKind, std::span<const DevicePiece>, int, DeviceStream) override {
    return {};
  }
  Result<std::unique_ptr<DeviceCollective>> split(int) override {
    return std::make_unique<SoleRankCollective>();
  }
  Result<void> health() override { return {}; }
  void abort() override {}
};

}  // namespace hocket
