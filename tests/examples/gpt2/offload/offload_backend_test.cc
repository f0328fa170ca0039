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
  void place(Site home) {
    ASSERT_TRUE(backend->device().place(std::vector<DataAddress>{
        {{3}, 512, home}, {{4}, 0, Site::device}, {{5}, 1024, Site::device}}));
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
  for (const Site home : {Site::host, Site::device, Site::device, Site::host}) {
    model.place(home);
    EXPECT_EQ(model.backend->load(model.parameters), model.values);
    EXPECT_TRUE(all_nan(model.backend->load(model.gradients)));
    EXPECT_TRUE(all_nan(model.backend->load(model.activation)));
  }
  model.place(Site::device);
  EXPECT_NE(model.backend->load(model.parameters), std::vector<float>(100));
  std::ranges::fill(floats(model.parameters), 0.0f);
  EXPECT_EQ(model.backend->load(model.parameters), model.values) << "they are on the device";
  model.attach();
  EXPECT_EQ(model.backend->load(model.parameters), model.values);
  EXPECT_EQ(floats(model.parameters)[7], 7.0f) << "they are on the host";
}

TEST(OffloadBackend, CopiesGoWhereTheyAreTold) {
  OffloadedBuffers model({.memory_bytes = 4096});
  model.place(Site::host);
  const std::span<float> on_device =
      model.backend->device().on_device({3}, floats(model.parameters));
  EXPECT_NE(on_device.data(), floats(model.parameters).data());
  EXPECT_TRUE(std::isnan(on_device[7]));
  model.backend->device().copy_to_device({3});
  EXPECT_EQ(on_device[7], 7.0f);
  on_device[7] = -7;
  EXPECT_EQ(floats(model.parameters)[7], 7.0f);
  model.backend->device().copy_to_host({3});
  EXPECT_EQ(floats(model.parameters)[7], -7.0f);
}

TEST(OffloadBackend, ACollectiveOfOtherDataIsWhereItWas) {
  OffloadedBuffers model({.memory_bytes = 4096});
  model.place(Site::host);
  std::vector<float> others(2);
  EXPECT_EQ(model.backend->device().on_device({0}, others).data(), others.data());
  EXPECT_EQ(model.backend->device().on_device({900}, others).data(), others.data());
}

TEST(OffloadBackend, CopiesTakeAsLongAsTheLink) {
  OffloadedBuffers model(
      {.memory_bytes = 4096, .link = LinkSpec{.bytes_per_second = 1e8, .latency_ns = 50}});
  model.place(Site::host);
  EXPECT_EQ(model.clock.now_ns(), 1000);
  model.backend->device().copy_to_device({3});
  EXPECT_EQ(model.clock.now_ns(), 1000 + 4000 + 50);
  model.backend->device().copy_to_host({4});
  EXPECT_EQ(model.clock.now_ns(), 1000 + 2 * (4000 + 50));
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

TEST(OffloadBackend, TheDeviceHasWholeUnits) {
  const SleptClock clock;
  const auto backend = OffloadBackend::create({.memory_bytes = 1000}, clock).value();
  EXPECT_EQ(backend->device().device_memory_bytes(), 768);
  const auto huge = OffloadBackend::create({.memory_bytes = std::int64_t{1} << 60}, clock);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, ErrorCode::unavailable);
}

TEST(DeviceArenaDeathTest, NothingIsBehindIt) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  for (const std::int64_t bytes : {256, 4096, 4352}) {
    const DeviceArena arena = DeviceArena::create(bytes).value();
    const std::span<float> all = arena.floats(0, static_cast<std::size_t>(bytes) / sizeof(float));
    all.front() = all.back() = 1;
    EXPECT_EQ(all.back(), 1);
    volatile float* const behind = all.data() + all.size();
    EXPECT_DEATH(*behind = 1, "");
    EXPECT_DEATH((void)arena.floats(bytes - 4, 2), "a range of the device");
  }
}

}  // namespace
}  // namespace hocket
