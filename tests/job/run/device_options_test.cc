#include "job/run/device_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hocket {
namespace {

using testing::HasSubstr;

std::string refusal(const DeviceOptions& options, const RunOptions& run = {},
                    const NetworkOptions& network = {}) {
  const auto ok = validate(options, run, network);
  return ok ? "" : ok.error().message;
}

TEST(DeviceOptions, AnEmulatedDeviceIsReadAndWritten) {
  const auto device = parse_emulated_device("emulated:64MiB,link=2gbit,50us");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->memory_bytes, 64 << 20);
  ASSERT_TRUE(device->link);
  EXPECT_EQ(device->link->latency_ns, 50'000);
  EXPECT_EQ(to_string(*device), "emulated:64MiB,link=2gbit,50us");
  EXPECT_EQ(to_string(parse_emulated_device("emulated:65536").value()), "emulated:64KiB");
  for (const char* wrong : {"emulated", "emulated:", "emulated:12", "emulated:1MiB,rate=2gbit",
                            "emulated:1MiB,link=", "emulated:x", "emulated:1000000TiB"}) {
    const auto refused = parse_emulated_device(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_THAT(refused.error().message, HasSubstr(std::string(kEmulatedDeviceForm)));
  }
}

TEST(DeviceOptions, OffloadKIsConfiguredMeasuredOrGiven) {
  EXPECT_EQ(parse_offload_k("").value(), OffloadK{});
  EXPECT_EQ(parse_offload_k("configured").value(), OffloadK{});
  EXPECT_EQ(parse_offload_k("auto")->source, OffloadK::Source::measured);
  EXPECT_EQ(parse_offload_k("3").value(),
            (OffloadK{.source = OffloadK::Source::given, .layers = 3}));
  for (const char* wrong : {"-1", "3x", "all", "100000000", "99999999999999999999"})
    EXPECT_FALSE(parse_offload_k(wrong)) << wrong;
}

TEST(DeviceOptions, OnlyADeviceOfLimitedMemoryIsPlacedOn) {
  EXPECT_FALSE(is_placed({}));
  EXPECT_TRUE(is_placed({.device = "emulated:1MiB"}));
  EXPECT_FALSE(is_placed({.device = "cuda", .memory_limit_bytes = 1 << 20}));
  EXPECT_TRUE(is_placed({.device = "cuda:1", .offload_k = "1", .memory_limit_bytes = 1 << 20}));
  EXPECT_TRUE(is_on_cuda({.device = "cuda:1"}));
  EXPECT_FALSE(is_on_cuda({}));
}

TEST(DeviceOptions, SaysWhatToAddOrLeaveOut) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.device = "emulated:1MiB", .offload_k = "2"}), "");
  EXPECT_THAT(refusal({.offload_k = "2"}), HasSubstr("add --device emulated:"));
  EXPECT_THAT(refusal({.device = "cuda", .offload_k = "2"}), HasSubstr("add --memory-limit"));
  EXPECT_THAT(refusal({.device = "emulated:x"}), HasSubstr("expected emulated:SIZE"));
  const DeviceOptions measured{.device = "emulated:1MiB", .offload_k = "auto"};
  EXPECT_EQ(refusal(measured, {.steps = 8}), "");
  EXPECT_THAT(refusal(measured, {.steps = 7}), HasSubstr("ask for at least 8"));
  EXPECT_THAT(refusal(measured, {.steps = 11, .warmup = 10}), HasSubstr("ask for at least 12"));
  EXPECT_THAT(refusal(measured, {.profile = "step.json"}), HasSubstr("leave it out"));
  EXPECT_THAT(refusal({.device = "cuda"}, {}, {.link = "1gbit"}), HasSubstr("--link: devices"));
  EXPECT_THAT(refusal({.device = "cuda"}, {.record = "run.tape"}), HasSubstr("--record"));
}

}  // namespace
}  // namespace hocket
