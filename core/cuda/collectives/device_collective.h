#pragma once

// Interface to collectives that run on a device. Implementations: NCCL (nccl_collective.h), and a
// single rank, which has nothing to exchange.
//
// The values are in the device's memory and are exchanged in place. A call puts the collective into
// `stream` and returns before it has run. All ranks must make the calls on a channel in the same
// order. open(), split() and the collectives must be called by one thread at a time.

#include <cstddef>
#include <memory>
#include <span>

#include "core/base/result.h"
#include "core/collective/value_span.h"
#include "core/cuda/driver/device_driver.h"
#include "core/step/collective_kind.h"

namespace hocket {

/// A range of the values that the ranks exchange. It has the same length on every rank; its address
/// may differ.
struct DevicePiece {
  ValueSpan values;
  int owner = 0;  ///< rank that owns the piece
};

/// One side of a message between two ranks, or to this rank itself. Both sides have values of one
/// type and number.
struct DeviceMessage {
  ValueSpan values;
  int peer = 0;       ///< the other rank
  bool sends = true;  ///< else it receives
};

class DeviceCollective {
 public:
  virtual ~DeviceCollective() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  /// Prepares `channels` channels, whose collectives may be in flight at the same time. May be
  /// called again with another number while nothing is in flight. Blocks until all ranks have
  /// called it.
  virtual Result<void> open(int channels) = 0;

  /// Exchanges all `pieces`, which are of one type, at once:
  ///  - all_reduce: each piece becomes the sum of all ranks' values; its owner is ignored;
  ///  - reduce_scatter: each piece becomes that sum on its owner and is unspecified on other ranks;
  ///  - all_gather: each piece becomes its owner's values. With one piece this is a broadcast.
  virtual Result<void> exchange(CollectiveKind kind, std::span<const DevicePiece> pieces,
                                int channel, DeviceStream stream) = 0;

  /// Sends and receives all `messages` at once, so that ranks which send to each other need no
  /// order among themselves. The n-th send to a rank on a channel is the n-th that it receives
  /// there from this one. Only ranks with messages call it.
  virtual Result<void> exchange_messages(std::span<const DeviceMessage> messages, int channel,
                                         DeviceStream stream) = 0;

  /// Replaces `values` by the sum of all ranks' values.
  Result<void> all_reduce(ValueSpan values, int channel, DeviceStream stream);
  /// Reduces `values` and leaves each rank one piece of the sum: the rank()-th of world_size()
  /// equal pieces. The other pieces are unspecified. Returns invalid_argument unless world_size()
  /// divides the number of values.
  Result<void> reduce_scatter(ValueSpan values, int channel, DeviceStream stream);
  /// Replaces each piece of `values` by the values of its rank. Returns invalid_argument as
  /// reduce_scatter() does.
  Result<void> all_gather(ValueSpan values, int channel, DeviceStream stream);
  /// Replaces `values` by those of rank `root`. Returns invalid_argument when there is no such
  /// rank.
  Result<void> broadcast(ValueSpan values, int root, int channel, DeviceStream stream);

  /// Returns a collective among the ranks that pass the same `group` (≥ 0), in the order they have
  /// here. It must be open()ed before its first collective. Blocks until all ranks have called it;
  /// nothing may be in flight. The result has its own lifetime, health() and abort(); all ranks
  /// must destroy their groups in the same order.
  virtual Result<std::unique_ptr<DeviceCollective>> split(int group) = 0;

  /// Returns an error of work that was put into streams; unavailable when a rank is gone.
  /// Never blocks.
  virtual Result<void> health() = 0;

  /// Aborts everything in flight, with unspecified results, so that no stream stays blocked; later
  /// calls fail. Any thread.
  virtual void abort() = 0;
};

class SoleRankCollective : public DeviceCollective {
 public:
  /// `driver` copies what the rank sends to itself; without one that is refused. It must outlive
  /// the collective.
  explicit SoleRankCollective(DeviceDriver* driver = nullptr) : driver_(driver) {}

  int rank() const override { return 0; }
  int world_size() const override { return 1; }
  Result<void> open(int) override { return {}; }
  Result<void> exchange(CollectiveKind, std::span<const DevicePiece>, int, DeviceStream) override {
    return {};
  }
  Result<void> exchange_messages(std::span<const DeviceMessage> messages, int channel,
                                 DeviceStream stream) override;
  Result<std::unique_ptr<DeviceCollective>> split(int) override {
    return std::make_unique<SoleRankCollective>(driver_);
  }
  Result<void> health() override { return {}; }
  void abort() override {}

 private:
  DeviceDriver* const driver_;
};

}  // namespace hocket
