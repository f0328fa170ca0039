#include "core/plan/credit_window.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(CreditWindow, AdmitsWhatFitsIntoTheRest) {
  CreditWindow window;
  window.resize(10);
  EXPECT_TRUE(window.admits(6));
  window.take(6);
  EXPECT_TRUE(window.admits(4));
  EXPECT_FALSE(window.admits(5));
  window.give_back(6);
  EXPECT_TRUE(window.admits(10));
  EXPECT_EQ(window.in_flight_bytes(), 0);
}

TEST(CreditWindow, AdmitsAPartLargerThanItselfAlone) {
  CreditWindow window;
  window.resize(10);
  EXPECT_TRUE(window.admits(11));
  window.take(11);
  EXPECT_FALSE(window.admits(1));
  EXPECT_EQ(window.parts_in_flight(), 1);
}

TEST(CreditWindow, AdmitsNothingUntilThereIsRoomAfterItShrank) {
  CreditWindow window;
  window.resize(10);
  window.take(4);
  window.take(4);
  window.resize(5);
  EXPECT_FALSE(window.admits(1));
  window.give_back(4);
  EXPECT_TRUE(window.admits(1));
  EXPECT_FALSE(window.admits(2));
}

TEST(CreditWindowDeathTest, RefusesCreditThatNobodyTook) {
  CreditWindow window;
  EXPECT_DEATH(window.give_back(1), "more parts finished than started");
}

}  // namespace
}  // namespace hocket
