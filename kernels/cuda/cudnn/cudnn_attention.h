#pragma once

// Attention by cuDNN's fused kernels, through its graph API (9.14 or newer). One thread at a time.

#include <memory>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "kernels/cuda/fused_attention.h"

namespace hocket {

/// Opens cuDNN on the device of `driver`, which must outlive the result; one thread at a time.
/// Gradients that keep their order, on devices for which cuDNN has such kernels (compute capability
/// 9.0, for example), take batch × heads × positions² elements of workspace. prepare() compiles
/// kernels, about a second each. Returns unavailable with cuDNN's message.
Result<std::unique_ptr<FusedAttention>> open_cudnn_attention(DeviceDriver& driver);

}  // namespace hocket
