#include "client/link/backoff.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(Backoff, DoublesUpToItsLimitAndBeginsAnewAfterASuccess) {
  double draw = 0.5;
  Backoff backoff({.first_ns = 200, .most_ns = 1000}, [&] { return draw; });
  for (const std::int64_t expected : {100, 200, 400, 500, 500})
    EXPECT_EQ(backoff.next_ns(), expected);
  backoff.reset();
  draw = 0;
  EXPECT_EQ(backoff.next_ns(), 0);
  draw = 0.999;
  EXPECT_EQ(backoff.next_ns(), 399);
}

TEST(Backoff, NeverExceedsItsLimitHoweverOftenItFails) {
  Backoff backoff({.first_ns = 3, .most_ns = INT64_MAX / 2}, [] { return 0.75; });
  for (int i = 0; i < 200; ++i) {
    const std::int64_t wait_ns = backoff.next_ns();
    ASSERT_GE(wait_ns, 2);
    ASSERT_LE(wait_ns, INT64_MAX / 2);
  }
}

}  // namespace
}  // namespace hocket
