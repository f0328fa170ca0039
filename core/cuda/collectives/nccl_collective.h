#pragma once

// Collectives over NCCL for ranks with one device each. Each channel has a communicator, created in
// non-blocking mode, so that a lost rank is noticed and no call hangs. Rank 0 sends the other ranks
// NCCL's unique id over the existing connection between the hosts.
//
// The death of a peer on another host shows in health(), as far as its connection reports it. A
// peer on the same host often goes unnoticed; then the caller must detect that work never ends
// (DeviceExecutor's limit does). abort() then ends what is in flight.
//
// Equal pieces in the order of the ranks, or of the blocks that the ranks own
// (core/step/rank_grid.h), use NCCL's reduce-scatter and all-gather. Other pieces use one reduction
// or broadcast each, which NCCL launches together.
//
// The destructor waits for the other ranks to destroy theirs, up to the limit, since they may still
// read this rank's memory; after a failure or an abort() it does not wait.
//
// One thread at a time calls open(), split() and the collectives; any thread may call health() and
// abort().

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/cuda/collectives/device_collective.h"
#include "core/cuda/driver/device_driver.h"

namespace hocket {

struct NcclOptions {
  /// Limit for connecting, for putting a collective into a stream, and for the destructor, each.
  std::int64_t timeout_ns = 30'000'000'000;
};

/// Connects the devices of all ranks of `messages`, over which rank 0 sends NCCL's unique id.
/// Blocks until all ranks have called it. `driver` must be that of this rank's device. Returns
/// unavailable with NCCL's message, timed_out when a rank does not come, and invalid_argument on
/// every rank when two of them use the same device.
Result<std::unique_ptr<DeviceCollective>> connect_nccl(Collective& messages, DeviceDriver& driver,
                                                       const NcclOptions& options = {});

}  // namespace hocket
