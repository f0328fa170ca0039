#include "core/step/task_body.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace hocket {
namespace {

TEST(TaskBody, SmallAndLargeCallablesSurviveMovesAndAreDestroyedOnce) {
  const auto shared = std::make_shared<int>(0);
  const std::array<char, 100> ballast{};
  for (const bool large : {false, true}) {
    {
      TaskBody body = large ? TaskBody([shared, ballast] { *shared += 1 + ballast[0]; })
                            : TaskBody([shared] { ++*shared; });
      TaskBody moved = std::move(body);
      EXPECT_FALSE(body);  // NOLINT(bugprone-use-after-move): emptied by the move
      body = std::move(moved);
      body();
      EXPECT_EQ(shared.use_count(), 2);
    }
    EXPECT_EQ(shared.use_count(), 1);
  }
  EXPECT_EQ(*shared, 2);
}

TEST(TaskBodyDeathTest, AnEmptyBodyMustNotRun) {
  TaskBody empty;
  EXPECT_DEATH(empty(), "empty task body");
}

}  // namespace
}  // namespace hocket
