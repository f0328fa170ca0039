#include "cli/inputs/config/knob_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ScheduleConfig with(const std::string& assignment) {
  ScheduleConfig config;
  const auto ok = set_knob(config, assignment);
  EXPECT_TRUE(ok) << ok.error().message;
  return config;
}

std::string refusal(const std::string& assignment) {
  ScheduleConfig config;
  const auto ok = set_knob(config, assignment);
  EXPECT_FALSE(ok) << assignment;
  EXPECT_EQ(config, ScheduleConfig());
  return ok ? "" : ok.error().message;
}

TEST(KnobText, SetsEachKnob) {
  EXPECT_EQ(with("partition_bytes=256KiB").partition_bytes, 256 << 10);
  EXPECT_EQ(with("partition_bytes=65536").partition_bytes, 65536);
  EXPECT_EQ(with("credit_bytes=1MB").credit_bytes, 1'000'000);
  EXPECT_EQ(with("streams=4").streams, 4);
  EXPECT_EQ(with("comm_channels=2").comm_channels, 2);
  EXPECT_EQ(with("order=static").order, CollectiveOrder::static_order);
  EXPECT_EQ(with("order=priority").order, CollectiveOrder::negotiated);
}

TEST(KnobText, SetsKnobsOfTheJobsOwn) {
  EXPECT_EQ(with("job.cap_bytes=8MiB").job.at("cap_bytes"), JobValue(std::int64_t{8} << 20));
  EXPECT_EQ(with("job.crossing=off").job.at("crossing"), JobValue("off"));
  EXPECT_THAT(refusal("job.Cap=8"), HasSubstr("no knob is named"));
  // A framework's name for one of the scheduler's knobs does not stand for it here.
  EXPECT_EQ(with("job.bucket_cap_mb=8").job.at("bucket_cap_mb"), JobValue(std::int64_t{8}));
}

TEST(KnobText, NamesTheKnobAndItsRange) {
  EXPECT_THAT(refusal("streams=65"), AllOf(HasSubstr("streams"), HasSubstr("from 1 to 64")));
  EXPECT_THAT(refusal("credit_bytes=4KB"),
              AllOf(HasSubstr("credit_bytes"), HasSubstr("from 4096 to")));
  EXPECT_THAT(refusal("partition_bytes=lots"), HasSubstr("partition_bytes"));
  EXPECT_THAT(refusal("partition_bytes=-1"), HasSubstr("partition_bytes"));
  EXPECT_THAT(refusal("partition_bytes="), HasSubstr("partition_bytes"));
  EXPECT_THAT(refusal("streams=99999999999999999999"), HasSubstr("from 1 to 64"));
  EXPECT_THAT(refusal("order=random"), AllOf(HasSubstr("order"), HasSubstr("negotiated")));
  EXPECT_THAT(refusal("streams"), HasSubstr("KNOB=VALUE"));
}

TEST(KnobText, NamesTheNearestKnob) {
  EXPECT_THAT(refusal("credits_byte=1"), HasSubstr("the nearest is credit_bytes"));
  EXPECT_THAT(refusal("stream=1"), HasSubstr("the nearest is streams"));
  EXPECT_THAT(refusal("Order=fifo"), HasSubstr("the nearest is order"));
}

TEST(KnobText, UnderstandsNamesOfFrameworks) {
  EXPECT_EQ(with("bucket_cap_mb=25").bucket_bytes, 25 << 20);
  EXPECT_EQ(with("bucket_cap_mb=0.5").bucket_bytes, 1 << 19);
  EXPECT_EQ(with("bucket_cap_mb=0").bucket_bytes, 0);
  EXPECT_EQ(with("HOROVOD_FUSION_THRESHOLD=134217728").bucket_bytes, 128 << 20);
  EXPECT_EQ(with("HOROVOD_FUSION_THRESHOLD=64MiB").bucket_bytes, 64 << 20);
  EXPECT_EQ(with("--fusion-threshold-mb=32").bucket_bytes, 32 << 20);
  EXPECT_EQ(with("BYTEPS_PARTITION_BYTES=4096000").partition_bytes, 4'096'000);
  EXPECT_EQ(with("HOROVOD_NUM_NCCL_STREAMS=2").comm_channels, 2);
}

TEST(KnobText, RefusesValuesOfFrameworksThatDoNotFit) {
  for (const char* value : {"", "4MiB", "-1", "1e300", "nan", "inf", "25 "}) {
    EXPECT_THAT(refusal("bucket_cap_mb=" + std::string(value)),
                AllOf(HasSubstr("knob bucket_cap_mb: expected a plain number, as DDP counts MiB"),
                      HasSubstr("or set bucket_bytes")))
        << value;
  }
  EXPECT_THAT(refusal("bucket_cap_mb=4096"), AllOf(HasSubstr("bucket_bytes"), HasSubstr("from 0")));
  EXPECT_THAT(refusal("reduce_bucket_size=5e8"), HasSubstr("DeepSpeed calls it"));
  EXPECT_THAT(refusal("HOROVOD_CYCLE_TIME=5"), HasSubstr("has no knob here"));
}

TEST(KnobText, ReadsSweeps) {
  const auto sweep = parse_knob_sweep("partition_bytes=1MiB,65536");
  ASSERT_TRUE(sweep);
  EXPECT_EQ(sweep->name, "partition_bytes");
  EXPECT_THAT(sweep->values, ElementsAre("1MiB", "65536"));
  for (const char* text : {"", "streams", "streams=", "streams=1,", "streams=1,99", "stream=1"}) {
    EXPECT_FALSE(parse_knob_sweep(text)) << text;
  }
}

TEST(KnobText, CombinesSweeps) {
  const std::vector<KnobSweep> sweeps = {{"streams", {"1", "2"}}, {"order", {"fifo", "static"}}};
  const auto all = sweep_combinations(sweeps);
  ASSERT_TRUE(all);
  EXPECT_THAT(*all, ElementsAre(ElementsAre("1", "fifo"), ElementsAre("1", "static"),
                                ElementsAre("2", "fifo"), ElementsAre("2", "static")));
  EXPECT_EQ(sweep_combinations({})->size(), 1U);

  const std::vector<std::string> many(400, "1");
  EXPECT_FALSE(
      sweep_combinations(std::vector<KnobSweep>{{"streams", many}, {"comm_channels", many}}));
  EXPECT_FALSE(sweep_combinations(std::vector<KnobSweep>{{"streams", {"1"}}, {"streams", {"2"}}}));
  EXPECT_FALSE(sweep_combinations(
      std::vector<KnobSweep>{{"bucket_bytes", {"1"}}, {"bucket_cap_mb", {"2"}}}));
}

}  // namespace
}  // namespace hocket
