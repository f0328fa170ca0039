#include "tuner/space/torch_knobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/space/job_value.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_in(std::string_view set) {
  std::vector<std::string> names;
  const auto parameters = torch_parameters(set).value();
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  return names;
}

TEST(TorchKnobs, AreParametersWhoseDefaultIsTheProgramsOwn) {
  const auto all = torch_parameters("torch").value();
  ASSERT_EQ(all.size(), 4u);
  for (const Parameter& parameter : all) {
    const auto ok = validate(parameter);
    EXPECT_TRUE(ok) << ok.error().message;
    EXPECT_TRUE(is_unset(parameter.default_value)) << parameter.name;
    EXPECT_TRUE(is_torch_knob(parameter.name));
  }
}

TEST(TorchKnobs, HaveSetsOfWhatOneKindOfJobTakes) {
  EXPECT_THAT(names_in("torch:ddp"), ElementsAre("HOCKET_TORCH_BUCKET_CAP_MB"));
  EXPECT_THAT(names_in("torch:compile"), ElementsAre("HOCKET_TORCH_OPTIMIZE_DDP"));
  EXPECT_THAT(names_in("torch:inductor"),
              ElementsAre("HOCKET_TORCH_REORDER_OVERLAP", "HOCKET_TORCH_BUCKET_COLLECTIVES_MB"));
}

TEST(TorchKnobs, OtherSetsAndNamesAreRefused) {
  for (const char* set : {"", "nccl", "torch:", "torch:ddp,compile", "torch:dd\x1b[2J"}) {
    const auto none = torch_parameters(set);
    ASSERT_FALSE(none) << set;
    EXPECT_THAT(none.error().message, HasSubstr("torch:inductor, found \""));
    EXPECT_EQ(none.error().message.find('\x1b'), std::string::npos);
  }
  EXPECT_FALSE(is_torch_knob("HOCKET_TORCH"));
  EXPECT_FALSE(is_torch_knob("HOCKET_TORCH_BUCKET_CAP_MB2"));
}

}  // namespace
}  // namespace hocket
