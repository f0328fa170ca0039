#include "cli/inputs/config/schedule_preset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/step/hidden_knob.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SchedulePreset, IsAValidConfigurationInWhichNoKnobHidesAnother) {
  for (const SchedulePreset& preset : schedule_presets()) {
    SCOPED_TRACE(preset.name);
    const auto ok = validate(preset.config);
    EXPECT_TRUE(ok) << ok.error().message;
    for (const HiddenKnob& hidden : hidden_knobs(preset.config)) ADD_FAILURE() << hidden.text;
    EXPECT_EQ(find_preset(preset.name), &preset);
    EXPECT_EQ(std::ranges::count(schedule_presets(), preset.name, &SchedulePreset::name), 1);
    EXPECT_FALSE(preset.title.empty());
    EXPECT_FALSE(preset.meaning.empty());
  }
}

TEST(SchedulePreset, IsWhatTheFrameworkDocuments) {
  const ScheduleConfig& ddp = find_preset("ddp")->config;
  EXPECT_EQ(ddp.bucket_bytes, 25 << 20);
  EXPECT_GE(ddp.partition_bytes, ddp.bucket_bytes);
  EXPECT_EQ(ddp.order, CollectiveOrder::fifo);
  EXPECT_EQ(ddp.comm_channels, 1);
  EXPECT_EQ(find_preset("horovod")->config.bucket_bytes, 128 << 20);
  const ScheduleConfig& fsdp = find_preset("fsdp")->config;
  EXPECT_EQ(fsdp.primitive, CollectivePrimitive::reduce_scatter_all_gather);
  EXPECT_EQ(fsdp.launch, CollectiveLaunch::deferred);
  EXPECT_EQ(find_preset("hocket")->config, ScheduleConfig{});
}

TEST(SchedulePreset, SaysWhatTheFrameworkDoesOtherwise) {
  for (const char* name : {"ddp", "horovod", "fsdp"})
    EXPECT_FALSE(find_preset(name)->differences.empty()) << name;
  EXPECT_TRUE(find_preset("hocket")->differences.empty());
}

TEST(SchedulePreset, UnknownOnesAreAnsweredWithTheNearestAndAll) {
  EXPECT_EQ(find_preset("dpp"), nullptr);
  const std::string message = unknown_preset("dpp").message;
  EXPECT_THAT(message,
              HasSubstr("no preset is named \"dpp\"; the nearest is ddp; there are ddp ("));
  for (const SchedulePreset& preset : schedule_presets())
    EXPECT_THAT(message, HasSubstr(std::string(preset.name) + " ("));
}

TEST(SchedulePreset, AreFoundByWhatTheirMeaningNames) {
  for (const char* name : {"pytorch", "PyTorch", "torch"})
    EXPECT_THAT(unknown_preset(name).message, HasSubstr("; the nearest are ddp and fsdp; there"));
  EXPECT_THAT(unknown_preset("DistributedDataParallel").message, HasSubstr("the nearest is ddp;"));
  EXPECT_THAT(unknown_preset("horovdo").message, HasSubstr("the nearest is horovod;"));
}

}  // namespace
}  // namespace hocket
