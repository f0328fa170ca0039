#pragma once

// Runs the model on a CUDA device: matrix products by MatrixProducts, attention by FusedAttention
// where available and otherwise by matrix products, everything else by kernels.h. Parameters, their
// gradients and moments are float32; with bfloat16, activations and the weights that products read
// are bfloat16.
//
// With a PlacedMemory, steps are placed on a device of limited memory and its host
// (core/placement/step_placement.h): buffers have addresses there, and what is kept has pinned
// memory of the host. The host's updates are HostUpdate's. Such a model computes in float32.
//
// Otherwise activations are in DeviceMemory, which allocates and frees in the order of the streams;
// all other memory is permanent. Threading as in Backend.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/executor/device_memory.h"
#include "core/cuda/executor/device_task.h"
#include "core/cuda/executor/placed_memory.h"
#include "core/cuda/products/matrix_product.h"
#include "examples/gpt2/cuda/fused_attention.h"
#include "examples/gpt2/model/backend.h"
#include "examples/gpt2/model/host_update.h"

namespace hocket {

/// All must outlive the backend.
struct DeviceBackendParts {
  DeviceDriver& driver;
  MatrixProducts& products;
  FusedAttention* attention = nullptr;  ///< used for bfloat16; null: none
  PlacedMemory* placed = nullptr;       ///< null: the device has room for a whole step
  /// Called with the reason when attention uses products although a fused kernel is available, and
  /// once for each kind of product whose epilogue takes a kernel of its own.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

class DeviceBackend final : public Backend {
 public:
  /// Returns unavailable, with the driver's message, and invalid_argument for bfloat16 with a
  /// PlacedMemory.
  static Result<std::unique_ptr<DeviceBackend>> open(const DeviceBackendParts& parts,
                                                     ElementType type);
  ~DeviceBackend() override;
  DeviceBackend(const DeviceBackend&) = delete;
  DeviceBackend& operator=(const DeviceBackend&) = delete;

  /// Returns the memory for the executor that runs the tasks.
  DeviceMemory& memory() { return memory_; }

  ElementType element_type() const override { return type_; }
  std::int64_t memory_limit_bytes() const override { return memory_limit_bytes_; }
  Buffer allocate(BufferUse use, std::size_t size) override;
  std::span<float> allocate_losses(std::size_t size) override;
  Count allocate_count(std::int64_t units) override;
  void allocate_batches(std::size_t batches, std::size_t tokens, std::size_t drawn) override;
  BatchTokens drawn_batch(std::size_t index, std::int64_t step) override;
  AttentionMemory attention_memory(const AttentionShape& shape) override;
  bool keeps_step_buffers() const override { return parts_.placed == nullptr; }
  void attached(const ModelBuffers& buffers) override;
  void store(const BufferSlice& to, std::span<const float> values) override;
  std::vector<float> load(const BufferSlice& from) const override;
  bool fuses() const override { return true; }
  bool divides() const override { return false; }

  void load_batch(std::size_t batch, std::size_t index, const Count& loaded) override;
  void embedding_forward(const EmbeddingShape& shape, std::size_t batch,
                         const BufferSlice& token_table, const BufferSlice& position_table,
                         const BufferSlice& y) override;
  void embedding_backward(const EmbeddingShape& shape, std::size_t batch, const BufferSlice& dy,
                          const BufferSlice& dtoken_table, const BufferSlice& dposition_table,
                          bool add) override;
  void cross_entropy(int vocabulary, std::size_t batch, const BufferSlice& logits,
                     const LossPlaces& losses) override;
  void layer_norm_forward(const LayerNormShape& shape, const BufferSlice& x,
                          const BufferSlice& gain, const BufferSlice& bias, const BufferSlice& y,
                          const BufferSlice& statistics) override;
  void layer_norm_backward_input(const LayerNormShape& shape, const BufferSlice& x,
                                 const BufferSlice& gain, const BufferSlice& statistics,
                                 const BufferSlice& dy, const BufferSlice& skip,
                                 const BufferSlice& dx) override;
  void layer_norm_backward_weight(const LayerNormShape& shape, const BufferSlice& x,
                                  const BufferSlice& statistics, const BufferSlice& dy,
                                  const BufferSlice& dgain, const BufferSlice& dbias,
                                  bool add) override;
  void linear_forward(const LinearShape& shape, const BufferSlice& x, const BufferSlice& weight,
                      const BufferSlice& bias, const BufferSlice& residual,
                      const BufferSlice& y) override;
  void linear_gelu_forward(const LinearShape& shape, const BufferSlice& x,
                           const BufferSlice& weight, const BufferSlice& bias,
                           const BufferSlice& before, const BufferSlice& y) override;
  void linear_backward_input(const LinearShape& shape, const BufferSlice& dy,
                             const BufferSlice& weight, const BufferSlice& dx) override;
  void linear_gelu_backward_input(const LinearShape& shape, const BufferSlice& dy,
                                  const BufferSlice& weight, const BufferSlice& before,
                                  const BufferSlice& dx) override;
  void linear_backward_weight(const LinearShape& shape, const GradientPart& part,
                              const BufferSlice& x, const BufferSlice& dy,
                              const BufferSlice& dweight, const BufferSlice& dbias) override;
  void head_forward(const LinearShape& shape, const BufferSlice& x, const BufferSlice& table,
                    const BufferSlice& logits) override;
  void head_backward_input(const LinearShape& shape, const BufferSlice& dlogits,
                           const BufferSlice& table, const BufferSlice& dx) override;
  void head_backward_weight(const LinearShape& shape, const GradientPart& part,
                            const BufferSlice& x, const BufferSlice& dlogits,
                            const BufferSlice& dtable) override;
  void attention_forward(const AttentionShape& shape, const BufferSlice& qkv,
                         const BufferSlice& kept, const BufferSlice& y) override;
  void attention_backward(const AttentionShape& shape, const BufferSlice& qkv,
                          const BufferSlice& kept, const BufferSlice& y, const BufferSlice& dy,
                          const BufferSlice& scratch, const BufferSlice& dqkv) override;
  void gelu_forward(const BufferSlice& x, const BufferSlice& y) override;
  void gelu_backward(const BufferSlice& x, const BufferSlice& gradient) override;
  void residual_add(const BufferSlice& x, const BufferSlice& y) override;
  void adamw_update(const AdamW& options, const Count& updates, std::int64_t units,
                    double gradient_scale, std::span<const AdamWRange> ranges,
                    const BufferSlice& gradients, const BufferSlice& parameters,
                    const BufferSlice& first_moment, const BufferSlice& second_moment,
                    const BufferSlice& weights) override;
  void round_weights(const BufferSlice& parameters, const BufferSlice& weights) override;

 private:
  DeviceBackend(const DeviceBackendParts& parts, ElementType type, DeviceStream setup);

  /// Returns where the device has a slice, in the body of a task, or where its value is between
  /// two steps.
  void* address(const BufferSlice& slice) const;
  float* float_address(const BufferSlice& slice) const;
  void* address_at_home(const BufferSlice& slice) const;
  DeviceMatrix matrix(const BufferSlice& slice, int rows, int columns) const;
  /// Returns the operand that a product stored in `gradient` is added to; null if it overwrites.
  const void* added_to(const BufferSlice& gradient, GradientPart part,
                       const GradientPart& whole) const;

  /// Allocates permanent memory.
  void* allocate_bytes(std::size_t bytes);
  void* allocate_host_bytes(std::size_t bytes);
  void* allocate_zeros_on_host(std::size_t bytes);
  /// Returns scratch memory of the current stream, whose tasks use it one after another. Allocates
  /// when a stream needs more than before; not during the capture of a step, since the step has run
  /// in the same streams before.
  void* scratch(std::size_t bytes);
  std::int32_t* inputs(std::size_t batch) const { return tokens_ + 2 * batch * batch_tokens_; }
  std::int32_t* targets(std::size_t batch) const { return inputs(batch) + batch_tokens_; }
  void multiply(const MatrixProduct& product);
  /// Returns false if there is no kernel with such an epilogue, of which it warns once, or none
  /// that is exact enough. Throws on every other failure.
  bool multiply_if_there(const MatrixProduct& product);

  const DeviceBackendParts parts_;
  const ElementType type_;
  const DeviceStream setup_;  // for work done while no task runs
  DeviceMemory memory_;
  std::int64_t memory_limit_bytes_ = 0;
  std::optional<bool> fuses_attention_;  // set when the first block asks

  std::optional<HostUpdate> host_update_;  // only with placed memory

  std::set<std::string> warned_;  // about products

  std::vector<void*> kept_, kept_on_host_;
  struct Scratch {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<Scratch> scratch_;  // by stream

  // For each batch its inputs, followed by its targets:
  std::size_t batch_tokens_ = 0;
  std::int32_t* drawn_ = nullptr;   // host memory, by index, then by step
  std::int32_t* tokens_ = nullptr;  // device memory
};

}  // namespace hocket
