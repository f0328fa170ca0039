#include "profiler/cupti/level.h"

#include <cupti.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

TEST(CuptiLevel, HasTheLevelBelowInIt) {
  const auto l0 = activity_kinds(CuptiLevel::l0), l1 = activity_kinds(CuptiLevel::l1),
             l2 = activity_kinds(CuptiLevel::l2);
  EXPECT_THAT(l1, IsSupersetOf(l0));
  EXPECT_THAT(l2, IsSupersetOf(l1));
  EXPECT_LT(l0.size(), l1.size());
  EXPECT_LT(l1.size(), l2.size());
}

TEST(CuptiLevel, NeverAsksForTheKindThatSerialisesKernels) {
  for (const CuptiLevel level : {CuptiLevel::l0, CuptiLevel::l1, CuptiLevel::l2}) {
    EXPECT_THAT(activity_kinds(level), Not(Contains(CUPTI_ACTIVITY_KIND_KERNEL)));
    EXPECT_THAT(activity_kinds(level), Contains(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    for (const std::uint32_t kind : activity_kinds(level)) {
      EXPECT_NE(activity_kind_name(kind), activity_kind_name(0)) << kind;
    }
  }
}

TEST(CuptiLevel, ReadsWhatItWrites) {
  for (const CuptiLevel level : {CuptiLevel::l0, CuptiLevel::l1, CuptiLevel::l2}) {
    EXPECT_EQ(cupti_level(to_string(level)).value(), level);
  }
  EXPECT_EQ(cupti_level("l1").value(), CuptiLevel::l1);
  const auto wrong = cupti_level("L3");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("\"L3\", allowed are L0, L1 and L2"));
}

}  // namespace
}  // namespace hocket
