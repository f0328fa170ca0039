#pragma once

// Attention with cuDNN's fused kernels, through its graph API (9.16 or newer).

#include <memory>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "examples/gpt2/cuda/fused_attention.h"

namespace hocket {

/// For the device of `driver`, which must live as long; one thread at a time. The gradients have
/// the same bits for the same input on devices for which cuDNN has such kernels (of compute
/// capability 9.0, for example), for batch × heads × sequence² elements of workspace. Compiles
/// kernels in prepare(), about a second each. unavailable with what cuDNN says.
Result<std::unique_ptr<FusedAttention>> open_cudnn_attention(DeviceDriver& driver);

}  // namespace hocket
