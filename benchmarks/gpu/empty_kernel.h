#pragma once

// A kernel that does nothing, so that all it costs is its launch.

#include "core/cuda/device_driver.h"
#include "core/result.h"

namespace hocket {

Result<void> launch_empty_kernel(DeviceStream stream);

}  // namespace hocket
