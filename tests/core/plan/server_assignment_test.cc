#include "core/plan/server_assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "core/collective/part_sizes.h"

namespace hocket {
namespace {

std::vector<PartCursor::Part> parts_of(PartCursor cursor) {
  std::vector<PartCursor::Part> parts;
  while (cursor.left() > 0) {
    parts.push_back(cursor.next());
    cursor.advance();
  }
  return parts;
}

TEST(ServerAssignment, SharesBytesEvenlyAndRemembersData) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto servers = static_cast<int>(1 + random() % 5);
    ServerAssignment assignment;
    assignment.resize(servers);
    std::vector<std::int64_t> sizes(1 + random() % 60);
    for (std::int64_t& bytes : sizes)
      bytes = static_cast<std::int64_t>(1 + random() % (std::uint64_t{4} << random() % 24));
    const auto place = [&](std::uint32_t data) {
      const Access access = update({data});
      return assignment.place({&access, 1}, sizes[data]);
    };
    std::vector<ServerAssignment::Place> places;
    std::vector<std::int64_t> loads(static_cast<std::size_t>(servers));
    const auto expect_least = [&](int server) {
      EXPECT_EQ(loads[static_cast<std::size_t>(server)], std::ranges::min(loads));
    };
    for (std::uint32_t data = 0; data < sizes.size(); ++data) {
      places.push_back(place(data));
      EXPECT_EQ(places.back().tensor, data) << "data are counted as collectives come";
      expect_least(places.back().first_server);
      const std::int64_t each = assignment.slice_bytes(sizes[data]);
      auto server = static_cast<std::size_t>(places.back().first_server);
      for (std::int64_t begin = 0; begin < sizes[data]; begin += each) {
        loads[server] += std::min(each, sizes[data] - begin);
        server = (server + 1) % loads.size();
      }
      const std::int64_t slices = (sizes[data] + each - 1) / each;
      EXPECT_EQ(slices, sizes[data] < kDividedCollectiveBytes ? 1 : servers);
    }
    for (std::uint32_t data = 0; data < sizes.size(); ++data) {
      EXPECT_EQ(place(data).tensor, places[data].tensor);
      EXPECT_EQ(place(data).first_server, places[data].first_server);
    }
    // Known data have added nothing.
    expect_least(assignment.place({}, 1).first_server);
  }
}

TEST(PartCursor, CoversACollectiveAndLetsItsSlicesTakeTurns) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto bytes = static_cast<std::int64_t>(random() % 20'000);
    const auto slice_bytes = static_cast<std::int64_t>(64 * (1 + random() % 100));
    const auto partition_bytes = static_cast<std::int64_t>(1 + random() % 2'000);
    const auto parts = parts_of({bytes, slice_bytes, partition_bytes});
    ASSERT_EQ(static_cast<std::int64_t>(parts.size()),
              PartCursor(bytes, slice_bytes, partition_bytes).left());
    std::map<std::int64_t, std::int64_t> end_of;  // by slice
    std::int64_t most_of_slice = 0, covered = 0;
    std::map<std::int64_t, std::int64_t> count_of;
    for (const PartCursor::Part& part : parts) {
      const std::int64_t begin = part.slice * slice_bytes;
      EXPECT_EQ(part.offset_bytes, end_of.try_emplace(part.slice, begin).first->second)
          << "parts of a slice start in order";
      end_of[part.slice] = part.offset_bytes + part.bytes;
      EXPECT_LE(end_of[part.slice], std::min(begin + slice_bytes, bytes));
      EXPECT_LE(part.bytes, std::max(partition_bytes, kPartAlignmentBytes));
      EXPECT_TRUE(part.bytes > 0 || bytes == 0);
      covered += part.bytes;
      const std::int64_t count = ++count_of[part.slice];
      EXPECT_TRUE(count == most_of_slice || count == most_of_slice + 1) << "slices take turns";
      most_of_slice = std::max(most_of_slice, count);
    }
    EXPECT_EQ(covered, bytes);
  }
}

TEST(PartCursor, WithoutSlicesHasThePartsThatPartBytesSays) {
  for (const std::int64_t bytes : {0, 1, 64, 100, 128, 1000, 4096}) {
    for (const std::int64_t partition : {1, 64, 100, 1000, 1 << 20}) {
      const auto parts = parts_of({bytes, partition});
      ASSERT_EQ(static_cast<std::int64_t>(parts.size()), part_count(bytes, partition));
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::int64_t each = part_bytes(bytes, partition);
        const auto begin = static_cast<std::int64_t>(i) * each;
        EXPECT_EQ(parts[i], (PartCursor::Part{begin, std::min(each, bytes - begin), 0}));
      }
    }
  }
}

}  // namespace
}  // namespace hocket
