#include "core/step/framework_knob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/step/knob.h"
#include "core/step/schedule_config.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(FrameworkKnob, NamesKnobsThatAreThereAndConvertsOnlyToThem) {
  for (const FrameworkKnob& each : framework_knobs()) {
    SCOPED_TRACE(each.name);
    EXPECT_FALSE(each.remark.empty());
    EXPECT_EQ(find_knob(each.name), nullptr);
    EXPECT_EQ(find_framework_knob(each.name), &each);
    EXPECT_EQ(std::ranges::count(framework_knobs(), each.name, &FrameworkKnob::name), 1);
    if (each.knob.empty()) {
      EXPECT_EQ(each.unit, 0);
    } else {
      ASSERT_NE(find_knob(each.knob), nullptr);
      EXPECT_TRUE(find_knob(each.knob)->choices.empty());
    }
  }
}

TEST(FrameworkKnob, IsFoundAsPeopleWriteIt) {
  const FrameworkKnob* const threshold = find_framework_knob("HOROVOD_FUSION_THRESHOLD");
  ASSERT_NE(threshold, nullptr);
  EXPECT_EQ(find_framework_knob("horovod_fusion_threshold"), threshold);
  EXPECT_EQ(find_framework_knob("--fusion-threshold-mb"),
            find_framework_knob("fusion_threshold_mb"));
  for (const char* other : {"", "-", "--", "bucket", "bucket_cap_mb ", "partition_bytes"})
    EXPECT_EQ(find_framework_knob(other), nullptr) << other;
}

TEST(FrameworkKnob, IsTheAnswerToAnUnknownKnobOfThatName) {
  EXPECT_EQ(unknown_knob("bucket_cap_mb").message,
            "no knob is named \"bucket_cap_mb\"; hocket's knob is bucket_bytes, DDP calls it "
            "bucket_cap_mb and counts MiB");
  EXPECT_THAT(unknown_knob("regions.a.bucket_cap_mb").message,
              AllOf(HasSubstr("regions have no knob"), HasSubstr("DDP calls it")));
  EXPECT_THAT(unknown_knob("HOROVOD_CYCLE_TIME").message,
              AllOf(HasSubstr("Horovod's HOROVOD_CYCLE_TIME has no knob here"),
                    Not(HasSubstr("the nearest"))));
}

TEST(FrameworkKnob, IsTheNearestToAMisspellingOfItsName) {
  EXPECT_THAT(unknown_knob("bucket_cap_mv").message,
              HasSubstr("the nearest is bucket_cap_mb (hocket's knob is bucket_bytes, DDP calls it "
                        "bucket_cap_mb and counts MiB); there are partition_bytes (most"));
  for (const FrameworkKnob& other : framework_knobs()) {
    const std::string name(other.name);
    EXPECT_THAT(unknown_knob(name + "x").message,
                HasSubstr("the nearest is " + name + " (" + in_own_words(other) + ")"));
  }
  EXPECT_THAT(unknown_knob("horovod_fusion_treshold").message,
              HasSubstr("the nearest is HOROVOD_FUSION_THRESHOLD ("));
  EXPECT_THAT(unknown_knob("regions.a.bucket_cap_mv").message,
              HasSubstr("the nearest is bucket_cap_mb ("));
}

TEST(FrameworkKnob, AnyOtherUnknownKnobIsAnsweredWithTheNearestAndWithAllAndTheirMeaning) {
  const std::string message = unknown_knob("bucket_byte").message;
  EXPECT_THAT(message, HasSubstr("the nearest is bucket_bytes; there are partition_bytes (most"));
  for (const Knob& knob : schedule_knobs()) {
    ASSERT_FALSE(knob.meaning.empty()) << knob.name;
    EXPECT_THAT(message,
                HasSubstr(std::string(knob.name) + " (" + std::string(knob.meaning) + ")"));
  }
  const std::string of_region = unknown_knob("regions.a.priorty").message;
  EXPECT_THAT(of_region, HasSubstr("the nearest is priority"));
  for (const Knob& knob : region_knobs()) {
    EXPECT_THAT(of_region,
                HasSubstr(std::string(knob.name) + " (" + std::string(knob.meaning) + ")"));
  }
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(FrameworkKnob, InADocumentIsWarnedOfByItsKnob) {
  std::vector<std::string> warnings;
  ASSERT_TRUE(parse_schedule_config(
      R"({"format":"hocket-schedule","version":1,"bucket_cap_mb":25})", &warnings));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], AllOf(HasSubstr("has no effect; hocket's knob is bucket_bytes"),
                                 HasSubstr("counts MiB")));
}

}  // namespace
}  // namespace hocket
