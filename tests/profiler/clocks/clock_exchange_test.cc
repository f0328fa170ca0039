#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/clock.h"
#include "profiler/clocks/clock_fit.h"
#include "tests/core/host/ranks.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using Rounds = std::vector<std::vector<ClockRound>>;

/// A copy of the system's clock with an offset and a drift.
class SkewedClock final : public Clock {
 public:
  SkewedClock(std::int64_t offset_ns, double drift) : offset_ns_(offset_ns), drift_(drift) {}

  std::int64_t now_ns() const override {
    const std::int64_t since_ns = steady_.now_ns() - begin_ns();
    return offset_ns_ + since_ns + std::llround(drift_ * static_cast<double>(since_ns));
  }
  void sleep_until_ns(std::int64_t) const override {}

  /// Returns the time on an ideal clock when this one shows `time_ns`.
  double true_ns(double time_ns) const {
    return (time_ns - static_cast<double>(offset_ns_)) / (1 + drift_);
  }
  double at(double true_ns) const {
    return static_cast<double>(offset_ns_) + true_ns * (1 + drift_);
  }

 private:
  static std::int64_t begin_ns() {
    static const std::int64_t begin_ns = SteadyClock().now_ns();
    return begin_ns;
  }

  SteadyClock steady_;
  std::int64_t offset_ns_;
  double drift_;
};

std::vector<RankTrace> bare_traces(int ranks) {
  std::vector<RankTrace> traces(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < traces.size(); ++i) traces[i].rank = static_cast<std::int64_t>(i);
  return traces;
}

TEST(ClockExchange, FindsSkewedClocksOfRealRanks) {
  constexpr int kRanks = 4, kRounds = 30;
  const std::vector<SkewedClock> clocks{
      {7, 0}, {123'456'789'012'345, 80e-6}, {5'000'000'000, -300e-6}, {999, 1e-6}};
  std::vector<Rounds> seen(kRanks);
  run_local_ranks(kRanks, [&](int rank, Collective& collective) {
    const auto i = static_cast<std::size_t>(rank);
    auto rounds = exchange_clocks(collective, clocks[i], kRounds, 1000);
    ASSERT_TRUE(rounds) << rounds.error().message;
    seen[i] = std::move(*rounds);
  });
  ASSERT_EQ(seen[0].size(), static_cast<std::size_t>(kRanks));
  for (const Rounds& rounds : seen) EXPECT_EQ(rounds, seen[0]) << "all ranks know the same";
  const auto traces = bare_traces(kRanks);
  const auto fits = fit_clocks(traces, seen[0]);
  for (std::size_t i = 1; i < kRanks; ++i) {
    EXPECT_EQ(seen[0][i].size(), static_cast<std::size_t>(kRounds));
    EXPECT_EQ(fits[i].method, "exchange");
    const double expected =
        clocks[0].at(clocks[i].true_ns(static_cast<double>(fits[i].reference_ns)));
    EXPECT_NEAR(fits[i].to_reference_ns(fits[i].reference_ns), expected, fits[i].residual_ns + 3);
  }
}

/// A clock that advances by a fixed step per reading.
class CountingClock final : public Clock {
 public:
  CountingClock(std::int64_t first_ns, std::int64_t step_ns)
      : now_ns_(first_ns), step_ns_(step_ns) {}

  std::int64_t now_ns() const override { return std::exchange(now_ns_, now_ns_ + step_ns_); }
  void sleep_until_ns(std::int64_t) const override {}

 private:
  mutable std::int64_t now_ns_;
  std::int64_t step_ns_;
};

TEST(ClockExchange, EveryTimeArrivesAsItWas) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::pair<std::int64_t, std::int64_t>> clocks{
      {0, 1}, {kMost - 100, 7}, {-5, 1}, {0x0123456789abcdef, (1 << 22) + 1}, {(1 << 24) + 1, 1}};
  run_local_ranks(static_cast<int>(clocks.size()), [&](int rank, Collective& collective) {
    const auto [first_ns, step_ns] = clocks[static_cast<std::size_t>(rank)];
    const CountingClock clock(first_ns, step_ns);
    const auto all = exchange_clocks(collective, clock, 3, 0);
    ASSERT_TRUE(all) << all.error().message;
    for (std::size_t i = 0; i < clocks.size(); ++i) {
      const auto [from, step] = clocks[i];
      EXPECT_EQ((*all)[i], (std::vector<ClockRound>{{from, from + step},
                                                    {from + 2 * step, from + 3 * step},
                                                    {from + 4 * step, from + 5 * step}}))
          << "rank " << i;
    }
  });
}

TEST(ClockExchange, UsesTheIndicesItWasGiven) {
  run_local_ranks(1, [](int, Collective& link) {
    ObservedCollective collective(link);
    ASSERT_TRUE(exchange_clocks(collective, SteadyClock(), 2, 40));
    ASSERT_EQ(collective.parts().size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(collective.parts()[i].index, 40 + i);
  });
}

TEST(ClockExchange, FailuresArePassedOn) {
  for (const std::uint64_t fail_at : {5, 6, 7}) {
    run_local_ranks(1, [&](int, Collective& link) {
      ObservedCollective collective(link, fail_at);
      const auto rounds = exchange_clocks(collective, SteadyClock(), 2, 5);
      ASSERT_FALSE(rounds) << fail_at;
      EXPECT_EQ(rounds.error().message, "clock exchange: injected failure");
    });
  }
  run_local_ranks(1, [](int, Collective& collective) {
    for (const int rounds : {0, -1, 4097}) {
      const auto all = exchange_clocks(collective, SteadyClock(), rounds, 0);
      ASSERT_FALSE(all);
      EXPECT_THAT(all.error().message, HasSubstr("expected 1 to 4096"));
    }
  });
}

/// A collective that adds a small error to every sum.
class InexactCollective final : public Collective {
 public:
  explicit InexactCollective(float error) : error_(error) {}

  int rank() const override { return 0; }
  const Mesh& mesh() const override { return mesh_; }
  std::int64_t timeout_ns() const override { return 1; }
  void abort() override {}
  Result<void> tell(std::string_view) override { return {}; }
  Result<std::string> hear() override { return std::string(); }
  Result<void> run(const CollectiveWork& work) override {
    for (float& value : work.values.as<float>()) value += error_;
    return {};
  }

 private:
  const Mesh mesh_;
  float error_;
};

TEST(ClockExchange, SumsThatAreNotExactAreRefused) {
  for (const float error : {0.5f, -16777216.f, 16777216.f, std::nanf(""), INFINITY}) {
    InexactCollective collective(error);
    const auto rounds = exchange_clocks(collective, CountingClock(1, 1), 1, 0);
    ASSERT_FALSE(rounds) << error;
    EXPECT_THAT(rounds.error().message, HasSubstr("adds exactly"));
  }
}

}  // namespace
}  // namespace hocket
