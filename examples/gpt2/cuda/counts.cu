// State that changes from step to step: counts, and the batch of the current step.

#include "examples/gpt2/cuda/device_values.h"
#include "examples/gpt2/cuda/kernels.h"

namespace hocket::kernels {
namespace {

__global__ void load_batch_kernel(DrawnBatches drawn, const std::int64_t* step,
                                  std::int32_t* tokens) {
  const std::int32_t* from =
      drawn.first + static_cast<std::size_t>(*step % drawn.count) * drawn.tokens;
  for_elements<1>(drawn.tokens, [=]<int M>(std::size_t i) { tokens[i] = from[i]; });
}

__global__ void advance_kernel(std::int64_t* count) {
  if (threadIdx.x == 0) ++*count;
}

}  // namespace

Result<void> load_batch(const DrawnBatches& drawn, const std::int64_t* step, std::int32_t* tokens,
                        DeviceStream stream) {
  return launch("load_batch", load_batch_kernel, elements_grid(drawn.tokens, 1), stream, drawn,
                step, tokens);
}

Result<void> advance(std::int64_t* count, DeviceStream stream) {
  return launch("advance", advance_kernel, {.x = 1, .y = 1, .threads = kWarp}, stream, count);
}

}  // namespace hocket::kernels
