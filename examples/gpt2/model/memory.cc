#include "examples/gpt2/model/memory.h"

#include "examples/gpt2/model/parameters.h"
#include "examples/gpt2/model/pass.h"

namespace hocket {
namespace {

/// Counts the bytes requested without allocating.
class ByteCounter final : public BufferAllocator {
 public:
  explicit ByteCounter(BufferAllocator& allocator) : allocator_(allocator) {}

  ElementType element_type() const override { return allocator_.element_type(); }
  Buffer allocate(BufferUse use, std::size_t size) override {
    bytes += static_cast<std::int64_t>(size * element_bytes(type_of(use)));
    return {};
  }
  AttentionMemory attention_memory(const AttentionShape& shape) override {
    return allocator_.attention_memory(shape);
  }

  std::int64_t bytes = 0;

 private:
  BufferAllocator& allocator_;
};

}  // namespace

std::int64_t activation_bytes(const Gpt2Config& config, BufferAllocator& allocator) {
  ByteCounter counter(allocator);
  const PassMemory counted(counter, config, 0);
  return counter.bytes;
}

std::int64_t micro_batch_bytes(const Gpt2Config& config, const TrainingOptions& options,
                               BufferAllocator& allocator) {
  return activation_bytes(config, allocator) * (options.steps_as_graphs ? 2 : 1);
}

std::int64_t memory_bytes(const Gpt2Config& config, const TrainingOptions& options,
                          BufferAllocator& allocator) {
  ByteCounter counter(allocator);
  for (const GroupSpec& group : parameter_groups(config)) {
    const std::size_t own = options.update_on_servers
                                ? 0
                                : group.size() / (options.shard_optimizer ? options.world_size : 1);
    // Parameters, gradients and the two moments.
    for (const std::size_t size : {group.size(), group.size(), own, own})
      counter.allocate(BufferUse::master, size);
    if (allocator.element_type() != ElementType::float32)
      counter.allocate(BufferUse::weights, group.size());
  }
  if (!allocator.keeps_step_buffers()) return counter.bytes;
  return counter.bytes + options.micro_batches_kept * micro_batch_bytes(config, options, allocator);
}

}  // namespace hocket
