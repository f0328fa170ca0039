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

std::int64_t host_memory_bytes() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

std::int64_t HostBackend::memory_limit_bytes() const {
  return host_memory_bytes();
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
  hocket::embedding_forward(shape, batches_[batch].inputs, values(token_table),
                            values(position_table), values(y));
}

void HostBackend::embedding_backward(const EmbeddingShape& shape, std::size_t batch,
                                     const BufferSlice& dy, const BufferSlice& dtoken_table,
                                     const BufferSlice& dposition_table, bool add) {
  hocket::embedding_backward(shape, batches_[batch].inputs, values(dy), values(dtoken_table),
                             values(dposition_table), add);
}

void HostBackend::cross_entropy(int vocabulary, std::size_t batch, const BufferSlice& logits,
                                const LossPlaces& losses) {
  losses.first[static_cast<std::size_t>(steps_of(losses.steps)) * losses.stride] =
      hocket::cross_entropy(vocabulary, values(logits), batches_[batch].targets);
  ++units_of(losses.steps);
}

void HostBackend::layer_norm_forward(const LayerNormShape& shape, const BufferSlice& x,
                                     const BufferSlice& gain, const BufferSlice& bias,
                                     const BufferSlice& y, const BufferSlice& statistics) {
  hocket::layer_norm_forward(shape, values(x), values(gain), values(bias), values(y),
                             values(statistics));
}

void HostBackend::layer_norm_backward_input(const LayerNormShape& shape, const BufferSlice& x,
                                            const BufferSlice& gain, const BufferSlice& statistics,
                                            const BufferSlice& dy, const BufferSlice& skip,
                                            const BufferSlice& dx) {
  hocket::layer_norm_backward_input(shape, values(x), values(gain), values(statistics), values(dy),
                                    values(skip), values(dx));
}

void HostBackend::layer_norm_backward_weight(const LayerNormShape& shape, const BufferSlice& x,
                                             const BufferSlice& statistics, const BufferSlice& dy,
                                             const BufferSlice& dgain, const BufferSlice& dbias,
                                             bool add) {
  hocket::layer_norm_backward_weight(shape, values(x), values(statistics), values(dy),
                                     values(dgain), values(dbias), add);
}

void HostBackend::linear_forward(const LinearShape& shape, const BufferSlice& x,
                                 const BufferSlice& weight, const BufferSlice& bias,
                                 const BufferSlice& residual, const BufferSlice& y) {
  hocket::linear_forward(shape, values(x), values(weight), values(bias), values(y));
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
  hocket::linear_backward_input(shape, values(dy), values(weight), values(dx));
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
  hocket::linear_backward_weight(shape, part, values(x), values(dy), values(dweight),
                                 values(dbias));
}

void HostBackend::head_forward(const LinearShape& shape, const BufferSlice& x,
                               const BufferSlice& table, const BufferSlice& logits) {
  hocket::head_forward(shape, values(x), values(table), values(logits));
}

void HostBackend::head_backward_input(const LinearShape& shape, const BufferSlice& dlogits,
                                      const BufferSlice& table, const BufferSlice& dx) {
  hocket::head_backward_input(shape, values(dlogits), values(table), values(dx));
}

void HostBackend::head_backward_weight(const LinearShape& shape, const GradientPart& part,
                                       const BufferSlice& x, const BufferSlice& dlogits,
                                       const BufferSlice& dtable) {
  hocket::head_backward_weight(shape, part, values(x), values(dlogits), values(dtable));
}

void HostBackend::attention_forward(const AttentionShape& shape, const BufferSlice& qkv,
                                    const BufferSlice& kept, const BufferSlice& y) {
  hocket::attention_forward(shape, values(qkv), values(kept), values(y));
}

void HostBackend::attention_backward(const AttentionShape& shape, const BufferSlice& qkv,
                                     const BufferSlice& kept, const BufferSlice&,
                                     const BufferSlice& dy, const BufferSlice& scratch,
                                     const BufferSlice& dqkv) {
  hocket::attention_backward(shape, values(qkv), values(kept), values(dy), values(scratch),
                             values(dqkv));
}

void HostBackend::gelu_forward(const BufferSlice& x, const BufferSlice& y) {
  hocket::gelu_forward(values(x), values(y));
}

void HostBackend::gelu_backward(const BufferSlice& x, const BufferSlice& gradient) {
  hocket::gelu_backward(values(x), values(gradient));
}

void HostBackend::residual_add(const BufferSlice& x, const BufferSlice& y) {
  hocket::residual_add(values(x), values(y));
}

void HostBackend::adamw_update(const AdamW& options, const Count& updates, std::int64_t units,
                               double gradient_scale, std::span<const AdamWRange> ranges,
                               const BufferSlice& gradients, const BufferSlice& parameters,
                               const BufferSlice& first_moment, const BufferSlice& second_moment,
                               const BufferSlice&) {
  update(options, updates, units, gradient_scale, ranges,
         {.gradients = values(gradients),
          .parameters = values(parameters),
          .first_moment = values(first_moment),
          .second_moment = values(second_moment)});
}

void HostBackend::update(const AdamW& options, const Count& updates, std::int64_t units,
                         double gradient_scale, std::span<const AdamWRange> ranges,
                         const AdamWMemory& memory, HostUpdate* host_update) {
  const std::int64_t update = steps_of(updates) + 1;
  units_of(updates) += units;
  if (host_update) return host_update->update(options, update, gradient_scale, ranges, memory);
  std::size_t begin = 0;
  for (const AdamWRange& range : ranges) {
    const auto of = [&](auto all) { return all.subspan(begin, range.size); };
    hocket::adamw_update(options, update, range.decay, gradient_scale, of(memory.gradients),
                         of(memory.parameters), of(memory.first_moment), of(memory.second_moment));
    begin += range.size;
  }
}

void HostBackend::round_weights(const BufferSlice&, const BufferSlice&) {
  HOCKET_CHECK(false, "the host's weights are the parameters");
}

}  // namespace hocket
