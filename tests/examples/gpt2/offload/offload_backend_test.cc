#include "examples/gpt2/offload/offload_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "examples/gpt2/model/memory.h"
#include "tests/slept_clock.h"

namespace hocket {
namespace {

/// A backend with a buffer of parameters, its gradients and an activation, as items 3, 4 and 5.
struct OffloadedBuffers {
  explicit OffloadedBuffers(const EmulatedDeviceSpec& device)
      : backend(OffloadBackend::create(device, clock).value()),
        parameters(backend->allocate(BufferUse::master, 100)),
        gradients(backend->allocate(BufferUse::master, 100)),
        activation(backend->allocate(BufferUse::activation, 50)) {
    parameters.id = {3};
    gradients.id = {4};
    activation.id = {5};
    values.resize(100);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    backend->store(parameters, values);
    backend->store(gradients, values);
    attach();
  }

  void attach() {
    const std::vector<UsedBuffer> within_step{{&activation, 1}};
    const std::vector<const Buffer*> kept{&parameters}, all_gradients{&gradients};
    backend->attached({.within_step = within_step, .kept = kept, .gradients = all_gradients});
  }
  void place(PlacementSite home) {
    ASSERT_TRUE(backend->device().place(std::vector<DataAddress>{
        {{3}, 512, home}, {{4}, 0, PlacementSite::device}, {{5}, 1024, PlacementSite::device}}));
  }

  SleptClock clock{1000};
  std::unique_ptr<OffloadBackend> backend;
  Buffer parameters, gradients, activation;
  std::vector<float> values;
};

bool all_nan(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isnan(value); });
}

TEST(OffloadBackend, ValuesMoveWhereTheyArePlaced) {
  OffloadedBuffers model({.memory_bytes = 4096});
  for (const PlacementSite home :
       {PlacementSite::host, PlacementSite::device, PlacementSite::device, PlacementSite::host}) {
    model.place(home);
    EXPECT_EQ(model.backend->load(model.parameters), model.values);
    EXPECT_TRUE(all_nan(model.backend->load(model.gradients)));
    EXPECT_TRUE(all_nan(model.backend->load(model.activation)));
  }
  model.place(PlacementSite::device);
  EXPECT_NE(model.backend->load(model.parameters), std::vector<float>(100));
  std::ranges::fill(floats(model.parameters), 0.0f);
  EXPECT_EQ(model.backend->load(model.parameters), model.values) << "they are on the device";
  model.attach();
  EXPECT_EQ(model.backend->load(model.parameters), model.values);
  EXPECT_EQ(floats(model.parameters)[7], 7.0f) << "they are on the host";
}

TEST(OffloadBackend, OnlyWhatIsOnTheHostCountsAgainstItsMemory) {
  const SleptClock clock;
  const auto backend = OffloadBackend::create({.memory_bytes = 1 << 20}, clock).value();
  HostBackend host;
  const Gpt2Config config;
  EXPECT_EQ(backend->memory_limit_bytes(), host.memory_limit_bytes() - (1 << 20));
  EXPECT_EQ(memory_bytes(config, {}, *backend), 4 * workload(config).bytes());
  EXPECT_GT(memory_bytes(config, {}, host), memory_bytes(config, {}, *backend));
}

}  // namespace
}  // namespace hocket
