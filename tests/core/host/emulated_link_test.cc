#include "core/host/emulated_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace hocket {
namespace {

class ManualClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now_; }
  void sleep_until_ns(std::int64_t deadline_ns) const override {
    now_ = std::max(now_, deadline_ns);
  }

 private:
  mutable std::int64_t now_ = 0;
};

class FourRanks final : public Collective {
 public:
  int rank() const override { return 1; }
  int world_size() const override { return 4; }
  std::int64_t timeout_ns() const override { return 1; }
  void abort() override {}
  Result<void> tell(std::string_view) override { return {}; }
  Result<std::string> hear() override { return "message"; }
  Result<void> all_reduce(std::span<float>, std::uint64_t) override { return {}; }
};

TEST(EmulatedLink, APartTakesItsShareOfARingAtTheRateAndEachRoundsLatency) {
  FourRanks ranks;
  ManualClock clock;
  EmulatedLink link(ranks, {.bytes_per_second = 1e9, .latency_ns = 100}, clock);
  std::vector<float> values(1000);
  ASSERT_TRUE(link.all_reduce(values, 0));
  // 4000 bytes × 2 × 3/4 at one byte a nanosecond, six rounds.
  EXPECT_EQ(clock.now_ns(), 6000 + 600);
  ASSERT_TRUE(link.hear());
  EXPECT_EQ(clock.now_ns(), 6700);
}

/// Something else happens in the middle of the first sleep.
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
  ManualClock clock_;
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
