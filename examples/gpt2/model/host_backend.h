#pragma once

// Runs the model in this process's own memory, in float32, with the operations of ops.h. Threading
// as in Backend.

#include <atomic>
#include <boost/align/aligned_allocator.hpp>
#include <deque>
#include <vector>

#include "examples/gpt2/model/backend.h"
#include "examples/gpt2/model/host_update.h"

namespace hocket {

/// Returns the values of a slice of a HostBackend's buffer, in the host's memory.
Floats floats(const BufferSlice& slice);

/// Returns the memory that this machine has.
std::int64_t host_memory_bytes();

class HostBackend : public Backend {
 public:
  /// With `fuses`, fused operations do the same work as separate ones, in one task.
  explicit HostBackend(bool fuses = false);

  ElementType element_type() const override { return ElementType::float32; }
  std::int64_t memory_limit_bytes() const override;
  Buffer allocate(BufferUse use, std::size_t size) override;
  std::span<float> allocate_losses(std::size_t size) override;
  Count allocate_count(std::int64_t units) override;
  void allocate_batches(std::size_t batches, std::size_t tokens, std::size_t drawn) override;
  BatchTokens drawn_batch(std::size_t index, std::int64_t step) override;
  AttentionMemory attention_memory(const AttentionShape& shape) override;
  void attached(const ModelBuffers&) override {}
  void store(const BufferSlice& to, std::span<const float> values) override;
  std::vector<float> load(const BufferSlice& from) const override;
  bool fuses() const override { return fuses_; }
  bool divides() const override { return true; }

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

 protected:
  /// Returns the memory in which operations find a slice.
  virtual Floats values(const BufferSlice& slice) const { return floats(slice); }

  /// Updates with `host_update`, or without one in a loop; the bits are the same.
  void update(const AdamW& options, const Count& updates, std::int64_t units, double gradient_scale,
              std::span<const AdamWRange> ranges, const AdamWMemory& memory,
              HostUpdate* host_update = nullptr);

 private:
  /// Starts on a cache line, for wide vector instructions.
  using AlignedFloats = std::vector<float, boost::alignment::aligned_allocator<float, 64>>;

  const bool fuses_;
  std::deque<AlignedFloats> memory_;
  struct Batch {
    std::vector<std::int32_t> inputs, targets;
  };
  std::vector<Batch> batches_, drawn_;
  // in units; atomic, since pieces of a task run at the same time
  std::deque<std::atomic<std::int64_t>> counts_;
};

}  // namespace hocket
