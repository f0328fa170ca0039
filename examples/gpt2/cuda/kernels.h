#pragma once

// The operations of ops.h on a device, except matrix products. They have the same meaning, on
// matrices with the same layout in device memory. `type` is the element type of all `void*`
// arguments: activations, their gradients, and the tables that are looked up. Statistics,
// parameters, gradients of parameters and moments are float32, and so are all sums.
//
// Each function puts its kernels into `stream` and returns the result of the launch: unavailable
// with CUDA's message. None of them waits. The bits of a result depend only on the arguments, not
// on the stream or on other work: no sum uses atomic additions. Buffers aligned to 16 bytes with
// rows of a multiple of 16 bytes are read faster; all others work. Outputs must not overlap inputs
// unless said otherwise. Thread-safe on distinct outputs.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/step/element_type.h"
#include "examples/gpt2/model/ops.h"

namespace hocket::kernels {

/// Contiguous batches of `tokens` tokens each, in host memory that the device can read.
struct DrawnBatches {
  const std::int32_t* first = nullptr;
  std::size_t tokens = 0;
  std::int64_t count = 1;
};

/// Copies batch number *step mod `count` to `tokens`.
Result<void> load_batch(const DrawnBatches& drawn, const std::int64_t* step, std::int32_t* tokens,
                        DeviceStream stream);

/// *count += 1.
Result<void> advance(std::int64_t* count, DeviceStream stream);

/// `tokens` is in device memory, as every pointer here.
Result<void> embedding_forward(const EmbeddingShape& shape, ElementType type,
                               const std::int32_t* tokens, const void* token_table,
                               const void* position_table, void* y, DeviceStream stream);

/// Adds to dtoken_table; adds to dposition_table with `add` and otherwise overwrites it. The time
/// grows with the square of the number of tokens, with a small constant (one comparison each), and
/// does not depend on the vocabulary.
Result<void> embedding_backward(const EmbeddingShape& shape, ElementType type,
                                const std::int32_t* tokens, const void* dy, float* dtoken_table,
                                float* dposition_table, bool add, DeviceStream stream);

Result<void> layer_norm_forward(const LayerNormShape& shape, ElementType type, const void* x,
                                const float* gain, const float* bias, void* y, float* statistics,
                                DeviceStream stream);

/// `skip` may be null. dx may be dy or skip.
Result<void> layer_norm_backward_input(const LayerNormShape& shape, ElementType type, const void* x,
                                       const float* gain, const float* statistics, const void* dy,
                                       const void* skip, void* dx, DeviceStream stream);

/// Adds to existing values with `add`. `scratch` holds layer_norm_scratch_floats(shape) floats.
std::size_t layer_norm_scratch_floats(const LayerNormShape& shape);
Result<void> layer_norm_backward_weight(const LayerNormShape& shape, ElementType type,
                                        const void* x, const float* statistics, const void* dy,
                                        float* scratch, float* dgain, float* dbias, bool add,
                                        DeviceStream stream);

/// Computes sums[column] = Σ over the rows of x, which is rows × columns: the gradient of a linear
/// layer's bias. With `add` it adds to existing values. `scratch` holds
/// column_sums_scratch_floats(rows, columns) floats.
std::size_t column_sums_scratch_floats(int rows, int columns);
Result<void> column_sums(int rows, int columns, ElementType type, const void* x, float* scratch,
                         float* sums, bool add, DeviceStream stream);

/// y += bias in every row. y is rows × columns, the bias has one element per column.
Result<void> bias_add(int rows, int columns, ElementType type, const void* bias, void* y,
                      DeviceStream stream);

/// y may be x.
Result<void> gelu_forward(std::size_t count, ElementType type, const void* x, void* y,
                          DeviceStream stream);
/// Replaces dy in `gradient` by dx.
Result<void> gelu_backward(std::size_t count, ElementType type, const void* x, void* gradient,
                           DeviceStream stream);

/// y += x.
Result<void> residual_add(std::size_t count, ElementType type, const void* x, void* y,
                          DeviceStream stream);

/// Computes the softmax of attention in place: batch × heads × sequence × sequence. Takes scaled
/// scores. Row t uses its first t + 1 elements; the others become 0 whatever they were.
Result<void> softmax_causal_forward(const AttentionShape& shape, ElementType type, void* weights,
                                    DeviceStream stream);
/// Computes the gradient through that softmax in place: replaces the gradient of the weights by
/// that of the scores, and by 0 beyond the first t + 1 elements of row t.
Result<void> softmax_causal_backward(const AttentionShape& shape, ElementType type,
                                     const void* weights, void* gradient, DeviceStream stream);

struct CrossEntropyShape {
  int rows = 0, vocabulary = 0;
  /// Columns of the logits: at least `vocabulary`; 0 means exactly `vocabulary`. The logits beyond
  /// the vocabulary are ignored and their gradient is 0. A multiple of 8 is faster, here and in
  /// products.
  int columns = 0;
};

/// Places of the steps' losses: that of step n is first[n·stride]. They may be in host memory that
/// the device can write.
struct LossesOfSteps {
  float* first = nullptr;
  std::size_t stride = 1;
  std::int64_t* steps = nullptr;
};

/// Stores the mean over the rows as the loss of step *losses.steps, then increments *losses.steps.
/// Replaces the logits by their gradient. `row_losses` is scratch of shape.rows floats.
Result<void> cross_entropy(const CrossEntropyShape& shape, ElementType type, void* logits,
                           const std::int32_t* targets, float* row_losses,
                           const LossesOfSteps& losses, DeviceStream stream);

/// Performs one update as in ops.h of the elements of all ranges, at most kMostAdamWRanges, which
/// are contiguous. *updates is the number of earlier updates, and is incremented. `working_copy`,
/// if not null, has a bfloat16 element for each and receives the new parameters, rounded.
/// `corrections` is scratch of 2 floats.
Result<void> adamw_update(const AdamW& options, std::int64_t* updates, double gradient_scale,
                          std::span<const AdamWRange> ranges, const float* gradients,
                          float* parameters, float* first_moment, float* second_moment,
                          void* working_copy, float* corrections, DeviceStream stream);

/// Rounds float32 to bfloat16.
Result<void> convert(std::size_t count, const float* from, void* to, DeviceStream stream);

}  // namespace hocket::kernels
