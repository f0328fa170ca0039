#pragma once

// A kernel that does nothing, for measuring the cost of a launch. Any thread that uses the device.

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"

namespace hocket {

Result<void> launch_empty_kernel(DeviceStream stream);

}  // namespace hocket
