#include "examples/gpt2/cuda/device_backend.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

#include "core/base/check.h"
#include "core/cuda/products/column_major.h"
#include "core/scheduler/scheduler.h"
#include "examples/gpt2/cuda/kernels.h"
#include "examples/gpt2/cuda/product_attention.h"
#include "examples/gpt2/model/host_backend.h"

namespace hocket {
namespace {

constexpr const char* kIsUndivided = "a device's tasks are not divided";

/// Throws on failure; the executor reports what the body of a task throws.
void require(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

DeviceStream stream() {
  return this_device_task().stream;
}

std::int64_t* steps_of(const Count& count) {
  return static_cast<std::int64_t*>(count.memory);
}

/// Rounds to nearest, ties to even.
std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float from_bfloat16(std::uint16_t value) {
  return std::bit_cast<float>(std::uint32_t{value} << 16);
}

}  // namespace

Result<std::unique_ptr<DeviceBackend>> DeviceBackend::open(const DeviceBackendParts& parts,
                                                           ElementType type) {
  if (parts.placed && type != ElementType::float32) {
    return invalid(
        "--precision: layers are kept on the host in float32 alone; leave out bfloat16, or the "
        "limit of the device's memory");
  }
  HOCKET_TRY(parts.driver.use_device());
  const auto memory_bytes = parts.driver.memory_bytes();
  HOCKET_TRY(memory_bytes);
  const auto setup = parts.driver.create_stream(StreamPriority::normal);
  HOCKET_TRY(setup);
  std::unique_ptr<DeviceBackend> backend(new DeviceBackend(parts, type, *setup));
  backend->memory_limit_bytes_ = parts.placed ? host_memory_bytes() : *memory_bytes;
  if (parts.placed) backend->host_update_.emplace();
  return backend;
}

DeviceBackend::DeviceBackend(const DeviceBackendParts& parts, ElementType type, DeviceStream setup)
    : parts_(parts), type_(type), setup_(setup), memory_(parts.driver) {}

DeviceBackend::~DeviceBackend() {
  // Errors are ignored here: the executor reports a failed device.
  for (void* memory : kept_) (void)parts_.driver.free(memory, setup_);
  for (const Scratch& scratch : scratch_)
    if (scratch.memory) (void)parts_.driver.free(scratch.memory, setup_);
  (void)parts_.driver.synchronize(setup_);
  for (void* memory : kept_on_host_) parts_.driver.free_host(memory);
  parts_.driver.destroy_stream(setup_);
}

void* DeviceBackend::address(const BufferSlice& slice) const {
  if (!slice.buffer) return nullptr;
  const Buffer& buffer = *slice.buffer;
  void* const memory = parts_.placed   ? parts_.placed->at(buffer.id)
                       : buffer.memory ? buffer.memory
                                       : this_device_task().memory->at(buffer.id);
  HOCKET_CHECK(memory, "a task of the device accesses what is there");
  return static_cast<std::byte*>(memory) + slice.offset * element_bytes(buffer.type);
}

float* DeviceBackend::float_address(const BufferSlice& slice) const {
  HOCKET_CHECK(slice.buffer && slice.buffer->type == ElementType::float32, "float32 is expected");
  return static_cast<float*>(address(slice));
}

void* DeviceBackend::address_at_home(const BufferSlice& slice) const {
  const Buffer& buffer = *slice.buffer;
  const bool is_elsewhere = parts_.placed && parts_.placed->has(buffer.id) &&
                            parts_.placed->home(buffer.id) == PlacementSite::device &&
                            parts_.placed->at(buffer.id);
  if (is_elsewhere) return address(slice);
  return static_cast<std::byte*>(buffer.memory) + slice.offset * element_bytes(buffer.type);
}

DeviceMatrix DeviceBackend::matrix(const BufferSlice& slice, int rows, int columns) const {
  return {.values = address(slice), .type = slice.buffer->type, .rows = rows, .columns = columns};
}

const void* DeviceBackend::added_to(const BufferSlice& gradient, GradientPart part,
                                    const GradientPart& whole) const {
  const bool adds = std::exchange(part.add, whole.add);
  HOCKET_CHECK(part == whole, "a device computes a gradient at once");
  return adds ? address(gradient) : nullptr;
}

void* DeviceBackend::allocate_bytes(std::size_t bytes) {
  bytes = std::max(bytes, std::size_t{1});  // A rank may own none of a sharded buffer.
  const auto memory = parts_.driver.allocate(bytes, setup_);
  if (!memory) throw std::bad_alloc();
  kept_.push_back(*memory);
  require(parts_.driver.fill_zero(*memory, bytes, setup_));
  require(parts_.driver.synchronize(setup_));
  return *memory;
}

void* DeviceBackend::allocate_host_bytes(std::size_t bytes) {
  const auto memory = parts_.driver.allocate_host(bytes);
  if (!memory) throw std::bad_alloc();
  kept_on_host_.push_back(*memory);
  return *memory;
}

void* DeviceBackend::allocate_zeros_on_host(std::size_t bytes) {
  bytes = std::max(bytes, std::size_t{1});
  void* const memory = allocate_host_bytes(bytes);
  std::memset(memory, 0, bytes);
  return memory;
}

void* DeviceBackend::scratch(std::size_t bytes) {
  const std::uint32_t lane = this_device_task().lane;
  if (lane >= scratch_.size()) scratch_.resize(lane + 1);
  Scratch& own = scratch_[lane];
  if (own.bytes >= bytes) return own.memory;
  if (own.memory) require(parts_.driver.free(own.memory, stream()));
  own = {};
  const auto memory = parts_.driver.allocate(bytes, stream());
  if (!memory) throw std::runtime_error(memory.error().message);
  own = {*memory, bytes};
  return own.memory;
}

Buffer DeviceBackend::allocate(BufferUse use, std::size_t size) {
  Buffer buffer{.id = {}, .size = size, .type = type_of(use), .memory = nullptr};
  if (use == BufferUse::master || use == BufferUse::weights)
    buffer.memory = parts_.placed ? allocate_zeros_on_host(size * element_bytes(buffer.type))
                                  : allocate_bytes(size * element_bytes(buffer.type));
  return buffer;
}

std::span<float> DeviceBackend::allocate_losses(std::size_t size) {
  const std::span<float> losses(static_cast<float*>(allocate_host_bytes(size * sizeof(float))),
                                size);
  std::ranges::fill(losses, std::numeric_limits<float>::quiet_NaN());
  return losses;
}

Count DeviceBackend::allocate_count(std::int64_t units) {
  HOCKET_CHECK(units == 1, kIsUndivided);
  // An update may run on either side, which both read pinned memory.
  return {.memory = parts_.placed ? allocate_zeros_on_host(sizeof(std::int64_t))
                                  : allocate_bytes(sizeof(std::int64_t)),
          .units = units};
}

void DeviceBackend::allocate_batches(std::size_t batches, std::size_t tokens, std::size_t drawn) {
  batch_tokens_ = tokens;
  const std::size_t bytes = 2 * tokens * sizeof(std::int32_t);
  drawn_ = static_cast<std::int32_t*>(allocate_host_bytes(drawn * kDrawnSteps * bytes));
  tokens_ = static_cast<std::int32_t*>(allocate_bytes(batches * bytes));
}

BatchTokens DeviceBackend::drawn_batch(std::size_t index, std::int64_t step) {
  const std::size_t place = index * kDrawnSteps + static_cast<std::size_t>(step % kDrawnSteps);
  const std::span tokens(drawn_ + place * 2 * batch_tokens_, 2 * batch_tokens_);
  return {tokens.first(batch_tokens_), tokens.last(batch_tokens_)};
}

AttentionMemory DeviceBackend::attention_memory(const AttentionShape& shape) {
  const std::size_t rows = static_cast<std::size_t>(shape.batch) * shape.heads * shape.sequence;
  const bool could_fuse = fuses_attention_.value_or(true);
  fuses_attention_ = false;
  if (could_fuse && parts_.attention && type_ == ElementType::bfloat16) {
    const auto prepared = parts_.attention->prepare(shape);
    fuses_attention_ = prepared.has_value();
    if (!prepared) parts_.warn("attention is made of products: " + prepared.error().message);
  }
  if (*fuses_attention_)
    return {
        .kept_use = BufferUse::statistics,
        .kept_size = rows,
        .scratch_size = parts_.attention->backward_workspace_bytes() / element_bytes(type_) + 1};
  return {.kept_use = BufferUse::activation,
          .kept_size = rows * shape.sequence,
          .scratch_size = rows * shape.sequence};
}

void DeviceBackend::attached(const ModelBuffers& buffers) {
  if (PlacedMemory* const placed = parts_.placed) {
    require(placed->clear());
    for (const auto& [buffer, uses] : buffers.within_step)
      placed->add(buffer->id, nullptr, static_cast<std::size_t>(buffer->bytes()));
    for (const auto& more : {buffers.kept, buffers.gradients})
      for (const Buffer* const buffer : more)
        placed->add(buffer->id, buffer->memory, static_cast<std::size_t>(buffer->bytes()));
    return;
  }
  memory_.clear();
  for (const auto& [buffer, uses] : buffers.within_step)
    memory_.add(buffer->id, buffer->size * element_bytes(buffer->type), uses);
}

void DeviceBackend::store(const BufferSlice& to, std::span<const float> values) {
  HOCKET_CHECK(values.size() == to.size, "as many values as the slice has");
  std::vector<std::uint16_t> rounded;
  const void* from = values.data();
  if (to.buffer->type == ElementType::bfloat16) {
    rounded.resize(values.size());
    std::ranges::transform(values, rounded.begin(), to_bfloat16);
    from = rounded.data();
  }
  require(parts_.driver.copy(address_at_home(to), from, to.size * element_bytes(to.buffer->type),
                             setup_));
  require(parts_.driver.synchronize(setup_));
}

std::vector<float> DeviceBackend::load(const BufferSlice& from) const {
  std::vector<float> values(from.size);
  std::vector<std::uint16_t> rounded;
  void* to = values.data();
  if (from.buffer->type == ElementType::bfloat16) {
    rounded.resize(values.size());
    to = rounded.data();
  }
  require(parts_.driver.copy(to, address_at_home(from),
                             from.size * element_bytes(from.buffer->type), setup_));
  require(parts_.driver.synchronize(setup_));
  if (!rounded.empty()) std::ranges::transform(rounded, values.begin(), from_bfloat16);
  return values;
}

void DeviceBackend::multiply(const MatrixProduct& product) {
  require(parts_.products.multiply(product, this_device_task()));
}

bool DeviceBackend::multiply_if_there(const MatrixProduct& product) {
  // GELU in an epilogue is not exact enough for float32.
  if (product.gelu_input && product.c.type == ElementType::float32) return false;
  if (product.gelu_input && product.c.columns % kGeluColumns != 0) return false;
  const auto multiplied = parts_.products.multiply(product, this_device_task());
  if (multiplied || multiplied.error().code != ErrorCode::not_found) {
    require(multiplied);
    return true;
  }
  const std::string& why = multiplied.error().message;
  if (warned_.insert(why).second)
    parts_.warn("a product and what follows it take two kernels: " + why);
  return false;
}

void DeviceBackend::load_batch(std::size_t batch, std::size_t index, const Count& loaded) {
  const kernels::DrawnBatches drawn{.first = drawn_batch(index, 0).inputs.data(),
                                    .tokens = 2 * batch_tokens_,
                                    .count = kDrawnSteps};
  require(kernels::load_batch(drawn, steps_of(loaded), inputs(batch), stream()));
  require(kernels::advance(steps_of(loaded), stream()));
}

void DeviceBackend::embedding_forward(const EmbeddingShape& shape, std::size_t batch,
                                      const BufferSlice& token_table,
                                      const BufferSlice& position_table, const BufferSlice& y) {
  require(kernels::embedding_forward(shape, type_, inputs(batch), address(token_table),
                                     address(position_table), address(y), stream()));
}

void DeviceBackend::embedding_backward(const EmbeddingShape& shape, std::size_t batch,
                                       const BufferSlice& dy, const BufferSlice& dtoken_table,
                                       const BufferSlice& dposition_table, bool add) {
  require(kernels::embedding_backward(shape, type_, inputs(batch), address(dy),
                                      float_address(dtoken_table), float_address(dposition_table),
                                      add, stream()));
}

void DeviceBackend::cross_entropy(int vocabulary, std::size_t batch, const BufferSlice& logits,
                                  const LossPlaces& losses) {
  const auto rows = static_cast<int>(batch_tokens_);
  auto* const row_losses = static_cast<float*>(scratch(batch_tokens_ * sizeof(float)));
  require(kernels::cross_entropy(
      {.rows = rows, .vocabulary = vocabulary}, type_, address(logits), targets(batch), row_losses,
      {.first = losses.first, .stride = losses.stride, .steps = steps_of(losses.steps)}, stream()));
}

void DeviceBackend::layer_norm_forward(const LayerNormShape& shape, const BufferSlice& x,
                                       const BufferSlice& gain, const BufferSlice& bias,
                                       const BufferSlice& y, const BufferSlice& statistics) {
  require(kernels::layer_norm_forward(shape, type_, address(x), float_address(gain),
                                      float_address(bias), address(y), float_address(statistics),
                                      stream()));
}

void DeviceBackend::layer_norm_backward_input(const LayerNormShape& shape, const BufferSlice& x,
                                              const BufferSlice& gain,
                                              const BufferSlice& statistics, const BufferSlice& dy,
                                              const BufferSlice& skip, const BufferSlice& dx) {
  require(kernels::layer_norm_backward_input(shape, type_, address(x), float_address(gain),
                                             float_address(statistics), address(dy), address(skip),
                                             address(dx), stream()));
}

void DeviceBackend::layer_norm_backward_weight(const LayerNormShape& shape, const BufferSlice& x,
                                               const BufferSlice& statistics, const BufferSlice& dy,
                                               const BufferSlice& dgain, const BufferSlice& dbias,
                                               bool add) {
  auto* const sums =
      static_cast<float*>(scratch(kernels::layer_norm_scratch_floats(shape) * sizeof(float)));
  require(kernels::layer_norm_backward_weight(shape, type_, address(x), float_address(statistics),
                                              address(dy), sums, float_address(dgain),
                                              float_address(dbias), add, stream()));
}

void DeviceBackend::linear_forward(const LinearShape& shape, const BufferSlice& x,
                                   const BufferSlice& weight, const BufferSlice& bias,
                                   const BufferSlice& residual, const BufferSlice& y) {
  MatrixProduct product{.a = matrix(x, shape.rows, shape.in),
                        .b = matrix(weight, shape.in, shape.out),
                        .c = matrix(y, shape.rows, shape.out),
                        .added = address(residual),
                        .epilogue = Epilogue::bias,
                        .bias = address(bias)};
  if (multiply_if_there(product)) return;
  product.epilogue = Epilogue::none;
  product.bias = nullptr;
  multiply(product);
  require(kernels::bias_add(shape.rows, shape.out, type_, address(bias), address(y), stream()));
}

void DeviceBackend::linear_gelu_forward(const LinearShape& shape, const BufferSlice& x,
                                        const BufferSlice& weight, const BufferSlice& bias,
                                        const BufferSlice& before, const BufferSlice& y) {
  const MatrixProduct fused{.a = matrix(x, shape.rows, shape.in),
                            .b = matrix(weight, shape.in, shape.out),
                            .c = matrix(y, shape.rows, shape.out),
                            .epilogue = Epilogue::bias_gelu,
                            .bias = address(bias),
                            .gelu_input = address(before)};
  if (multiply_if_there(fused)) return;
  linear_forward(shape, x, weight, bias, {}, before);
  gelu_forward(before, y);
}

void DeviceBackend::linear_backward_input(const LinearShape& shape, const BufferSlice& dy,
                                          const BufferSlice& weight, const BufferSlice& dx) {
  multiply({.a = matrix(dy, shape.rows, shape.out),
            .b = matrix(weight, shape.in, shape.out),
            .c = matrix(dx, shape.rows, shape.in),
            .transpose_b = true});
}

void DeviceBackend::linear_gelu_backward_input(const LinearShape& shape, const BufferSlice& dy,
                                               const BufferSlice& weight, const BufferSlice& before,
                                               const BufferSlice& dx) {
  const MatrixProduct fused{.a = matrix(dy, shape.rows, shape.out),
                            .b = matrix(weight, shape.in, shape.out),
                            .c = matrix(dx, shape.rows, shape.in),
                            .transpose_b = true,
                            .epilogue = Epilogue::gelu_gradient,
                            .gelu_input = address(before)};
  if (multiply_if_there(fused)) return;
  linear_backward_input(shape, dy, weight, dx);
  gelu_backward(before, dx);
}

void DeviceBackend::linear_backward_weight(const LinearShape& shape, const GradientPart& part,
                                           const BufferSlice& x, const BufferSlice& dy,
                                           const BufferSlice& dweight, const BufferSlice& dbias) {
  multiply({.a = matrix(x, shape.rows, shape.in),
            .b = matrix(dy, shape.rows, shape.out),
            .c = matrix(dweight, shape.in, shape.out),
            .transpose_a = true,
            .added = added_to(dweight, part, whole_weight(shape))});
  auto* const sums = static_cast<float*>(
      scratch(kernels::column_sums_scratch_floats(shape.rows, shape.out) * sizeof(float)));
  require(kernels::column_sums(shape.rows, shape.out, type_, address(dy), sums,
                               float_address(dbias), part.add, stream()));
}

void DeviceBackend::head_forward(const LinearShape& shape, const BufferSlice& x,
                                 const BufferSlice& table, const BufferSlice& logits) {
  multiply({.a = matrix(x, shape.rows, shape.in),
            .b = matrix(table, shape.out, shape.in),
            .c = matrix(logits, shape.rows, shape.out),
            .transpose_b = true});
}

void DeviceBackend::head_backward_input(const LinearShape& shape, const BufferSlice& dlogits,
                                        const BufferSlice& table, const BufferSlice& dx) {
  multiply({.a = matrix(dlogits, shape.rows, shape.out),
            .b = matrix(table, shape.out, shape.in),
            .c = matrix(dx, shape.rows, shape.in)});
}

void DeviceBackend::head_backward_weight(const LinearShape& shape, const GradientPart& part,
                                         const BufferSlice& x, const BufferSlice& dlogits,
                                         const BufferSlice& dtable) {
  multiply({.a = matrix(dlogits, shape.rows, shape.out),
            .b = matrix(x, shape.rows, shape.in),
            .c = matrix(dtable, shape.out, shape.in),
            .transpose_a = true,
            .added = added_to(dtable, part, whole_table(shape))});
}

void DeviceBackend::attention_forward(const AttentionShape& shape, const BufferSlice& qkv,
                                      const BufferSlice& kept, const BufferSlice& y) {
  if (*fuses_attention_) {
    require(parts_.attention->forward(address(qkv), float_address(kept), address(y),
                                      scratch(parts_.attention->forward_workspace_bytes()),
                                      this_device_task()));
    return;
  }
  require(ProductAttention(parts_.products, shape, type_)
              .forward({.qkv = address(qkv), .weights = address(kept), .y = address(y)},
                       this_device_task()));
}

void DeviceBackend::attention_backward(const AttentionShape& shape, const BufferSlice& qkv,
                                       const BufferSlice& kept, const BufferSlice& y,
                                       const BufferSlice& dy, const BufferSlice& scratch_slice,
                                       const BufferSlice& dqkv) {
  if (*fuses_attention_) {
    require(parts_.attention->backward(address(qkv), float_address(kept), address(y), address(dy),
                                       address(dqkv), address(scratch_slice), this_device_task()));
    return;
  }
  require(ProductAttention(parts_.products, shape, type_)
              .backward({.qkv = address(qkv),
                         .weights = address(kept),
                         .dy = address(dy),
                         .dweights = address(scratch_slice),
                         .dqkv = address(dqkv)},
                        this_device_task()));
}

void DeviceBackend::gelu_forward(const BufferSlice& x, const BufferSlice& y) {
  require(kernels::gelu_forward(x.size, type_, address(x), address(y), stream()));
}

void DeviceBackend::gelu_backward(const BufferSlice& x, const BufferSlice& gradient) {
  require(kernels::gelu_backward(x.size, type_, address(x), address(gradient), stream()));
}

void DeviceBackend::residual_add(const BufferSlice& x, const BufferSlice& y) {
  require(kernels::residual_add(x.size, type_, address(x), address(y), stream()));
}

void DeviceBackend::adamw_update(const AdamW& options, const Count& updates, std::int64_t units,
                                 double gradient_scale, std::span<const AdamWRange> ranges,
                                 const BufferSlice& gradients, const BufferSlice& parameters,
                                 const BufferSlice& first_moment, const BufferSlice& second_moment,
                                 const BufferSlice& weights) {
  HOCKET_CHECK(units == updates.units, kIsUndivided);
  if (parts_.placed && parts_.placed->home(parameters.buffer->id) == PlacementSite::host) {
    const auto on_host = [](const BufferSlice& slice) {
      return Floats(static_cast<float*>(slice.buffer->memory) + slice.offset, slice.size);
    };
    host_update_->update(options, *steps_of(updates) + 1, gradient_scale, ranges,
                         {.gradients = on_host(gradients),
                          .parameters = on_host(parameters),
                          .first_moment = on_host(first_moment),
                          .second_moment = on_host(second_moment)});
    ++*steps_of(updates);
    return;
  }
  void* const copy = weights.buffer->type == ElementType::bfloat16 ? address(weights) : nullptr;
  auto* const corrections = static_cast<float*>(scratch(2 * sizeof(float)));
  require(kernels::adamw_update(options, steps_of(updates), gradient_scale, ranges,
                                float_address(gradients), float_address(parameters),
                                float_address(first_moment), float_address(second_moment), copy,
                                corrections, stream()));
}

void DeviceBackend::round_weights(const BufferSlice& parameters, const BufferSlice& weights) {
  require(kernels::convert(parameters.size, float_address(parameters), address(weights), stream()));
}

}  // namespace hocket
