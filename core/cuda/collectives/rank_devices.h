#pragma once

// Finds ranks that share a device, which NCCL refuses. Asked before NCCL is, every rank gets the
// same answer, and it says which ranks they are and what to do.
//
// NCCL takes two devices for the same one when they have the same bus id and their processes the
// same host: the host's name and boot id, or instead of both the value of NCCL_HOSTID. Ranks with
// NCCL_MULTI_RANK_GPU_ENABLE may share a device from NCCL 2.30 on; an older NCCL judges them
// itself.

#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/cuda/driver/device_driver.h"

namespace hocket {

/// The device of a rank.
struct RankDevice {
  std::string host_name;  ///< for people
  std::string bus_id;     ///< as "0000:17:00.0"; empty: the rank does not know it
  bool may_share = false;
  std::string host_id;  ///< identity of the host, which NCCL compares
  bool operator==(const RankDevice&) const = default;
};

/// Returns the device of this process. If the driver does not tell its bus id, that is empty.
RankDevice rank_device(DeviceDriver& driver);

/// Returns the devices of all ranks, by rank. Every rank must call it, with nothing under way on
/// `messages`. Errors are those of `messages`; unavailable if a rank sends something else.
Result<std::vector<RankDevice>> exchange_rank_devices(Collective& messages, const RankDevice& own);

/// Returns invalid_argument, with the first two ranks that share a device, and unavailable when a
/// rank does not know its device. Pure.
Result<void> check_devices_differ(std::span<const RankDevice> devices);

}  // namespace hocket
