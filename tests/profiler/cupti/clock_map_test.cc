#include "profiler/cupti/clock_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/profiler/cupti/fake_cupti.h"
#include "tests/set_clock.h"

namespace hocket {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kRealtimeNs = 1'700'000'000 * kSecondNs;

TEST(ClockMap, KnowsNothingWithoutReadings) {
  EXPECT_EQ(ClockMap().to_clock_ns(5), std::nullopt);
}

TEST(ClockMap, KeepsDistancesAroundItsOnlyReading) {
  ClockMap map;
  map.add({kRealtimeNs, 1000, 10});
  EXPECT_EQ(map.to_clock_ns(kRealtimeNs), 1000);
  EXPECT_EQ(map.to_clock_ns(kRealtimeNs + 7), 1007);
  EXPECT_EQ(map.to_clock_ns(kRealtimeNs - 7), 993);
}

/// The realtime clock's rate changes within NTP's limits; readings have jitter.
TEST(ClockMap, FollowsARateThatIsCorrected) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> rate(-400e-6, 400e-6), share(0, 1);
    constexpr std::int64_t kJitterNs = 200;
    ClockMap map;
    std::vector<std::pair<std::int64_t, std::int64_t>> truth;  // clock, cupti
    std::int64_t clock_ns = 5 * kSecondNs, cupti_ns = kRealtimeNs;
    for (int i = 0; i < 20; ++i) {
      const auto jitter = static_cast<std::int64_t>(random() % kJitterNs) - kJitterNs / 2;
      map.add({cupti_ns, clock_ns + jitter, kJitterNs});
      const double drift = rate(random);
      const std::int64_t passed_ns = kSecondNs / 10;
      for (int k = 0; k < 10; ++k) {
        const auto at_ns =
            static_cast<std::int64_t>(share(random) * static_cast<double>(passed_ns));
        truth.emplace_back(clock_ns + at_ns,
                           cupti_ns + at_ns + std::llround(drift * static_cast<double>(at_ns)));
      }
      clock_ns += passed_ns;
      cupti_ns += passed_ns + std::llround(drift * static_cast<double>(passed_ns));
    }
    map.add({cupti_ns, clock_ns, 0});
    EXPECT_EQ(map.jumps(), 0);
    std::int64_t latest = 0;
    std::ranges::sort(truth);
    for (const auto& [clock, cupti] : truth) {
      const auto told = map.to_clock_ns(cupti);
      ASSERT_TRUE(told);
      ASSERT_LE(std::abs(*told - clock), kJitterNs);
      ASSERT_GE(*told, latest);
      latest = *told;
    }
  }
}

TEST(ClockMap, LeavesOutReadingsThatAreNotLater) {
  ClockMap map;
  map.add({kRealtimeNs, 1000, 0});
  map.add({kRealtimeNs + 500, 1000, 0});
  map.add({kRealtimeNs + 500, 900, 0});
  // Two readings at about the same time may be in opposite order by the two clocks.
  map.add({kRealtimeNs - 100, 1300, 400});
  EXPECT_EQ(map.samples(), (std::vector<ClockSample>{{1000, kRealtimeNs}}));
  EXPECT_EQ(map.jumps(), 0);
}

/// The clock is set while the job runs. Every answer of the map is right, and it answers for every
/// time that the jump leaves unambiguous.
TEST(ClockMap, NeverGuessesAroundAClockThatWasSet) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::int64_t magnitude = 1 + static_cast<std::int64_t>(random() % (100 * kSecondNs));
    const std::int64_t set_by_ns = (kSecondNs / 500 + magnitude) * (seed % 2 ? 1 : -1);
    constexpr std::int64_t kGapNs = kSecondNs / 10;
    constexpr std::int64_t kReadings = 20;
    constexpr std::int64_t kLastNs = (kReadings - 1) * kGapNs;
    const std::int64_t set_at_ns =
        kGapNs + static_cast<std::int64_t>(random() % ((kReadings - 3) * kGapNs));
    const auto cupti_at = [&](std::int64_t clock_ns) {
      return kRealtimeNs + clock_ns + (clock_ns >= set_at_ns ? set_by_ns : 0);
    };
    ClockMap map;
    for (std::int64_t i = 0; i < kReadings; ++i) map.add({cupti_at(i * kGapNs), i * kGapNs, 100});
    EXPECT_EQ(map.jumps(), 1);
    // A step back shows as many times twice as it is long, unless it is longer than the trace.
    const std::int64_t back_ns = std::max<std::int64_t>(-set_by_ns, 0);
    const std::int64_t hidden_ns = kGapNs + (back_ns > kLastNs + kGapNs ? 0 : back_ns);
    for (int i = 0; i < 500; ++i) {
      const auto clock_ns =
          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(kReadings * kGapNs));
      const auto told = map.to_clock_ns(cupti_at(clock_ns));
      ASSERT_EQ(told.value_or(clock_ns), clock_ns);
      const bool is_clear = std::abs(clock_ns - set_at_ns) > hidden_ns && clock_ns <= kLastNs;
      ASSERT_TRUE(told || !is_clear) << "at " << clock_ns << ", set at " << set_at_ns;
    }
  }
}

TEST(ReadClocks, TakesTheReadingThatTookLeast) {
  /// A clock whose readings take as long as the list says.
  class SlowClock final : public Clock {
   public:
    std::int64_t now_ns() const override { return now_ += steps_[next_++ % steps_.size()]; }
    void sleep_until_ns(std::int64_t) const override {}

   private:
    std::vector<std::int64_t> steps_{100, 70, 5, 4, 9, 60};
    mutable std::size_t next_ = 0;
    mutable std::int64_t now_ = kSecondNs;
  };
  const SlowClock clock;
  const SetClock device(kRealtimeNs);
  const FakeCupti cupti(device);
  const auto reading = read_clocks(cupti, clock, 3);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->width_ns, 4);
  EXPECT_EQ(reading->clock_ns, kSecondNs + 175 + 2);
  EXPECT_EQ(reading->cupti_ns, kRealtimeNs);
}

TEST(ReadClocks, SaysWhenCuptiCannotTellItsTime) {
  const SetClock clock;
  FakeCupti cupti(clock);
  cupti.fails_at = 0;
  EXPECT_EQ(read_clocks(cupti, clock), std::nullopt);
  FakeCupti negative(clock, -2 * clock.now_ns());
  EXPECT_EQ(read_clocks(negative, clock), std::nullopt);
}

}  // namespace
}  // namespace hocket
