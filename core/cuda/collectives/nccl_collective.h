#pragma once

// Ranks with a device each, over NCCL: a communicator a channel, made without blocking, so that a
// rank that is gone is noticed and no call hangs. How the devices meet, ranks hear from rank 0 over
// what already connects their hosts.
//
// A peer on another host that dies shows in health(), as far as its connection tells; one on the
// same host often does not, and is found by whoever waits for what never ends (DeviceExecutor's
// limit). Then abort() ends what is under way.
//
// Pieces that lie in the order of the ranks, or of the blocks that these own
// (core/step/rank_grid.h), and are equal, go as NCCL's own reduce-scatter and all-gather; others as
// a reduction or a broadcast each, which NCCL launches together.
//
// At its end a collective waits for the other ranks to end theirs, up to the limit, since they may
// still read what is here; after a failure or an abort() it does not.

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/cuda/collectives/device_collective.h"
#include "core/cuda/driver/device_driver.h"

namespace hocket {

struct NcclOptions {
  /// Connecting, putting a collective into a stream, and the end may take this long each.
  std::int64_t timeout_ns = 30'000'000'000;
};

/// Connects the devices of all ranks of `messages`, over which rank 0 tells how they find each
/// other. Blocks until all have come. `driver` is that of this rank's device. unavailable with what
/// NCCL says, timed_out when a rank does not come.
Result<std::unique_ptr<DeviceCollective>> connect_nccl(Collective& messages, DeviceDriver& driver,
                                                       const NcclOptions& options = {});

}  // namespace hocket
