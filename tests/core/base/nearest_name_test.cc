#include "core/base/nearest_name.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(NearestName, DistanceCountsWhatIsInsertedRemovedAndChanged) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("streams", "stream"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(NearestName, IsTheFirstOfTheNearest) {
  const std::vector<std::string> names{"forward_layer1", "forward_layer2", "backward_layer1"};
  EXPECT_EQ(nearest_name("forward_layer3", names), "forward_layer1");
  EXPECT_EQ(nearest_name("backwrd_layer1", names), "backward_layer1");
  EXPECT_EQ(nearest_name("x", std::vector<std::string>{}), "");
}

TEST(NearestName, IsOnlyAskedForWhenItIsNear) {
  const std::vector<std::string> names{"streams"};
  EXPECT_EQ(did_you_mean("stream", names), "; did you mean \"streams\"");
  EXPECT_EQ(did_you_mean("priority", names), "");
  EXPECT_EQ(did_you_mean(std::string(100'000, 's'), names), "");
}

TEST(NearestName, IsFollowedByAllAndTheirMeaning) {
  const KnownName names[] = {{"order", "what comes first"}, {"streams", "computations at once"}};
  EXPECT_EQ(nearest_and_all("stream", names),
            "the nearest is streams; there are order (what comes first), streams (computations at "
            "once)");
}

}  // namespace
}  // namespace hocket
