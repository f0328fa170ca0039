#pragma once

// A platform on a CUDA device: cuBLASLt, cuDNN's attention where available, and NCCL between ranks.
// One thread uses it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "examples/gpt2/job/platform.h"

namespace hocket {

struct CudaPlatformOptions {
  std::optional<int> device = {};  ///< empty: local_rank modulo the number of devices
  int local_rank = 0;
  ElementType type = ElementType::float32;
  std::int64_t placed_memory_bytes = 0;  ///< as in PlatformOptions
  std::string profile_level = {};        ///< as in PlatformOptions
};

/// Opens the platform as open_platform() does.
Result<std::unique_ptr<Platform>> open_cuda_platform(const CudaPlatformOptions& options,
                                                     Collective& collective, const Clock& clock,
                                                     const Warn& warn);

/// Connects NVTX ranges as connect_ranges() does.
void connect_cuda_ranges(const std::string& profile_level);

}  // namespace hocket
