#pragma once

// A kernel that does nothing, for measuring the cost of a launch. Any thread that uses the device.

#include "core/cuda/device_driver.h"
#include "core/result.h"

namespace hocket {

Result<void> launch_empty_kernel(DeviceStream stream);

}  // namespace hocket
