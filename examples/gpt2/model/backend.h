#pragma once

// The seam between the model and what it computes on: memory, and the operations of ops.h on it.
// Implementations: the host (host_backend.h), a CUDA device (cuda/device_backend.h).
//
// Operations are called in the bodies of tasks, which access what the operations read and write;
// they overwrite their outputs unless ops.h says otherwise, and shapes and meanings are those of
// ops.h. What cannot be carried out is thrown as a std::exception, for the executor to report.
// Everything else is called by one thread, while no task runs, but drawn_batch() at any time.
//
// What depends on the number of a step depends on a Count instead, so that an operation is called
// with the same arguments in every step, and a device can repeat what it was given. A task has a
// count of its own, which the accesses of the task order from step to step: one that tasks shared
// would make steps wait for each other.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/scheduler/scheduler.h"
#include "examples/gpt2/model/buffer.h"
#include "examples/gpt2/model/ops.h"

namespace hocket {

/// What a buffer is for, from which follow the type of its elements and how long it lives.
enum class BufferUse : std::uint8_t {
  master,      ///< float32, to stay: parameters, their gradients and moments
  weights,     ///< of the type of computation, to stay: what operations read of parameters
  activation,  ///< of the type of computation, within a step
  statistics,  ///< float32, within a step
};

/// What attention needs beside its inputs and outputs.
struct AttentionMemory {
  BufferUse kept_use = BufferUse::activation;
  std::size_t kept_size = 0;  ///< elements that the forward pass leaves for the backward pass
  std::size_t scratch_size =
      0;  ///< elements of an activation that the backward pass may scribble on
};

/// In how many steps something was done so far, where operations can read and advance it. The
/// backend's.
struct Count {
  void* memory = nullptr;
  std::int64_t units = 1;  ///< of which a step does so many, at once or in pieces
};

/// The losses of a micro-batch, one a step; places of allocate_losses().
struct LossPlaces {
  float* first = nullptr;
  std::size_t stride = 1;
  Count steps;
};

struct BatchTokens {
  std::span<std::int32_t> inputs, targets;
};

/// Steps whose batches have places to be drawn into. Scheduler::end_step() returns when at most
/// kStepsAhead steps are unfinished, so the places of the step before those are free again.
inline constexpr std::int64_t kDrawnSteps = Scheduler::kStepsAhead + 1;

/// Where buffers come from.
class BufferAllocator {
 public:
  virtual ~BufferAllocator() = default;

  /// Of weights and activations.
  virtual ElementType element_type() const = 0;
  ElementType type_of(BufferUse use) const {
    const bool computes = use == BufferUse::weights || use == BufferUse::activation;
    return computes ? element_type() : ElementType::float32;
  }

  /// Zeros, or nothing in particular for what lives within a step. The memory is the allocator's.
  /// Throws std::bad_alloc.
  virtual Buffer allocate(BufferUse use, std::size_t size) = 0;
  virtual AttentionMemory attention_memory(const AttentionShape& shape) = 0;
};

struct UsedBuffer {
  const Buffer* buffer = nullptr;
  std::uint32_t uses = 0;  ///< tasks of a step that access it; > 0
};

class Backend : public BufferAllocator {
 public:
  /// Memory that a model may take.
  virtual std::int64_t memory_limit_bytes() const = 0;

  /// `size` floats of the host that operations can write; the backend's, and NaN at first.
  virtual std::span<float> allocate_losses(std::size_t size) = 0;
  /// Of 0 steps.
  virtual Count allocate_count(std::int64_t units) = 0;
  /// Prepares for so many batches at once, of so many tokens each, and for drawing so many a step.
  virtual void allocate_batches(std::size_t batches, std::size_t tokens, std::size_t drawn) = 0;
  /// Where the host draws the `index`th batch of a step, the steps counted from 0, before it
  /// submits the step.
  virtual BatchTokens drawn_batch(std::size_t index, std::int64_t step) = 0;

  /// The model is attached. `buffers` are those that live within a step.
  virtual void attached(std::span<const UsedBuffer> buffers) = 0;

  virtual void store(const BufferSlice& to, std::span<const float> values) = 0;
  virtual std::vector<float> load(const BufferSlice& from) const = 0;

  /// Whether what follows a product of matrices is one operation with it: a residual, a GELU. Then
  /// those are no tasks of their own.
  virtual bool fuses() const = 0;
  /// Whether gradients can be computed in parts, and parts of a group be updated; otherwise
  /// operations are asked for all of them. Either way they add where they are asked to.
  virtual bool divides() const = 0;

  /// So many units more are done.
  virtual void advance(const Count& count, std::int64_t units) = 0;

  /// Fills `batch` with what was drawn as the `index`th of step `loaded`, and advances that.
  virtual void load_batch(std::size_t batch, std::size_t index, const Count& loaded) = 0;
  virtual void embedding_forward(const EmbeddingShape& shape, std::size_t batch,
                                 const BufferSlice& token_table, const BufferSlice& position_table,
                                 const BufferSlice& y) = 0;
  virtual void embedding_backward(const EmbeddingShape& shape, std::size_t batch,
                                  const BufferSlice& dy, const BufferSlice& dtoken_table,
                                  const BufferSlice& dposition_table, bool add) = 0;
  /// Advances the count of `losses`. A loss may be read when its step is done.
  virtual void cross_entropy(int vocabulary, std::size_t batch, const BufferSlice& logits,
                             const BufferSlice& dlogits, const LossPlaces& losses) = 0;

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

  /// `residual`, where there is one, is added to y; only where the backend fuses.
  virtual void linear_forward(const LinearShape& shape, const BufferSlice& x,
                              const BufferSlice& weight, const BufferSlice& bias,
                              const BufferSlice& residual, const BufferSlice& y) = 0;
  /// y = GELU(before), before = x·weight + bias; only where the backend fuses.
  virtual void linear_gelu_forward(const LinearShape& shape, const BufferSlice& x,
                                   const BufferSlice& weight, const BufferSlice& bias,
                                   const BufferSlice& before, const BufferSlice& y) = 0;
  virtual void linear_backward_input(const LinearShape& shape, const BufferSlice& dy,
                                     const BufferSlice& weight, const BufferSlice& dx) = 0;
  /// dx is the gradient before the GELU that was taken of `before`; only where the backend fuses.
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

  /// `kept` and `scratch` as attention_memory() says.
  virtual void attention_forward(const AttentionShape& shape, const BufferSlice& qkv,
                                 const BufferSlice& kept, const BufferSlice& y) = 0;
  virtual void attention_backward(const AttentionShape& shape, const BufferSlice& qkv,
                                  const BufferSlice& kept, const BufferSlice& y,
                                  const BufferSlice& dy, const BufferSlice& scratch,
                                  const BufferSlice& dqkv) = 0;

  virtual void gelu_forward(const BufferSlice& x, const BufferSlice& y) = 0;
  virtual void gelu_backward(const BufferSlice& x, const BufferSlice& gradient) = 0;
  virtual void residual_add(const BufferSlice& x, const BufferSlice& y) = 0;

  /// Updates `parameters`, both moments, and `weights`, which may be the parameters themselves,
  /// after as many updates as `updates` says.
  virtual void adamw_update(const AdamW& options, const Count& updates, bool decay,
                            double gradient_scale, const BufferSlice& gradients,
                            const BufferSlice& parameters, const BufferSlice& first_moment,
                            const BufferSlice& second_moment, const BufferSlice& weights) = 0;
  /// `weights` become `parameters` in their own type; only where the two are not the same buffer.
  virtual void round_weights(const BufferSlice& parameters, const BufferSlice& weights) = 0;
};

}  // namespace hocket
