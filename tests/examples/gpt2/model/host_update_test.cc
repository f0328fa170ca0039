#include "examples/gpt2/model/host_update.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <latch>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "core/random/split_mix.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

/// More than one thread takes at once, and no multiple of a vector's elements.
constexpr std::size_t kSeveralChunks = 300'007;
constexpr AdamW kOptions = {.learning_rate = 3e-3, .weight_decay = 0.2};

struct Values {
  std::vector<float> gradients, parameters, first, second;

  AdamWMemory memory() {
    return {.gradients = gradients,
            .parameters = parameters,
            .first_moment = first,
            .second_moment = second};
  }
};

/// Returns values of many magnitudes: zero, small enough to become denormal, and large.
Values random_values(std::uint64_t key, std::size_t size) {
  Values values;
  std::uint64_t index = 0;
  for (auto* each : {&values.gradients, &values.parameters, &values.first, &values.second}) {
    each->resize(size);
    for (float& value : *each) {
      const float normal = random_normal(key, index++);
      const auto magnitude = static_cast<int>(random_bits(key, index++) % 24) - 20;
      value = magnitude == 3 ? 0.0f : std::ldexp(normal, 4 * magnitude);
    }
  }
  // A second moment is a mean of squares.
  for (float& value : values.second) value = std::abs(value);
  return values;
}

void update_with_ops(std::int64_t update, double gradient_scale, std::span<const AdamWRange> ranges,
                     Values& values) {
  std::size_t begin = 0;
  for (const AdamWRange& range : ranges) {
    const auto of = [&](std::vector<float>& all) { return Floats(all).subspan(begin, range.size); };
    adamw_update(kOptions, update, range.decay, gradient_scale, of(values.gradients),
                 of(values.parameters), of(values.first), of(values.second));
    begin += range.size;
  }
}

/// Returns up to kMostAdamWRanges ranges of `size` elements in all; some are empty.
std::vector<AdamWRange> random_ranges(std::mt19937_64& engine, std::size_t size) {
  std::vector<std::size_t> ends(1 + engine() % kMostAdamWRanges);
  for (std::size_t& end : ends) end = engine() % (size + 1);
  ends.back() = size;
  std::ranges::sort(ends);
  std::vector<AdamWRange> ranges;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    ranges.push_back({end - begin, engine() % 2 == 0});
    begin = end;
  }
  return ranges;
}

/// NaN equals NaN here, unlike for operator==.
::testing::AssertionResult same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]))
      return ::testing::AssertionFailure() << "element " << i << ": " << a[i] << " and " << b[i];
  }
  return ::testing::AssertionSuccess();
}

void expect_same_bits(const Values& expected, const Values& actual) {
  EXPECT_TRUE(same_bits(expected.parameters, actual.parameters));
  EXPECT_TRUE(same_bits(expected.first, actual.first));
  EXPECT_TRUE(same_bits(expected.second, actual.second));
  EXPECT_TRUE(same_bits(expected.gradients, actual.gradients));
}

TEST(HostUpdate, HasTheBitsOfTheOperationForAnyThreadsAndRanges) {
  for (std::uint64_t seed = 1; seed <= rounds(40); ++seed) {
    std::mt19937_64 engine(seed);
    const int threads = 1 + static_cast<int>(engine() % 5);
    const auto vectors = engine() % 3 == 0 ? HostVectors::baseline : HostVectors::widest;
    const std::size_t size = engine() % (engine() % 2 == 0 ? 100 : kSeveralChunks);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", threads " << threads);
    HostUpdate host(threads, vectors);
    Values expected = random_values(seed, size), actual = expected;
    for (std::int64_t update = 1; update <= 3; ++update) {
      const double scale = 1.0 / static_cast<double>(1 + engine() % 7);
      const auto ranges = random_ranges(engine, size);
      update_with_ops(update, scale, ranges, expected);
      host.update(kOptions, update, scale, ranges, actual.memory());
      expect_same_bits(expected, actual);
    }
  }
}

TEST(HostUpdate, DecaysTheRangesThatDecay) {
  const Values before = random_values(1, kSeveralChunks);
  Values decayed = before, kept = before;
  HostUpdate host(2);
  host.update(kOptions, 1, 1, std::vector<AdamWRange>{{kSeveralChunks, true}}, decayed.memory());
  host.update(kOptions, 1, 1, std::vector<AdamWRange>{{kSeveralChunks, false}}, kept.memory());
  EXPECT_FALSE(same_bits(decayed.parameters, kept.parameters));
  EXPECT_TRUE(same_bits(decayed.second, kept.second));
}

TEST(HostUpdate, CopiesTheNewParameters) {
  Values plain = random_values(2, kSeveralChunks), copied = plain;
  const std::vector<AdamWRange> ranges{{100'001, true}, {kSeveralChunks - 100'001, false}};
  std::vector<float> copy(kSeveralChunks);
  HostUpdate host(3);
  host.update(kOptions, 1, 1, ranges, plain.memory());
  AdamWMemory memory = copied.memory();
  memory.float32_copy = copy;
  host.update(kOptions, 1, 1, ranges, memory);
  expect_same_bits(plain, copied);
  EXPECT_TRUE(same_bits(copied.parameters, copy));
}

/// Returns the nearest bfloat16, the even one of two as near. Written for doubles, in which the
/// neighbours' middle is exact.
std::uint16_t nearest_bfloat16(float value) {
  if (std::isnan(value)) return 0x7fff;
  const auto truncated = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  if (std::isinf(value)) return truncated;
  const auto as_double = [](std::uint16_t bits) {
    // One step beyond the largest is where infinity is, for rounding.
    if ((bits & 0x7fff) == 0x7f80) return (bits >> 15 ? -1.0 : 1.0) * std::ldexp(1.0, 128);
    return static_cast<double>(std::bit_cast<float>(std::uint32_t{bits} << 16));
  };
  const auto next = static_cast<std::uint16_t>(truncated + 1);  // away from zero
  const double below = std::abs(value - as_double(truncated));
  const double above = std::abs(as_double(next) - value);
  if (below != above) return below < above ? truncated : next;
  return truncated % 2 == 0 ? truncated : next;
}

/// Values whose rounding is special, and random bits.
std::vector<float> values_to_round() {
  using Limits = std::numeric_limits<float>;
  std::vector<float> values{0.0f,
                            -0.0f,
                            1.0f,
                            Limits::max(),
                            Limits::lowest(),
                            Limits::denorm_min(),
                            Limits::infinity(),
                            -Limits::infinity(),
                            Limits::quiet_NaN(),
                            std::bit_cast<float>(0x7fffffffu),   // a NaN that addition would wrap
                            std::bit_cast<float>(0x3f808000u),   // halfway, even below
                            std::bit_cast<float>(0x3f818000u),   // halfway, even above
                            std::bit_cast<float>(0xbf818000u),   // the same, negative
                            std::bit_cast<float>(0x3f807fffu),   // just below and above
                            std::bit_cast<float>(0x3f808001u),   //
                            std::bit_cast<float>(0x7f7f8000u)};  // halfway to infinity
  for (std::uint64_t i = 0; values.size() < kSeveralChunks; ++i)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random_bits(3, i))));
  return values;
}

TEST(HostUpdate, RoundsTheBfloat16CopyToNearestEven) {
  for (const HostVectors vectors : {HostVectors::widest, HostVectors::baseline}) {
    Values values;
    values.parameters = values_to_round();
    const std::size_t size = values.parameters.size();
    for (auto* each : {&values.gradients, &values.first, &values.second}) each->assign(size, 0.0f);
    const std::vector<float> before = values.parameters;
    std::vector<std::uint16_t> copy(size);
    AdamWMemory memory = values.memory();
    memory.bfloat16_copy = copy;
    // Zero gradients without decay keep the parameters, so that any value can be rounded.
    HostUpdate(2, vectors).update(kOptions, 1, 1, std::vector<AdamWRange>{{size, false}}, memory);
    for (std::size_t i = 0; i < size; ++i) {
      EXPECT_EQ(copy[i], nearest_bfloat16(before[i]))
          << "of " << std::hex << std::bit_cast<std::uint32_t>(before[i]);
    }
  }
}

TEST(HostUpdate, MayBeCalledByAnyThread) {
  constexpr int kCallers = 3;
  const std::vector<AdamWRange> ranges{{kSeveralChunks, true}};
  HostUpdate host(3);
  std::vector<Values> expected, actual;
  for (int caller = 0; caller < kCallers; ++caller) {
    expected.push_back(random_values(static_cast<std::uint64_t>(caller), kSeveralChunks));
    actual.push_back(expected.back());
  }
  {
    std::latch all_started(kCallers);
    std::vector<std::jthread> callers;
    for (Values& values : actual) {
      callers.emplace_back([&] {
        all_started.arrive_and_wait();
        for (std::int64_t update = 1; update <= 5; ++update)
          host.update(kOptions, update, 0.5, ranges, values.memory());
      });
    }
  }
  for (int caller = 0; caller < kCallers; ++caller) {
    for (std::int64_t update = 1; update <= 5; ++update)
      update_with_ops(update, 0.5, ranges, expected[caller]);
    expect_same_bits(expected[caller], actual[caller]);
  }
}

TEST(HostUpdate, NeedsNoElements) {
  HostUpdate host(2);
  host.update(kOptions, 1, 1, {}, {});
  EXPECT_EQ(host.threads(), 2);
}

TEST(HostUpdate, HasAThreadForEachHardwareThreadThatTheProcessMayUse) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  EXPECT_EQ(HostUpdate().threads(), CPU_COUNT(&all));
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(HostUpdate().threads(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

TEST(HostUpdateDeathTest, RejectsWrongSizes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto update = [](std::size_t of_range, auto change) {
    Values values = random_values(1, 8);
    std::vector<float> copy(8);
    std::vector<std::uint16_t> rounded(8);
    AdamWMemory memory = values.memory();
    memory.float32_copy = copy;
    change(memory, rounded);
    HostUpdate(1).update(kOptions, 1, 1, std::vector<AdamWRange>{{of_range, true}}, memory);
  };
  using Rounded = std::vector<std::uint16_t>;
  const auto no_change = [](AdamWMemory&, Rounded&) {};
  update(8, no_change);
  EXPECT_DEATH(update(7, no_change), "ranges cover all");
  EXPECT_DEATH(update(9, no_change), "ranges cover all");
  EXPECT_DEATH(update(8, [](AdamWMemory& m, Rounded&) { m.parameters = m.parameters.first(7); }),
               "as many parameters");
  EXPECT_DEATH(
      update(8, [](AdamWMemory& m, Rounded&) { m.first_moment = m.first_moment.first(7); }),
      "as many moments");
  EXPECT_DEATH(
      update(8, [](AdamWMemory& m, Rounded&) { m.second_moment = m.second_moment.first(7); }),
      "as many moments");
  EXPECT_DEATH(
      update(8, [](AdamWMemory& m, Rounded&) { m.float32_copy = m.float32_copy.first(7); }),
      "a copy has as many");
  EXPECT_DEATH(update(8,
                      [](AdamWMemory& m, Rounded& rounded) {
                        m.float32_copy = {};
                        m.bfloat16_copy = std::span(rounded).first(7);
                      }),
               "a copy has as many");
  EXPECT_DEATH(update(8, [](AdamWMemory& m, Rounded& rounded) { m.bfloat16_copy = rounded; }),
               "at most one copy");
}

}  // namespace
}  // namespace hocket
