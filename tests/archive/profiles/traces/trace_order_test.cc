#include "archive/profiles/traces/trace_order.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(TraceOrder, FollowsTheValuesOfNumbers) {
  EXPECT_TRUE(is_name_before("rank2.json", "rank10.json"));
  EXPECT_FALSE(is_name_before("rank10.json", "rank2.json"));
  EXPECT_TRUE(is_name_before("a", "b"));
  EXPECT_FALSE(is_name_before("a", "a"));
}

TEST(TraceOrder, RanksAreThoseThatNamesSay) {
  const auto ranks = [](const std::vector<std::string>& paths) {
    return ranks_of_paths(paths).ranks;
  };
  using Ranks = std::vector<std::int64_t>;
  EXPECT_EQ(ranks({"rank0.json", "rank1.json", "rank10.json", "rank2.json"}), (Ranks{0, 1, 10, 2}));
  EXPECT_EQ(ranks({"job7_Rank-03.trace", "job7_Rank-01.trace"}), (Ranks{3, 1}));
  EXPECT_EQ(ranks({"x/r1.json", "x/r0.json"}), (Ranks{1, 0}));
  EXPECT_EQ(ranks({"rank1/of8.json", "rank0/of9.json"}), (Ranks{0, 1})) << "folders say nothing";
  EXPECT_EQ(ranks({"trace.2.json", "trace.0.json", "trace.1.json"}), (Ranks{2, 0, 1}));
}

TEST(TraceOrder, OtherNumbersOnlyGiveAnOrder) {
  const auto expect = [](const std::vector<std::string>& paths,
                         const std::vector<std::int64_t>& ranks) {
    const NumberedPaths numbered = ranks_of_paths(paths);
    EXPECT_EQ(numbered.ranks, ranks);
    EXPECT_FALSE(numbered.are_said);
  };
  expect({"host_10342.pt.json", "host_9876.pt.json"}, {1, 0});
  expect({"b.json", "a.json"}, {1, 0});
  expect({"rank1-a.json", "rank1-b.json"}, {0, 1});
  expect({"step3.json", "step1.json", "step2.json"}, {2, 0, 1});
  expect({"two.sqlite", "two.sqlite", "one.sqlite"}, {1, 2, 0});
  expect({"rank99999999999999999999.json", "rank1.json"}, {1, 0});
}

}  // namespace
}  // namespace hocket
