#include "core/host/link_queues.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/core/host/ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr double kByteANs = 1e9;

std::int64_t carry(LinkQueues& links, double bytes, std::vector<std::uint32_t> over,
                   std::int64_t ready_ns) {
  return links.carry(bytes, over, ready_ns);
}

TEST(LinkQueues, AChunkTakesItsTimeBehindThoseBefore) {
  auto links = LinkQueues::make({kByteANs, kByteANs / 2}).value();
  EXPECT_EQ(carry(links, 100, {0}, 1000), 1100);
  EXPECT_EQ(carry(links, 100, {0}, 1000), 1200) << "behind the first";
  EXPECT_EQ(carry(links, 100, {0}, 5000), 5100) << "the link was free";
  EXPECT_EQ(carry(links, 100, {1}, 1000), 1200) << "a link of its own, half as fast";
}

TEST(LinkQueues, AChunkArrivesByTheLaterOfItsLinks) {
  auto links = LinkQueues::make({kByteANs, kByteANs, kByteANs / 2}).value();
  EXPECT_EQ(carry(links, 1000, {1}, 0), 1000);
  EXPECT_EQ(carry(links, 100, {0, 1}, 0), 1100);
  EXPECT_EQ(carry(links, 100, {0}, 0), 200) << "each link is taken by itself";
  EXPECT_EQ(carry(links, 100, {0, 2}, 1000), 1200);
  EXPECT_EQ(carry(links, 100, {2, 0}, 2000), 2200) << "in either order";
}

TEST(LinkQueues, ManyAtOnceLoseNoChunk) {
  constexpr std::int64_t kThreads = 4, kChunks = 5000;
  auto maker = LinkQueues::make({kByteANs}).value();
  std::vector<std::jthread> threads;
  for (std::int64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      auto links = LinkQueues::open(maker.name(), {kByteANs}).value();
      for (std::int64_t chunk = 0; chunk < kChunks; ++chunk) carry(links, 3, {0}, 7);
    });
  }
  threads.clear();
  EXPECT_EQ(carry(maker, 0, {0}, 0), 7 + kThreads * kChunks * 3);
}

TEST(LinkQueues, LinksEndWithTheirMakerAndItsFileIsNoOther) {
  std::string name;
  {
    auto maker = LinkQueues::make({kByteANs}).value();
    name = maker.name();
    EXPECT_TRUE(LinkQueues::open(name, {kByteANs}));
    const auto more = LinkQueues::open(name, {kByteANs, kByteANs});
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(more.error().message, HasSubstr("rank 0 has 1 and this rank 2"));
  }
  // As on another machine, where the path is free or some other file's.
  const auto expect_no_links = [&] {
    const auto links = LinkQueues::open(name, {kByteANs});
    ASSERT_FALSE(links);
    EXPECT_EQ(links.error().code, ErrorCode::unavailable);
    EXPECT_THAT(links.error().message, HasSubstr("need all ranks on one machine"));
  };
  expect_no_links();
  const int wanted = std::stoi(name.substr(name.rfind('/') + 1));
  const int other = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  EXPECT_EQ(other, wanted);
  expect_no_links();
  const auto newer = LinkQueues::make({kByteANs}).value();
  ::close(other);
  const auto newest = LinkQueues::make({kByteANs}).value();
  expect_no_links();
  EXPECT_FALSE(LinkQueues::open("", {kByteANs}));
}

TEST(LinkQueues, AllRanksGetTheSameLinks) {
  run_local_ranks(3, [](int rank, Collective& collective) {
    auto links = share_link_queues(collective, {kByteANs, kByteANs});
    ASSERT_TRUE(links) << links.error().message;
    const auto own = static_cast<double>(10 * (rank + 1));
    carry(*links, own, {1}, 0);
    std::vector<float> all = {1};
    ASSERT_TRUE(collective.all_reduce(all, 0));
    EXPECT_EQ(carry(*links, 0, {1}, 0), 60);
    // Nobody leaves before all have looked.
    ASSERT_TRUE(collective.all_reduce(all, 1));
  });
}

TEST(LinkQueues, ARankThatHearsNothingSaysForWhatItWaits) {
  LocalGroup group(2, 1'000'000);
  const auto one = group.join(1);
  const auto links = share_link_queues(*one, {kByteANs});
  ASSERT_FALSE(links);
  EXPECT_THAT(links.error().message, HasSubstr("waiting for rank 0's emulated links"));
}

}  // namespace
}  // namespace hocket
