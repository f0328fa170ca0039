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

TEST(NearestName, IsByTheMeaningWhereNoNameIsNear) {
  const KnownName names[] = {{"ddp", "PyTorch's way: buckets"},
                             {"pile", "anything else"},
                             {"fsdp", "of PyTorch, too"},
                             {"last", "also in buckets"}};
  const auto nearest = [&](std::string_view name) {
    const std::string text = nearest_and_all(name, names);
    return text.substr(0, text.find(';'));
  };
  EXPECT_EQ(nearest("pytorch"), "the nearest are ddp and fsdp");
  EXPECT_EQ(nearest("buckets"), "the nearest are ddp and last");
  EXPECT_EQ(nearest("anything"), "the nearest is pile");
  EXPECT_EQ(nearest("fsdq"), "the nearest is fsdp");
  EXPECT_EQ(nearest("else"), "the nearest is pile");
  EXPECT_EQ(nearest("a"), "the nearest is ddp") << "single letters occur everywhere";
  EXPECT_EQ(nearest(std::string(100'000, 'p')), nearest("ppppppppppppppp"));
}

TEST(NearestName, MayBeANameThatIsKnownElsewhere) {
  const KnownName names[] = {{"order", "what comes first"}};
  const KnownName elsewhere[] = {{"SEQUENCE", "order, to others"}};
  EXPECT_EQ(nearest_and_all("sequense", names, elsewhere),
            "the nearest is SEQUENCE (order, to others); there are order (what comes first)");
  EXPECT_EQ(nearest_and_all("odrer", names, elsewhere),
            "the nearest is order; there are order (what comes first)");
}

}  // namespace
}  // namespace hocket
