#include "job/run/job_profile.h"

#include <gtest/gtest.h>

#include <string>

namespace hocket {
namespace {

TEST(ProfileSpan, IsReadFromTheVariable) {
  const auto span = parse_profile_span("at=100,iterations=20,interleave=5");
  ASSERT_TRUE(span) << span.error().message;
  EXPECT_EQ(span->first_step, 100);
  EXPECT_EQ(span->steps, 20);
  EXPECT_EQ(span->interleave, 5);
  EXPECT_EQ(parse_profile_span("at=0")->steps, 10);
  for (const char* wrong : {"", "iterations=3", "at", "at=", "at=x", "at=3x", "at=-1",
                            "at=3,from=4", "at=3,,iterations=4"})
    EXPECT_FALSE(parse_profile_span(wrong)) << wrong;
}

}  // namespace
}  // namespace hocket
