#include "examples/gpt2/model/host_backend.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace hocket {
namespace {

std::atomic<std::int64_t>& units_of(const Count& count) {
  return *static_cast<std::atomic<std::int64_t>*>(count.memory);
}

/// Returns the number of complete steps.
std::int64_t steps_of(const Count& count) {
  return units_of(count) / count.units;
}

}  // namespace

Floats floats(const BufferSlice& slice) {
  if (!slice.buffer) return {};
  return {static_cast<float*>(slice.buffer->memory) + slice.offset, slice.size};
}

HostBackend::HostBackend(bool fuses) : fuses_(fuses) {
  use_one_blas_thread();
}

std::int64_t HostBackend::memory_limit_bytes() const {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

Buffer HostBackend::allocate(BufferUse, std::size_t size) {
  float* const memory = memory_.emplace_back(size).data();
  return {.id = {}, .size = size, .type = ElementType::float32, .memory = memory};
}

std::span<float> HostBackend::allocate_losses(std::size_t size) {
  return memory_.emplace_back(size, std::numeric_limits<float>::quiet_NaN());
}

Count HostBackend::allocate_count(std::int64_t units) {
  return {.memory = &counts_.emplace_back(0), .units = units};
}

void HostBackend::allocate_batches(std::size_t batches, std::size_t tokens, std::size_t drawn) {
  const Batch empty{std::vector<std::int32_t>(tokens), std::vector<std::int32_t>(tokens)};
  batches_.assign(batches, empty);
  drawn_.assign(drawn * kDrawnSteps, empty);
}

BatchTokens HostBackend::drawn_batch(std::size_t index, std::int64_t step) {
  Batch& drawn = drawn_[index * kDrawnSteps + static_cast<std::size_t>(step % kDrawnSteps)];
  return {drawn.inputs, drawn.targets};
}

AttentionMemory HostBackend::attention_memory(const AttentionShape& shape) {
  const std::size_t square = static_cast<std::size_t>(shape.sequence) * shape.sequence;
  return {.kept_use = BufferUse::activation,
          .kept_size = square * shape.batch * shape.heads,
          .scratch_size = square};
}

void HostBackend::store(const BufferSlice& to, std::span<const float> values) {
  HOCKET_CHECK(values.size() == to.size, "as many values as the slice has");
  std::ranges::copy(values, floats(to).begin());
}

std::vector<float> HostBackend::load(const BufferSlice& from) const {
  const Floats values = floats(from);
  return {values.begin(), values.end()};
}

void HostBackend::load_batch(std::size_t batch, std::size_t index, const Count& loaded) {
  const BatchTokens drawn = drawn_batch(index, steps_of(loaded));
  std::ranges::copy(drawn.inputs, batches_[batch].inputs.begin());
  std::ranges::copy(drawn.targets, batches_[batch].targets.begin());
  ++units_of(loaded);
}

void HostBackend::embedding_forward(const EmbeddingShape& shape, std::size_t batch,
                                    const BufferSlice& token_table,
                                    const BufferSlice& position_table, const BufferSlice& y) {
  hocket::embedding_forward(shape, batches_[batch].inputs, floats(token_table),
                            floats(position_table), floats(y));
}

void HostBackend::embedding_backward(const EmbeddingShape& shape, std::size_t batch,
                                     const BufferSlice& dy, const BufferSlice& dtoken_table,
                                     const BufferSlice& dposition_table, bool add) {
  hocket::embedding_backward(shape, batches_[batch].inputs, floats(dy), floats(dtoken_table),
                             floats(dposition_table), add);
}

void HostBackend::cross_entropy(int vocabulary, std::size_t batch, const BufferSlice& logits,
                                const LossPlaces& losses) {
  losses.first[static_cast<std::size_t>(steps_of(losses.steps)) * losses.stride] =
      hocket::cross_entropy(vocabulary, floats(logits), batches_[batch].targets);
  ++units_of(losses.steps);
}

void HostBackend::layer_norm_forward(const LayerNormShape& shape, const BufferSlice& x,
                                     const BufferSlice& gain, const BufferSlice& bias,
                                     const BufferSlice& y, const BufferSlice& statistics) {
  hocket::layer_norm_forward(shape, floats(x), floats(gain), floats(bias), floats(y),
                             floats(statistics));
}

void HostBackend::layer_norm_backward_input(const LayerNormShape& shape, const BufferSlice& x,
                                            const BufferSlice& gain, const BufferSlice& statistics,
                                            const BufferSlice& dy, const BufferSlice& skip,
                                            const BufferSlice& dx) {
  hocket::layer_norm_backward_input(shape, floats(x), floats(gain), floats(statistics), floats(dy),
                                    floats(skip), floats(dx));
}

void HostBackend::layer_norm_backward_weight(const LayerNormShape& shape, const BufferSlice& x,
                                             const BufferSlice& statistics, const BufferSlice& dy,
                                             const BufferSlice& dgain, const BufferSlice& dbias,
                                             bool add) {
  hocket::layer_norm_backward_weight(shape, floats(x), floats(statistics), floats(dy),
                                     floats(dgain), floats(dbias), add);
}

void HostBackend::linear_forward(const LinearShape& shape, const BufferSlice& x,
                                 const BufferSlice& weight, const BufferSlice& bias,
                                 const BufferSlice& residual, const BufferSlice& y) {
  hocket::linear_forward(shape, floats(x), floats(weight), floats(bias), floats(y));
  if (residual.buffer) residual_add(residual, y);
}

void HostBackend::linear_gelu_forward(const LinearShape& shape, const BufferSlice& x,
                                      const BufferSlice& weight, const BufferSlice& bias,
                                      const BufferSlice& before, const BufferSlice& y) {
  linear_forward(shape, x, weight, bias, {}, before);
  gelu_forward(before, y);
}

void HostBackend::linear_backward_input(const LinearShape& shape, const BufferSlice& dy,
                                        const BufferSlice& weight, const BufferSlice& dx) {
  hocket::linear_backward_input(shape, floats(dy), floats(weight), floats(dx));
}

void HostBackend::linear_gelu_backward_input(const LinearShape& shape, const BufferSlice& dy,
                                             const BufferSlice& weight, const BufferSlice& before,
                                             const BufferSlice& dx) {
  linear_backward_input(shape, dy, weight, dx);
  gelu_backward(before, dx);
}

void HostBackend::linear_backward_weight(const LinearShape& shape, const GradientPart& part,
                                         const BufferSlice& x, const BufferSlice& dy,
                                         const BufferSlice& dweight, const BufferSlice& dbias) {
  hocket::linear_backward_weight(shape, part, floats(x), floats(dy), floats(dweight),
                                 floats(dbias));
}

void HostBackend::head_forward(const LinearShape& shape, const BufferSlice& x,
                               const BufferSlice& table, const BufferSlice& logits) {
  hocket::head_forward(shape, floats(x), floats(table), floats(logits));
}

void HostBackend::head_backward_input(const LinearShape& shape, const BufferSlice& dlogits,
                                      const BufferSlice& table, const BufferSlice& dx) {
  hocket::head_backward_input(shape, floats(dlogits), floats(table), floats(dx));
}

void HostBackend::head_backward_weight(const LinearShape& shape, const GradientPart& part,
                                       const BufferSlice& x, const BufferSlice& dlogits,
                                       const BufferSlice& dtable) {
  hocket::head_backward_weight(shape, part, floats(x), floats(dlogits), floats(dtable));
}

void HostBackend::attention_forward(const AttentionShape& shape, const BufferSlice& qkv,
                                    const BufferSlice& kept, const BufferSlice& y) {
  hocket::attention_forward(shape, floats(qkv), floats(kept), floats(y));
}

void HostBackend::attention_backward(const AttentionShape& shape, const BufferSlice& qkv,
                                     const BufferSlice& kept, const BufferSlice&,
                                     const BufferSlice& dy, const BufferSlice& scratch,
                                     const BufferSlice& dqkv) {
  hocket::attention_backward(shape, floats(qkv), floats(kept), floats(dy), floats(scratch),
                             floats(dqkv));
}

void HostBackend::gelu_forward(const BufferSlice& x, const BufferSlice& y) {
  hocket::gelu_forward(floats(x), floats(y));
}

void HostBackend::gelu_backward(const BufferSlice& x, const BufferSlice& gradient) {
  hocket::gelu_backward(floats(x), floats(gradient));
}

void HostBackend::residual_add(const BufferSlice& x, const BufferSlice& y) {
  hocket::residual_add(floats(x), floats(y));
}

void HostBackend::adamw_update(const AdamW& options, const Count& updates, std::int64_t units,
                               double gradient_scale, std::span<const AdamWRange> ranges,
                               const BufferSlice& gradients, const BufferSlice& parameters,
                               const BufferSlice& first_moment, const BufferSlice& second_moment,
                               const BufferSlice&) {
  const std::int64_t update = steps_of(updates) + 1;
  std::size_t begin = 0;
  for (const AdamWRange& range : ranges) {
    const auto of = [&](const BufferSlice& all) { return floats(all).subspan(begin, range.size); };
    hocket::adamw_update(options, update, range.decay, gradient_scale, of(gradients),
                         of(parameters), of(first_moment), of(second_moment));
    begin += range.size;
  }
  units_of(updates) += units;
}

void HostBackend::round_weights(const BufferSlice&, const BufferSlice&) {
  HOCKET_CHECK(false, "the host's weights are the parameters");
}

}  // namespace hocket
