#include "core/host/emulated_link.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hocket
