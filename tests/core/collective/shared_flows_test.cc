#include "core/collective/shared_flows.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "core/collective/shared_link.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using Use = SharedFlows::Use;

/// Runs to the end of all flows; returns their end times.
std::map<std::uint64_t, std::int64_t> ends_of(SharedFlows& links) {
  std::map<std::uint64_t, std::int64_t> ends;
  while (const auto next = links.next_end()) {
    ends[next->flow] = next->time_ns;
    links.end_next(next->time_ns);
  }
  return ends;
}

TEST(SharedFlows, AFlowGetsWhatOthersCannotUse) {
  // Links of 1 and 10 bytes a nanosecond: the first flow is held by the slow one.
  SharedFlows links({1e9, 10e9});
  const Use both[] = {{0, 1}, {1, 1}}, fast[] = {{1, 1}};
  links.begin(1, 1000, both, 0);
  links.begin(2, 9000, fast, 0);
  EXPECT_EQ(ends_of(links), (std::map<std::uint64_t, std::int64_t>{{1, 1000}, {2, 1000}}));
}

TEST(SharedFlows, AlikeFlowsCountOnTheLinkThatTheyShare) {
  // Three ranks that send as one, each over a link of its own, to one server.
  SharedFlows links({1e9, 1e9});
  const Use uses[] = {{0, 1}, {1, 3}};
  links.begin(1, 1000, uses, 0);
  EXPECT_EQ(ends_of(links).at(1), 3000);
}

TEST(SharedFlows, AFlowWithoutLinksOrBytesEndsAtOnce) {
  SharedFlows links({1e9});
  const Use use[] = {{0, 1}};
  links.begin(1, 1 << 30, {}, 5);
  links.begin(2, 0, use, 5);
  EXPECT_EQ(ends_of(links), (std::map<std::uint64_t, std::int64_t>{{1, 5}, {2, 5}}));
}

TEST(SharedFlows, OnOneLinkItIsProcessorSharing) {
  for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    SharedFlows links({1e9});
    SharedLink shared(1, 0);
    const Use use[] = {{0, 1}};
    std::int64_t now_ns = 0;
    std::uint64_t flows = 0, ended = 0;
    while (ended < 20) {
      const auto next = links.next_end();
      const std::int64_t begin_ns = now_ns + static_cast<std::int64_t>(random() % 3000);
      if (flows < 20 && (!next || begin_ns < next->time_ns)) {
        const auto bytes = static_cast<double>(1 + random() % 4000);
        links.begin(flows, bytes, use, begin_ns);
        shared.begin(flows, bytes, begin_ns);
        ++flows;
        now_ns = begin_ns;
        continue;
      }
      const auto other = shared.next_end();
      ASSERT_TRUE(other);
      ASSERT_NEAR(static_cast<double>(next->time_ns), static_cast<double>(other->time_ns), 20);
      now_ns = next->time_ns;
      links.end_next(now_ns);
      shared.end_next(std::max(now_ns, other->time_ns));
      ++ended;
    }
  }
}

TEST(SharedFlows, NoLinkCarriesMoreThanItCanAndSomeLinkOfEachFlowIsFull) {
  for (std::uint64_t seed = 0; seed < rounds(300); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<double> capacity(2 + random() % 5);
    for (double& each : capacity) each = 1e9 * static_cast<double>(1 + random() % 9);
    const std::size_t flows = 1 + random() % 8;
    std::vector<std::vector<Use>> uses(flows);
    // All flows begin together and are so large that the first to end shows all rates: those of
    // flow i follow from the end of flow i alone among copies of different size.
    const auto rate_of = [&](std::size_t flow) {
      SharedFlows links(capacity);
      for (std::size_t i = 0; i < flows; ++i) links.begin(i, i == flow ? 1e7 : 1e14, uses[i], 0);
      const auto end = links.next_end();
      EXPECT_EQ(end->flow, flow);
      return 1e7 / static_cast<double>(end->time_ns) * 1e9;
    };
    for (auto& each : uses) {
      const auto first = static_cast<std::uint32_t>(random() % capacity.size());
      each.push_back({first, static_cast<double>(1 + random() % 3)});
      const auto second = static_cast<std::uint32_t>(random() % capacity.size());
      if (second != first) each.push_back({second, 1});
    }
    std::vector<double> rates(flows), used(capacity.size());
    for (std::size_t i = 0; i < flows; ++i) {
      rates[i] = rate_of(i);
      for (const Use& use : uses[i]) used[use.link] += use.times * rates[i];
    }
    for (std::size_t link = 0; link < capacity.size(); ++link)
      ASSERT_LE(used[link], capacity[link] * 1.0001);
    // Max-min fairness: each flow has a full link on which no other flow is faster.
    for (std::size_t i = 0; i < flows; ++i) {
      bool is_held = false;
      for (const Use& use : uses[i]) {
        bool is_fastest = true;
        for (std::size_t j = 0; j < flows; ++j)
          for (const Use& other : uses[j])
            if (other.link == use.link && rates[j] > rates[i] * 1.0001) is_fastest = false;
        is_held = is_held || (is_fastest && used[use.link] > capacity[use.link] * 0.9999);
      }
      ASSERT_TRUE(is_held) << "flow " << i;
    }
  }
}

}  // namespace
}  // namespace hocket
