#include "core/plan/server_assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/collective/collective_parts.h"

namespace hocket {
namespace {

TEST(ServerAssignment, SharesBytesEvenlyAndRemembersData) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto servers = static_cast<int>(1 + random() % 5);
    ServerAssignment assignment;
    assignment.resize(servers);
    const auto partition = static_cast<std::int64_t>(4096 << random() % 12);
    std::vector<int> first;
    std::int64_t largest_part = 0;
    std::vector<std::int64_t> sizes(1 + random() % 60);
    for (std::int64_t& bytes : sizes)
      bytes = static_cast<std::int64_t>(1 + random() % (std::uint64_t{4} << random() % 22));
    const auto begin = [&](std::uint32_t data) {
      const std::int64_t bytes = sizes[data];
      const std::int64_t each = part_bytes(bytes, assignment.partition_bytes(bytes, partition));
      EXPECT_LE(each, std::max(partition, kPartAlignmentBytes));
      if (bytes >= kDividedCollectiveBytes) {
        EXPECT_GE((bytes + each - 1) / each, servers);
        if (partition >= bytes) {
          EXPECT_EQ((bytes + each - 1) / each, servers) << "and no more without need";
        }
      }
      largest_part = std::max(largest_part, std::min(each, bytes));
      const Access access = update({data});
      return assignment.first_server({&access, 1}, bytes, each);
    };
    for (std::uint32_t data = 0; data < sizes.size(); ++data) first.push_back(begin(data));
    const auto [least, most] = std::ranges::minmax(assignment.load_bytes());
    EXPECT_LE(most - least, servers * largest_part);
    const std::vector<std::int64_t> loads(assignment.load_bytes().begin(),
                                          assignment.load_bytes().end());
    for (std::uint32_t data = 0; data < sizes.size(); ++data) EXPECT_EQ(begin(data), first[data]);
    EXPECT_TRUE(std::ranges::equal(assignment.load_bytes(), loads)) << "known data add nothing";
  }
}

}  // namespace
}  // namespace hocket
