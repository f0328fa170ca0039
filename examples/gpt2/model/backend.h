#pragma once

// Interface between the model and the device it computes on: memory, and the operations of ops.h on
// it. Implementations: the host (host_backend.h) and a CUDA device (cuda/device_backend.h).
//
// Operations are called in the bodies of tasks, which access what the operations read and write.
// They overwrite their outputs unless ops.h says otherwise; shapes and meanings are those of ops.h.
// Errors are thrown as std::exception, for the executor to report. Everything else is called by one
// thread while no task runs, except drawn_batch(), which may be called at any time.
//
// State that depends on the number of the step is in a Count, so that an operation has the same
// arguments in every step and a device can repeat a captured one. Each task has a count of its own,
// which the task's accesses order from step to step; a count shared by tasks would make steps wait
// for each other.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/scheduler/scheduler.h"
#include "examples/gpt2/model/buffer.h"
#include "examples/gpt2/model/ops.h"

namespace hocket {

/// Purpose of a buffer; it determines the element type and the lifetime.
enum class BufferUse : std::uint8_t {
  master,      ///< float32, permanent: parameters, their gradients and moments
  weights,     ///< computation type, permanent: the parameters as operations read them
  activation,  ///< computation type, within a step
  statistics,  ///< float32, within a step
};

/// Memory that attention needs besides its inputs and outputs.
struct AttentionMemory {
  BufferUse kept_use = BufferUse::activation;
  std::size_t kept_size = 0;     ///< elements kept from the forward pass for the backward pass
  std::size_t scratch_size = 0;  ///< elements of an activation: scratch of the backward pass
};

/// Number of steps in which something has been done, readable and advanced by operations. The
/// backend owns the memory.
struct Count {
  void* memory = nullptr;
  std::int64_t units = 1;  ///< units per step, done at once or in pieces
};

/// Places of a micro-batch's losses, one per step, from allocate_losses().
struct LossPlaces {
  float* first = nullptr;
  std::size_t stride = 1;
  Count steps;
};

struct BatchTokens {
  std::span<std::int32_t> inputs, targets;
};

/// Number of steps that have places to draw batches into. Scheduler::end_step() returns when at
/// most kStepsAhead steps are unfinished, so the places of earlier steps are free again.
inline constexpr std::int64_t kDrawnSteps = Scheduler::kStepsAhead + 1;

/// Allocates buffers.
class BufferAllocator {
 public:
  virtual ~BufferAllocator() = default;

  /// Returns the element type of weights and activations.
  virtual ElementType element_type() const = 0;
  ElementType type_of(BufferUse use) const {
    const bool computes = use == BufferUse::weights || use == BufferUse::activation;
    return computes ? element_type() : ElementType::float32;
  }

  /// Allocates `size` elements: zeros, or unspecified values for buffers that live within a step.
  /// The allocator owns the memory. Throws std::bad_alloc.
  virtual Buffer allocate(BufferUse use, std::size_t size) = 0;
  virtual AttentionMemory attention_memory(const AttentionShape& shape) = 0;
  /// Returns whether buffers that live within a step take memory of the backend's limit. Otherwise
  /// the placement of each step finds room for them (core/placement/step_placement.h).
  virtual bool keeps_step_buffers() const { return true; }
};

/// A buffer that lives within a step.
struct UsedBuffer {
  const Buffer* buffer = nullptr;
  std::uint32_t uses = 0;  ///< tasks of a step that access it; > 0
};

/// The buffers of a model.
struct ModelBuffers {
  std::span<const UsedBuffer> within_step;
  std::span<const Buffer* const> kept;       ///< keep their values from step to step
  std::span<const Buffer* const> gradients;  ///< have no values between steps, but their own memory
};

class Backend : public BufferAllocator {
 public:
  /// Returns the memory that a model may use.
  virtual std::int64_t memory_limit_bytes() const = 0;

  /// Allocates `size` floats of host memory that operations can write, initially NaN. The backend
  /// owns them.
  virtual std::span<float> allocate_losses(std::size_t size) = 0;
  /// Allocates a count of 0 steps.
  virtual Count allocate_count(std::int64_t units) = 0;
  /// Prepares for `batches` batches at a time, of `tokens` tokens each, and for drawing `drawn`
  /// batches per step.
  virtual void allocate_batches(std::size_t batches, std::size_t tokens, std::size_t drawn) = 0;
  /// Returns the memory into which the host draws the batch `index` of `step`, both counted from 0,
  /// before it submits the step.
  virtual BatchTokens drawn_batch(std::size_t index, std::int64_t step) = 0;

  /// Called when the model is attached, and its buffers have new names.
  virtual void attached(const ModelBuffers& buffers) = 0;

  virtual void store(const BufferSlice& to, std::span<const float> values) = 0;
  virtual std::vector<float> load(const BufferSlice& from) const = 0;

  /// Returns whether a product of matrices is fused with the residual or GELU that follows it;
  /// these are then no tasks of their own.
  virtual bool fuses() const = 0;
  /// Returns whether gradients can be computed, and groups updated, in parts. Otherwise operations
  /// are asked for whole ones only. In both cases they add to existing values where asked to.
  virtual bool divides() const = 0;

  /// Fills `batch` with the batch `index` drawn for the step in `loaded`, and advances `loaded`.
  virtual void load_batch(std::size_t batch, std::size_t index, const Count& loaded) = 0;
  virtual void embedding_forward(const EmbeddingShape& shape, std::size_t batch,
                                 const BufferSlice& token_table, const BufferSlice& position_table,
                                 const BufferSlice& y) = 0;
  virtual void embedding_backward(const EmbeddingShape& shape, std::size_t batch,
                                  const BufferSlice& dy, const BufferSlice& dtoken_table,
                                  const BufferSlice& dposition_table, bool add) = 0;
  /// Replaces the logits by their gradient. Advances the count of `losses`. A loss may be read once
  /// its step is done.
  virtual void cross_entropy(int vocabulary, std::size_t batch, const BufferSlice& logits,
                             const LossPlaces& losses) = 0;

  virtual void layer_norm_forward(const LayerNormShape& shape, const BufferSlice& x,
                                  const BufferSlice& gain, const BufferSlice& bias,
                                  const BufferSlice& y, const BufferSlice& statistics) = 0;
  virtual void layer_norm_backward_input(const LayerNormShape& shape, const BufferSlice& x,
                                         const BufferSlice& gain, const BufferSlice& statistics,
                                         const BufferSlice& dy, const BufferSlice& skip,
                                         const BufferSlice& dx) = 0;
  virtual void layer_norm_backward_weight(const LayerNormShape& shape, const BufferSlice& x,
                                          const BufferSlice& statistics, const BufferSlice& dy,
                                          const BufferSlice& dgain, const BufferSlice& dbias,
                                          bool add) = 0;

  /// Adds `residual`, if there is one, to y; a residual requires fuses().
  virtual void linear_forward(const LinearShape& shape, const BufferSlice& x,
                              const BufferSlice& weight, const BufferSlice& bias,
                              const BufferSlice& residual, const BufferSlice& y) = 0;
  /// y = GELU(before), where before = x·weight + bias. Requires fuses().
  virtual void linear_gelu_forward(const LinearShape& shape, const BufferSlice& x,
                                   const BufferSlice& weight, const BufferSlice& bias,
                                   const BufferSlice& before, const BufferSlice& y) = 0;
  virtual void linear_backward_input(const LinearShape& shape, const BufferSlice& dy,
                                     const BufferSlice& weight, const BufferSlice& dx) = 0;
  /// Computes dx, the gradient before the GELU whose input was `before`. Requires fuses().
  virtual void linear_gelu_backward_input(const LinearShape& shape, const BufferSlice& dy,
                                          const BufferSlice& weight, const BufferSlice& before,
                                          const BufferSlice& dx) = 0;
  virtual void linear_backward_weight(const LinearShape& shape, const GradientPart& part,
                                      const BufferSlice& x, const BufferSlice& dy,
                                      const BufferSlice& dweight, const BufferSlice& dbias) = 0;

  virtual void head_forward(const LinearShape& shape, const BufferSlice& x,
                            const BufferSlice& table, const BufferSlice& logits) = 0;
  virtual void head_backward_input(const LinearShape& shape, const BufferSlice& dlogits,
                                   const BufferSlice& table, const BufferSlice& dx) = 0;
  virtual void head_backward_weight(const LinearShape& shape, const GradientPart& part,
                                    const BufferSlice& x, const BufferSlice& dlogits,
                                    const BufferSlice& dtable) = 0;

  /// `kept` and `scratch` are buffers as attention_memory() specifies.
  virtual void attention_forward(const AttentionShape& shape, const BufferSlice& qkv,
                                 const BufferSlice& kept, const BufferSlice& y) = 0;
  virtual void attention_backward(const AttentionShape& shape, const BufferSlice& qkv,
                                  const BufferSlice& kept, const BufferSlice& y,
                                  const BufferSlice& dy, const BufferSlice& scratch,
                                  const BufferSlice& dqkv) = 0;

  virtual void gelu_forward(const BufferSlice& x, const BufferSlice& y) = 0;
  virtual void gelu_backward(const BufferSlice& x, const BufferSlice& gradient) = 0;
  virtual void residual_add(const BufferSlice& x, const BufferSlice& y) = 0;

  /// Updates `parameters`, which are those of at most kMostAdamWRanges `ranges` in order, both
  /// moments, and `weights`, which may be the parameters themselves. `updates` holds the number of
  /// updates done before; adds `units` to it.
  virtual void adamw_update(const AdamW& options, const Count& updates, std::int64_t units,
                            double gradient_scale, std::span<const AdamWRange> ranges,
                            const BufferSlice& gradients, const BufferSlice& parameters,
                            const BufferSlice& first_moment, const BufferSlice& second_moment,
                            const BufferSlice& weights) = 0;
  /// Converts `parameters` to the type of `weights`. Called only when they are different buffers.
  virtual void round_weights(const BufferSlice& parameters, const BufferSlice& weights) = 0;
};

}  // namespace hocket
