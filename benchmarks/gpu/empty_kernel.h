#pragma once

// A kernel that does nothing, so that all it costs is its launch.

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"

namespace hocket {

Result<void> launch_empty_kernel(DeviceStream stream);

}  // namespace hocket
