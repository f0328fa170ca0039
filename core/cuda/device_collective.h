#pragma once

// The seam to collectives that run on a device. Implementations: NCCL (nccl_collective.h), and a
// sole rank, which has nothing to exchange.
//
// What is exchanged is in the device's memory, and stays where it is: the ranks' `values` are of
// one size, and where ranks have a piece each, rank r's is the r-th of world_size() equal ones. A
// call puts the collective into `stream` and returns before it has run. Each rank makes a channel's
// calls in one order. One thread calls open(), split() and the collectives.

#include <cstddef>
#include <memory>
#include <span>

#include "core/cuda/device_driver.h"
#include "core/result.h"

namespace hocket {

class DeviceCollective {
 public:
  virtual ~DeviceCollective() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  /// Prepares `channels` channels, whose collectives may be under way at once; again when their
  /// number changes, while nothing is under way. Blocks until all ranks have called it.
  virtual Result<void> open(int channels) = 0;

  /// `values` becomes the sum of all ranks' values.
  virtual Result<void> all_reduce(std::span<float> values, int channel, DeviceStream stream) = 0;
  /// The rank's piece of `values` becomes the sum of all ranks' values there; the others are lost.
  /// invalid_argument unless world_size() divides the number of values.
  virtual Result<void> reduce_scatter(std::span<float> values, int channel,
                                      DeviceStream stream) = 0;
  /// Each piece of `values` becomes that of its rank. invalid_argument as for reduce_scatter().
  virtual Result<void> all_gather(std::span<float> values, int channel, DeviceStream stream) = 0;
  /// `values` becomes that of rank `root`. invalid_argument when there is no such rank.
  virtual Result<void> broadcast(std::span<float> values, int root, int channel,
                                 DeviceStream stream) = 0;

  /// The ranks that give the same `group`, from 0, among themselves, in the order that they have
  /// here; open() it before its first collective. Blocks until all ranks have called it. It has an
  /// end, health and abort() of its own; all ranks end theirs in one order.
  virtual Result<std::unique_ptr<DeviceCollective>> split(int group) = 0;

  /// What has gone wrong since with what was put into streams; unavailable when a rank is gone.
  /// Never blocks.
  virtual Result<void> health() = 0;

  /// Ends what is under way, with whatever result, so that no stream is held up any more; later
  /// calls fail. Any thread.
  virtual void abort() = 0;
};

/// What is wrong with such a call, whoever carries it out.
Result<void> check_pieces(std::size_t values, int world_size);
Result<void> check_root(int root, int world_size);

class SoleRankCollective : public DeviceCollective {
 public:
  int rank() const override { return 0; }
  int world_size() const override { return 1; }
  Result<void> open(int) override { return {}; }
  Result<void> all_reduce(std::span<float>, int, DeviceStream) override { return {}; }
  Result<void> reduce_scatter(std::span<float>, int, DeviceStream) override { return {}; }
  Result<void> all_gather(std::span<float>, int, DeviceStream) override { return {}; }
  Result<void> broadcast(std::span<float>, int root, int, DeviceStream) override {
    return check_root(root, 1);
  }
  Result<std::unique_ptr<DeviceCollective>> split(int) override {
    return std::make_unique<SoleRankCollective>();
  }
  Result<void> health() override { return {}; }
  void abort() override {}
};

}  // namespace hocket
