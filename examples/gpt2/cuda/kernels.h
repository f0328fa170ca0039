#pragma once

// The operations of ops.h on a device, as far as they are no products of matrices. They mean the
// same, on matrices that lie in the device's memory in the same way. `type` is that of the elements
// of what a `void*` points to: activations, their gradients, and the tables that are looked up.
// Statistics, parameters, gradients of parameters and moments are float32, and so are all sums.
//
// Each function puts its kernels into `stream` and returns what their launch said: unavailable,
// with CUDA's words. Nothing waits. The bits of a result depend on the arguments alone, not on the
// stream or on what else runs: no sum is made with atomic additions. Buffers that are aligned to 16
// bytes and rows that are a multiple of 16 bytes long are read faster; any others work. Outputs
// must not overlap inputs unless said otherwise. Thread-safe on distinct outputs.

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/driver/element_type.h"
#include "examples/gpt2/model/ops.h"

namespace hocket::kernels {

/// Batches that lie one after the other, each of so many tokens; in memory of the host that the
/// device can read.
struct DrawnBatches {
  const std::int32_t* first = nullptr;
  std::size_t tokens = 0;
  std::int64_t count = 1;
};

/// Copies the batch *step mod `count` to `tokens`.
Result<void> load_batch(const DrawnBatches& drawn, const std::int64_t* step, std::int32_t* tokens,
                        DeviceStream stream);

/// *count += 1.
Result<void> advance(std::int64_t* count, DeviceStream stream);

/// `tokens` is on the device, as every pointer here.
Result<void> embedding_forward(const EmbeddingShape& shape, ElementType type,
                               const std::int32_t* tokens, const void* token_table,
                               const void* position_table, void* y, DeviceStream stream);

/// Adds to dtoken_table, and with `add` to dposition_table, which is overwritten otherwise. The
/// time grows with the square of the number of tokens, by a small constant (a comparison each), and
/// does not depend on the vocabulary.
Result<void> embedding_backward(const EmbeddingShape& shape, ElementType type,
                                const std::int32_t* tokens, const void* dy, float* dtoken_table,
                                float* dposition_table, bool add, DeviceStream stream);

Result<void> layer_norm_forward(const LayerNormShape& shape, ElementType type, const void* x,
                                const float* gain, const float* bias, void* y, float* statistics,
                                DeviceStream stream);

/// `skip` may be null. dx may be dy, or skip.
Result<void> layer_norm_backward_input(const LayerNormShape& shape, ElementType type, const void* x,
                                       const float* gain, const float* statistics, const void* dy,
                                       const void* skip, void* dx, DeviceStream stream);

/// With `add` to what is there. `scratch` holds layer_norm_scratch_floats(shape) floats.
std::size_t layer_norm_scratch_floats(const LayerNormShape& shape);
Result<void> layer_norm_backward_weight(const LayerNormShape& shape, ElementType type,
                                        const void* x, const float* statistics, const void* dy,
                                        float* scratch, float* dgain, float* dbias, bool add,
                                        DeviceStream stream);

/// sums[column] = the sum of a column of x: rows × columns; with `add` it is added to what is
/// there. The gradient of a linear layer's bias.
/// `scratch` holds column_sums_scratch_floats(rows, columns) floats.
std::size_t column_sums_scratch_floats(int rows, int columns);
Result<void> column_sums(int rows, int columns, ElementType type, const void* x, float* scratch,
                         float* sums, bool add, DeviceStream stream);

/// y may be x.
Result<void> gelu_forward(std::size_t count, ElementType type, const void* x, void* y,
                          DeviceStream stream);
/// Turns dy into dx in place.
Result<void> gelu_backward(std::size_t count, ElementType type, const void* x, void* gradient,
                           DeviceStream stream);

/// y += x.
Result<void> residual_add(std::size_t count, ElementType type, const void* x, void* y,
                          DeviceStream stream);

/// The softmax of attention in place: batch × heads × sequence × sequence. On entry the scores,
/// scaled already; row t keeps its first t + 1, the others become 0 whatever they were.
Result<void> softmax_causal_forward(const AttentionShape& shape, ElementType type, void* weights,
                                    DeviceStream stream);
/// The gradient through it: that of the weights becomes that of the scores in place, 0 beyond the
/// first t + 1 of row t whatever it was.
Result<void> softmax_causal_backward(const AttentionShape& shape, ElementType type,
                                     const void* weights, void* gradient, DeviceStream stream);

struct CrossEntropyShape {
  int rows = 0, vocabulary = 0;
  /// Columns of logits and dlogits: at least `vocabulary`, 0 for just that. Logits in the others
  /// are not looked at, their gradient is 0. A multiple of 8 is faster, here and in products.
  int columns = 0;
};

/// Where the losses of steps go: that of step n to first[n·stride]. They may be in memory of the
/// host that the device can write.
struct LossesOfSteps {
  float* first = nullptr;
  std::size_t stride = 1;
  std::int64_t* steps = nullptr;
};

/// The loss of step *losses.steps = the mean over the rows; then *losses.steps += 1. dlogits may be
/// logits. `row_losses` is scratch of shape.rows floats.
Result<void> cross_entropy(const CrossEntropyShape& shape, ElementType type, const void* logits,
                           const std::int32_t* targets, void* dlogits, float* row_losses,
                           const LossesOfSteps& losses, DeviceStream stream);

/// One update as in ops.h, after *updates others. `working_copy`: `count` bfloat16 that become the
/// new parameters, rounded; or null.
Result<void> adamw_update(const AdamW& options, const std::int64_t* updates, bool decay,
                          double gradient_scale, std::size_t count, const float* gradients,
                          float* parameters, float* first_moment, float* second_moment,
                          void* working_copy, DeviceStream stream);

/// Rounds float32 to bfloat16.
Result<void> convert(std::size_t count, const float* from, void* to, DeviceStream stream);

}  // namespace hocket::kernels
