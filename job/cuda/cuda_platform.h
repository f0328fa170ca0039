#pragma once

// Platforms on CUDA devices: the kernels of kernels/cuda, cuBLASLt, cuDNN's attention where it is
// available, and NCCL between ranks. One thread uses them.

#include "job/model/platform.h"

namespace hocket {

/// Returns the CUDA devices, for train_model().
const CudaPlatforms& cuda_platforms();

}  // namespace hocket
