#pragma once

// A device driven by the CUDA runtime.

#include <memory>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"

namespace hocket {

/// The device `ordinal`, as the runtime counts the visible ones from 0. unavailable, as
/// probe_cuda() says, when there is none that can be used; invalid_argument when there are fewer.
Result<std::unique_ptr<DeviceDriver>> open_cuda_device(int ordinal);

}  // namespace hocket
