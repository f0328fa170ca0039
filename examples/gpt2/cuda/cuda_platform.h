#pragma once

// A CUDA device to train on: cuBLASLt, cuDNN's attention where it is there, NCCL between ranks.

#include <memory>
#include <optional>
#include <string>

#include "examples/gpt2/job/platform.h"

namespace hocket {

struct CudaPlatformOptions {
  std::optional<int> device = {};  ///< none: local_rank modulo how many there are
  int local_rank = 0;
  ElementType type = ElementType::float32;
  std::string profile_level = {};  ///< as PlatformOptions'
};

/// As open_platform().
Result<std::unique_ptr<Platform>> open_cuda_platform(const CudaPlatformOptions& options,
                                                     Collective& collective, const Clock& clock,
                                                     const Warn& warn);

}  // namespace hocket
