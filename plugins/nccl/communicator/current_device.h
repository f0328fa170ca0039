#pragma once

// The device of the thread that calls, as CUDA's driver library in this process says it. NCCL opens
// plugins with its communicator's device current. Opens no library: without CUDA there is no
// device.

#include <optional>

#include "plugins/nccl/control/rank_device.h"

namespace hocket::nccl {

/// The functions of CUDA's driver library that are asked; each returns 0 on success.
struct DriverFunctions {
  int (*device_of_context)(int* device) = nullptr;
  int (*uuid_of_device)(DeviceId* uuid, int device) = nullptr;
};

/// Returns the functions of the driver library that is open in this process, null where there is
/// none.
DriverFunctions driver_functions();

/// Returns nothing where a function is missing or fails, as without a current context.
std::optional<DeviceId> current_device(const DriverFunctions& driver);

}  // namespace hocket::nccl
