#include "core/host/emulated_link.h"

#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "tests/slept_clock.h"

namespace hocket {
namespace {

/// Rank 1 of four, with `ranks_per_host` ranks per host.
class FourRanks final : public Collective {
 public:
  explicit FourRanks(int ranks_per_host = 4) : mesh_(RankGrid{4, ranks_per_host}) {}
  explicit FourRanks(Mesh mesh) : mesh_(std::move(mesh)) {}

  int rank() const override { return 1; }
  const Mesh& mesh() const override { return mesh_; }
  std::int64_t timeout_ns() const override { return 1; }
  void abort() override {}
  Result<void> tell(std::string_view) override { return {}; }
  Result<std::string> hear() override {
    if (is_gone) return failure(ErrorCode::unavailable, "rank 0 is gone");
    return "message";
  }
  Result<void> run(const CollectiveWork&) override { return {}; }

  bool is_gone = false;

 private:
  const Mesh mesh_;
};

TEST(EmulatedLink, APartTakesItsShareOfARingAtTheRateAndEachRoundsLatency) {
  FourRanks ranks;
  SleptClock clock;
  EmulatedLink link(ranks, {.bytes_per_second = 1e9, .latency_ns = 100}, clock);
  std::vector<float> values(1000);
  ASSERT_TRUE(link.all_reduce(values, 0));
  // 4000 bytes × 2 × 3/4 at one byte per nanosecond, six rounds.
  EXPECT_EQ(clock.now_ns(), 6000 + 600);
  ASSERT_TRUE(link.hear());
  EXPECT_EQ(clock.now_ns(), 6700);
  // An error does not travel.
  ranks.is_gone = true;
  EXPECT_FALSE(link.hear());
  EXPECT_EQ(clock.now_ns(), 6700);
}

TEST(EmulatedLink, EachKindAndGroupCostsWhatItsRingSendsOverItsLink) {
  struct Cost {
    CollectiveKind kind;
    CollectiveGroup group;
    std::int64_t expected_ns;
  };
  // 4096 bytes; a byte takes 1 ns between hosts and 1/8 ns inside.
  const Cost costs[] = {
      // 3/4 of the bytes in three rounds, twice for an all-reduce.
      {CollectiveKind::reduce_scatter, CollectiveGroup::world, 3072 + 300},
      {CollectiveKind::all_gather, CollectiveGroup::world, 3072 + 300},
      {CollectiveKind::all_reduce, CollectiveGroup::world, 6144 + 600},
      // Two ranks: half of the bytes in one round.
      {CollectiveKind::reduce_scatter, CollectiveGroup::inside, 2048 / 8 + 10},
      {CollectiveKind::all_gather, CollectiveGroup::inside, 2048 / 8 + 10},
      {CollectiveKind::all_reduce, CollectiveGroup::inside, 2 * 2048 / 8 + 20},
      // Half of the 2048 bytes of one place, with two places on the link.
      {CollectiveKind::reduce_scatter, CollectiveGroup::between, 2 * 1024 + 100},
      {CollectiveKind::all_gather, CollectiveGroup::between, 2 * 1024 + 100},
      {CollectiveKind::all_reduce, CollectiveGroup::between, 4 * 1024 + 200},
  };
  FourRanks ranks(2);
  std::vector<float> values(1024);
  for (const Cost& cost : costs) {
    SCOPED_TRACE(testing::Message() << to_string(cost.kind) << " " << to_string(cost.group.tier));
    SleptClock clock;
    EmulatedLink link(ranks, {.bytes_per_second = 1e9, .latency_ns = 100}, clock,
                      LinkSpec{.bytes_per_second = 8e9, .latency_ns = 10});
    EXPECT_EQ(link.ranks_per_host(), 2);
    ASSERT_TRUE(link.run({.kind = cost.kind, .group = cost.group, .values = values}));
    EXPECT_EQ(clock.now_ns(), cost.expected_ns);
  }
}

TEST(EmulatedLink, AGroupOfAxesUsesTheLinkThatItsRanksCross) {
  // 4096 bytes among two of four ranks on two hosts: half of them in one round, twice.
  const auto mesh = [](std::vector<MeshAxis> axes) {
    return Mesh::make(std::move(axes), {4, 2}).value();
  };
  struct Cost {
    Mesh mesh;
    std::int64_t expected_ns;
  };
  const Cost costs[] = {
      // Within a host: the link inside.
      {mesh({{"data", 2}, {"tensor", 2}}), 4096 / 8 + 20},
      // Between hosts: two groups share a host's link.
      {mesh({{"tensor", 2}, {"data", 2}}), 2 * 4096 + 200},
  };
  std::vector<float> values(1024);
  for (const Cost& cost : costs) {
    FourRanks ranks(cost.mesh);
    SleptClock clock;
    EmulatedLink link(ranks, {.bytes_per_second = 1e9, .latency_ns = 100}, clock,
                      LinkSpec{.bytes_per_second = 8e9, .latency_ns = 10});
    ASSERT_TRUE(link.run({.kind = CollectiveKind::all_reduce,
                          .group = cost.mesh.parse_group("tensor").value(),
                          .values = values}));
    EXPECT_EQ(clock.now_ns(), cost.expected_ns);
  }
}

TEST(EmulatedLink, AMessageUsesTheLinkBetweenItsRanks) {
  struct Cost {
    CollectiveWork work;
    std::int64_t expected_ns;
  };
  std::vector<float> values(1024), received(1024);
  const std::vector<std::size_t> counts(4, 256);
  // Rank 1 of 0, 1 on one host and 2, 3 on the other.
  const Cost costs[] = {
      {{.kind = CollectiveKind::send, .values = values, .peer = 0}, 4096 / 8 + 10},
      {{.kind = CollectiveKind::send, .values = values, .peer = 3}, 4096 + 100},
      {{.kind = CollectiveKind::receive, .values = values, .peer = 0}, 4096 / 8 + 10},
      {{.kind = CollectiveKind::receive, .values = values, .peer = 3}, 4096 + 100},
      // All along a chain of three steps.
      {{.kind = CollectiveKind::broadcast, .values = values, .peer = 0}, 4096 + 300},
      {{.kind = CollectiveKind::broadcast, .values = values, .peer = 2}, 4096 + 300},
      // A quarter stays.
      {{.kind = CollectiveKind::all_to_all,
        .values = values,
        .received = received,
        .sent_counts = counts,
        .received_counts = counts},
       3072 + 300},
  };
  for (const Cost& cost : costs) {
    SCOPED_TRACE(testing::Message() << to_string(cost.work.kind) << " " << cost.work.peer);
    FourRanks ranks(2);
    SleptClock clock;
    EmulatedLink link(ranks, {.bytes_per_second = 1e9, .latency_ns = 100}, clock,
                      LinkSpec{.bytes_per_second = 8e9, .latency_ns = 10});
    ASSERT_TRUE(link.run(cost.work));
    EXPECT_EQ(clock.now_ns(), cost.expected_ns);
  }
}

TEST(EmulatedLink, WithoutALinkInsideTheHostItCostsNothing) {
  FourRanks ranks(2);
  SleptClock clock;
  EmulatedLink link(ranks, {.bytes_per_second = 1e9, .latency_ns = 100}, clock);
  std::vector<float> values(1024);
  ASSERT_TRUE(link.run({.group = CollectiveGroup::inside, .values = values}));
  EXPECT_EQ(clock.now_ns(), 0);
}

TEST(EmulatedLink, APartOfEveryBlockCostsItsShare) {
  FourRanks ranks(2);
  SleptClock clock;
  EmulatedLink link(ranks, {.bytes_per_second = 1e9, .latency_ns = 0}, clock);
  std::vector<float> values(1024);
  ASSERT_TRUE(link.run({.kind = CollectiveKind::all_gather, .values = values, .end = 64}));
  EXPECT_EQ(clock.now_ns(), 3072 / 4);
}

/// Calls `in_the_middle` halfway through the first sleep.
class InterruptedClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return clock_.now_ns(); }
  void sleep_until_ns(std::int64_t deadline_ns) const override {
    if (auto act = std::exchange(in_the_middle, {})) {
      clock_.sleep_until_ns((now_ns() + deadline_ns) / 2);
      act();
    }
    clock_.sleep_until_ns(deadline_ns);
  }

  mutable std::function<void()> in_the_middle;

 private:
  SleptClock clock_;
};

TEST(EmulatedLink, PartsUnderWayShareTheBandwidth) {
  FourRanks ranks;
  InterruptedClock clock;
  EmulatedLink link(ranks, {.bytes_per_second = 1e9, .latency_ns = 0}, clock);
  std::vector<float> values(1000);
  clock.in_the_middle = [&] {
    EXPECT_EQ(clock.now_ns(), 3000);
    ASSERT_TRUE(link.all_reduce(std::span(values).subspan(500), 1));
    EXPECT_EQ(clock.now_ns(), 9000) << "two times 3000 at half the rate";
  };
  ASSERT_TRUE(link.all_reduce(values, 0));
  EXPECT_EQ(clock.now_ns(), 9000);
  ASSERT_TRUE(link.all_reduce(values, 2));
  EXPECT_EQ(clock.now_ns(), 15'000) << "alone again";
}

}  // namespace
}  // namespace hocket
