#include "core/servers/emulated_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "core/collective/shared_flows.h"
#include "core/servers/local_servers.h"
#include "tests/core/servers/servers_world.h"
#include "tests/rounds.h"
#include "tests/slept_clock.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr double kByteANs = 1e9;
constexpr std::int64_t kChunkNs = EmulatedServers::kChunkBytes;

StepServers links_of(std::int64_t servers) {
  return {.servers = servers, .rank_link = {kByteANs, 30}, .server_link = {kByteANs, 200}};
}

/// One rank of a job whose other ranks do nothing.
struct OneRank {
  explicit OneRank(const StepServers& spec, const Clock& clock, int ranks = 1)
      : all(ranks, static_cast<int>(spec.servers)),
        servers(all.join(0), spec,
                LinkQueues::make(ServedPaths(spec, ranks).bytes_per_second()).value(), clock) {}

  LocalServers all;
  EmulatedServers servers;
};

TEST(EmulatedServers, APartTakesItsTimeOnTheSlowerLinkAndTheLatencyThereAndBack) {
  SleptClock clock(5000);
  StepServers spec = links_of(1);
  spec.server_link.bytes_per_second = kByteANs / 4;
  OneRank rank(spec, clock);
  ASSERT_TRUE(push_ones(rank.servers, {}, 100'000));
  EXPECT_EQ(clock.now_ns(), 5000 + 4 * 400'000 + 2 * 230);
  ASSERT_EQ(rank.servers.next_sum(0).value(), ServedPart{});
  std::vector<float> values(100'000);
  ASSERT_TRUE(rank.servers.pull({}, values));
  EXPECT_EQ(clock.now_ns(), 5000 + 2 * (4 * 400'000 + 2 * 230));
  EXPECT_EQ(values, std::vector<float>(100'000, 1));
  ASSERT_TRUE(push_ones(rank.servers, {.collective = 1}, 0)) << "a part may be empty";
}

TEST(EmulatedServers, AColocatedServerHasItsRanksLinkAndGivesItPartsWithoutOne) {
  SleptClock clock;
  StepServers spec = links_of(3);
  spec.colocated = true;
  OneRank rank(spec, clock, 2);
  for (const int own : {0, 2}) ASSERT_TRUE(push_ones(rank.servers, {.server = own}, 1000));
  EXPECT_EQ(clock.now_ns(), 0);
  ASSERT_TRUE(push_ones(rank.servers, {.server = 1}, 1000));
  EXPECT_EQ(clock.now_ns(), 4000 + 2 * (30 + 30)) << "two links of ranks";
}

/// Acts at the end of the first sleep.
class InterruptedSleep final : public Clock {
 public:
  std::int64_t now_ns() const override { return clock_.now_ns(); }
  void sleep_until_ns(std::int64_t deadline_ns) const override {
    clock_.sleep_until_ns(deadline_ns);
    if (auto act = std::exchange(after_first, {})) act();
  }

  mutable std::function<void()> after_first;

 private:
  SleptClock clock_;
};

TEST(EmulatedServers, PartsOfOneRankShareItsLinkButNotTheOtherWay) {
  InterruptedSleep clock;
  OneRank rank(links_of(2), clock);
  constexpr std::size_t kValues = EmulatedServers::kChunkBytes / sizeof(float);
  ASSERT_TRUE(push_ones(rank.servers, {}, kValues));
  const std::int64_t begin_ns = clock.now_ns();
  clock.after_first = [&] {
    EXPECT_EQ(clock.now_ns(), begin_ns + kChunkNs);
    // The first part's next chunk waits for this one.
    ASSERT_TRUE(push_ones(rank.servers, {.collective = 1, .server = 1}, kValues));
    EXPECT_EQ(clock.now_ns(), begin_ns + 2 * kChunkNs + 460);
    // A pull has a link of its own.
    std::vector<float> values(kValues);
    ASSERT_TRUE(rank.servers.pull({}, values));
    EXPECT_EQ(clock.now_ns(), begin_ns + 3 * kChunkNs + 2 * 460);
  };
  ASSERT_TRUE(push_ones(rank.servers, {.collective = 2}, 2 * kValues));
  // It takes the time that nobody used while its thread was kept.
  EXPECT_EQ(clock.now_ns(), begin_ns + 3 * kChunkNs + 2 * 460);
}

TEST(EmulatedServers, AbortEndsAPartOnItsWay) {
  InterruptedSleep clock;
  OneRank rank(links_of(1), clock);
  clock.after_first = [&] { rank.servers.abort(); };
  const auto ok = push_ones(rank.servers, {}, 100 * EmulatedServers::kChunkBytes);
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, HasSubstr("rank 0 has aborted"));
  EXPECT_EQ(clock.now_ns(), kChunkNs);
}

/// A part on its way.
struct Flow {
  std::size_t rank = 0, server = 0;
  bool is_pull = false;
  std::int64_t bytes = 0;
  std::int64_t begin_ns = 0;  ///< not before the flow before it
};

using Ends = std::vector<std::int64_t>;  ///< by flow

Ends ends_on_shared_links(const ServedPaths& paths, const std::vector<Flow>& flows) {
  SharedFlows links(paths.bytes_per_second());
  Ends ends(flows.size());
  const auto end_until = [&](std::int64_t time_ns) {
    for (auto next = links.next_end(); next && next->time_ns <= time_ns; next = links.next_end()) {
      ends[next->flow] = next->time_ns;
      links.end_next(next->time_ns);
    }
  };
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const Flow& flow = flows[i];
    end_until(flow.begin_ns);
    const auto path = paths.find(flow.rank, flow.server, flow.is_pull);
    const SharedFlows::Use uses[] = {{path->rank_link, 1}, {path->server_link, 1}};
    links.begin(i, static_cast<double>(flow.bytes), uses, flow.begin_ns);
  }
  end_until(std::numeric_limits<std::int64_t>::max());
  return ends;
}

/// As the threads of EmulatedServers send them if all wake in time.
Ends ends_on_queues(const ServedPaths& paths, const std::vector<Flow>& flows) {
  auto links = LinkQueues::make(paths.bytes_per_second()).value();
  Ends ends(flows.size());
  std::vector<std::int64_t> left;
  using Ready = std::pair<std::int64_t, std::size_t>;  // time and flow
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    left.push_back(flows[i].bytes);
    ready.push({flows[i].begin_ns, i});
  }
  while (!ready.empty()) {
    const auto [ready_ns, i] = ready.top();
    ready.pop();
    const auto path = paths.find(flows[i].rank, flows[i].server, flows[i].is_pull);
    const std::uint32_t over[] = {path->rank_link, path->server_link};
    const std::int64_t chunk = std::min<std::int64_t>(left[i], EmulatedServers::kChunkBytes);
    ends[i] = links.carry(static_cast<double>(chunk), over, ready_ns);
    left[i] -= chunk;
    if (left[i] > 0) ready.push({ends[i], i});
  }
  return ends;
}

constexpr std::int64_t kPart = 10 * kChunkNs;  ///< bytes, and the time that they take

TEST(EmulatedServers, FlowsThatMeetOnOneLinkShareItWithinTheirLastChunks) {
  struct Case {
    const char* name;
    std::vector<Flow> flows;
    bool colocated;
    std::int64_t fair_ns;  ///< end of every flow
  };
  // k flows of one size take turns: on fair links all end together, and here the last ends at that
  // time and the first k − 1 chunks before.
  const Case cases[] = {
      {"one flow", {{0, 0, false, kPart}}, false, kPart},
      {"two ranks push to a server",
       {{0, 0, false, kPart}, {1, 0, false, kPart}},
       false,
       2 * kPart},
      {"a rank pulls from two", {{0, 0, true, kPart}, {0, 1, true, kPart}}, false, 2 * kPart},
      {"both ways at once", {{0, 0, false, kPart}, {0, 0, true, kPart}}, false, kPart},
      {"two ranks and two servers", {{0, 0, false, kPart}, {1, 1, false, kPart}}, false, kPart},
      // Rank 0 sends what it pushes and what rank 1 pulls from its server by one link.
      {"colocated", {{0, 1, false, kPart}, {1, 0, true, kPart}}, true, 2 * kPart},
  };
  for (const Case& example : cases) {
    SCOPED_TRACE(example.name);
    StepServers spec = links_of(2);
    spec.colocated = example.colocated;
    const ServedPaths paths(spec, 2);
    EXPECT_THAT(ends_on_shared_links(paths, example.flows), testing::Each(example.fair_ns));
    const Ends ends = ends_on_queues(paths, example.flows);
    const std::int64_t sharing = example.fair_ns / kPart;
    EXPECT_EQ(std::ranges::max(ends), example.fair_ns);
    EXPECT_EQ(std::ranges::min(ends), example.fair_ns - (sharing - 1) * kChunkNs);
  }
}

TEST(EmulatedServers, RandomFlowsEndNearlyWhenTheSimulatorSays) {
  for (std::uint64_t seed = 0; seed < rounds(300); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t ranks = 1 + random() % 4;
    StepServers spec = links_of(static_cast<std::int64_t>(1 + random() % 4));
    // A chunk takes up to twice as long on the links of servers.
    spec.server_link.bytes_per_second = kByteANs * static_cast<double>(1 + random() % 4) / 2;
    const std::int64_t longest_chunk_ns =
        static_cast<std::int64_t>(static_cast<double>(kChunkNs) /
                                  std::min(spec.server_link.bytes_per_second / kByteANs, 1.0));
    std::vector<Flow> flows(1 + random() % 8);
    std::int64_t begin_ns = 0;
    for (Flow& flow : flows) {
      begin_ns += static_cast<std::int64_t>(random() % (random() % 2 ? 1 : 10 * kChunkNs));
      flow = {random() % ranks, random() % static_cast<std::size_t>(spec.servers),
              random() % 2 == 0, static_cast<std::int64_t>(1 + random() % (100 * kChunkNs)),
              begin_ns};
    }
    const ServedPaths paths(spec, ranks);
    const Ends fair = ends_on_shared_links(paths, flows), queued = ends_on_queues(paths, flows);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      // A flow may gain or lose a chunk of each other one where flows begin and where they end. A
      // flow that several full links hold back waits in turn on each, which costs it a few percent.
      const std::int64_t bound_ns =
          2 * longest_chunk_ns * std::ssize(flows) + (fair[i] - flows[i].begin_ns) / 10;
      ASSERT_LE(std::abs(queued[i] - fair[i]), bound_ns) << "flow " << i << " of " << flows.size();
    }
  }
}

}  // namespace
}  // namespace hocket
