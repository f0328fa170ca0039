#include "core/trace/repetition.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

class Sequence {
 public:
  void add(std::uint32_t name, std::int64_t gap_ns = 1) {
    at_ns_ += gap_ns;
    items.push_back({name, at_ns_, at_ns_ + 10});
    at_ns_ += 10;
  }

  std::vector<RepeatedItem> items;

 private:
  std::int64_t at_ns_ = 0;
};

/// Adds a step of `layers` equal layers forward and backward, and an optimizer.
void add_step(Sequence& sequence, std::uint32_t layers) {
  sequence.add(1, 500);
  for (std::uint32_t layer = 0; layer < layers; ++layer)
    for (std::uint32_t name = 10; name < 15; ++name) sequence.add(name);
  sequence.add(2);
  for (std::uint32_t layer = 0; layer < layers; ++layer)
    for (std::uint32_t name = 20; name < 27; ++name) sequence.add(name);
  for (std::uint32_t name = 40; name < 43; ++name) sequence.add(name);
}

TEST(Repetition, FindsStepsBehindAWarmUpAndBesideExtraWork) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Sequence sequence;
    for (std::uint64_t i = random() % 200; i > 0; --i)
      sequence.add(static_cast<std::uint32_t>(100 + random() % 20));
    const std::uint32_t layers = 1 + static_cast<std::uint32_t>(random() % 12);
    const std::size_t steps = 5 + random() % 40;
    std::vector<std::int64_t> begins;
    for (std::size_t step = 0; step < steps; ++step) {
      begins.push_back(std::ssize(sequence.items));
      add_step(sequence, layers);
      if (step % 10 == 9)
        for (std::uint32_t name = 60; name < 80; ++name) sequence.add(name);
    }
    const auto starts = period_starts(sequence.items);
    ASSERT_EQ(starts.size(), steps);
    for (std::size_t step = 1; step < steps; ++step)
      EXPECT_EQ(static_cast<std::int64_t>(starts[step]), begins[step]);
  }
}

TEST(Repetition, FindsNoneWhereNothingRepeats) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Sequence sequence;
    const std::uint64_t names = 3 + random() % 40;
    for (std::uint64_t i = random() % 400; i > 0; --i)
      sequence.add(static_cast<std::uint32_t>(random() % names));
    EXPECT_TRUE(period_starts(sequence.items).empty());
  }
}

TEST(Repetition, OneNameAloneIsNoPeriod) {
  Sequence sequence;
  for (int i = 0; i < 100; ++i) sequence.add(3);
  EXPECT_TRUE(period_starts(sequence.items).empty());
  EXPECT_TRUE(period_starts({}).empty());
}

TEST(Repetition, TakesAMillionItems) {
  Sequence sequence;
  while (sequence.items.size() < 1'000'000) add_step(sequence, 8);
  EXPECT_EQ(period_starts(sequence.items).size(), (sequence.items.size() + 100) / 101);
}

TEST(Repetition, LooksAtTheStreamThatComputesLongest) {
  std::vector<TraceRecord> records;
  for (std::int64_t step = 0; step < 6; ++step) {
    for (std::int64_t i = 0; i < 5; ++i) {
      TraceRecord record;
      record.name = static_cast<std::uint32_t>(i);
      record.begin_ns = 1000 * step + 100 * i;
      record.end_ns = record.begin_ns + 90;
      records.push_back(record);
      record.lane = 1;
      record.name = static_cast<std::uint32_t>(7 * step + i * step);
      record.end_ns = record.begin_ns + 5;
      records.push_back(record);
    }
  }
  const auto steps = repeated_work(records);
  ASSERT_EQ(steps.size(), 6U);
  EXPECT_EQ(steps[2], (StepRange{2, 2000, 2000}));
}

}  // namespace
}  // namespace hocket
