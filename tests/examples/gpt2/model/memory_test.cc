#include "examples/gpt2/model/memory.h"

#include <gtest/gtest.h>

#include "examples/gpt2/model/host_backend.h"
#include "examples/gpt2/model/pass.h"

namespace hocket {
namespace {

TEST(Gpt2Memory, GrowsWithWhatIsKeptAndShrinksWithWhatIsSharded) {
  HostBackend backend;
  const Gpt2Config config;
  const std::int64_t alone = memory_bytes(config, {}, backend);
  EXPECT_EQ(alone, 4 * workload(config).bytes() + activation_bytes(config, backend));
  EXPECT_EQ(memory_bytes(config, {.micro_batches = 3}, backend), alone);
  EXPECT_EQ(memory_bytes(config, {.micro_batches = 3, .micro_batches_kept = 3}, backend),
            alone + 2 * activation_bytes(config, backend));
  EXPECT_EQ(
      memory_bytes(config, {.micro_batches = 3, .micro_batches_kept = 3, .steps_as_graphs = true},
                   backend),
      alone + 5 * activation_bytes(config, backend));
  EXPECT_EQ(memory_bytes(config, {.world_size = 2, .shard_optimizer = true}, backend),
            alone - workload(config).bytes());
  EXPECT_EQ(memory_bytes(config, {.update_on_servers = true}, backend),
            alone - 2 * workload(config).bytes());
}

TEST(Gpt2Memory, CountsWhatAPassAllocates) {
  HostBackend backend;
  const Gpt2Config config{.layers = 3, .heads = 2, .d_model = 16, .sequence = 6, .batch = 2};
  PassMemory memory(backend, config, 0);
  std::int64_t bytes = 0;
  for (const auto& [name, buffer] : memory.buffers()) bytes += buffer->bytes();
  EXPECT_EQ(activation_bytes(config, backend), bytes);
}

}  // namespace
}  // namespace hocket
