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

/// Adds an iteration of inference: equal layers, between an embedding and a head.
void add_inference(Sequence& sequence, std::uint32_t layers, std::int64_t pause_ns,
                   std::int64_t layer_gap_ns) {
  sequence.add(1, pause_ns);
  for (std::uint32_t layer = 0; layer < layers; ++layer)
    for (std::uint32_t name = 10; name < 13; ++name)
      sequence.add(name, name == 10 ? layer_gap_ns : 0);
  sequence.add(2, 0);
}

TEST(Repetition, LayersAreNoIterations) {
  for (const std::uint32_t layers : {6U, 12U, 80U}) {
    for (const std::int64_t pause_ns : {0, 500, 5000}) {
      for (const std::int64_t layer_gap_ns : {0, 30}) {
        for (const std::size_t iterations : {3U, 4U, 40U}) {
          SCOPED_TRACE(testing::Message() << layers << " layers, " << pause_ns << ", "
                                          << layer_gap_ns << ", " << iterations);
          Sequence sequence;
          for (std::size_t i = 0; i < iterations; ++i)
            add_inference(sequence, layers, pause_ns, layer_gap_ns);
          const auto starts = period_starts(sequence.items);
          ASSERT_GE(starts.size(), iterations - 1);
          ASSERT_LE(starts.size(), iterations);
          for (std::size_t i = 1; i < starts.size(); ++i)
            EXPECT_EQ(starts[i] - starts[i - 1], 3 * layers + 2);
        }
      }
    }
  }
}

TEST(Repetition, WorkOfTwoKindsOfLayersIsInOneIteration) {
  Sequence sequence;
  for (int step = 0; step < 5; ++step) {
    for (int layer = 0; layer < 10; ++layer)
      for (std::uint32_t name = 10; name < 14; ++name) sequence.add(name, 0);
    for (int layer = 0; layer < 4; ++layer)
      for (std::uint32_t name = 20; name < 22; ++name) sequence.add(name, 0);
  }
  const auto starts = period_starts(sequence.items);
  for (std::size_t i = 1; i < starts.size(); ++i) EXPECT_EQ(starts[i] - starts[i - 1], 48U);
}

TEST(Repetition, LeftoversThatDoNotComeBackOftenEnoughLeaveNoPeriod) {
  Sequence sequence;
  for (int i = 0; i < 2; ++i) {
    add_inference(sequence, 12, 500, 0);
    for (std::uint32_t name = 50; name < 55; ++name) sequence.add(name, 0);
  }
  EXPECT_TRUE(period_starts(sequence.items).empty());
}

TEST(Repetition, LayersOfASinglePassAreNoIterations) {
  // An embedding, layers and the choice of a token, as where one pass of inference is recorded.
  // Layers may be of two kinds that alternate.
  for (const int passes : {1, 2}) {
    for (const int kinds : {1, 2}) {
      for (const std::int64_t layer_gap_ns : {1, 4}) {
        SCOPED_TRACE(testing::Message() << passes << ", " << kinds << ", " << layer_gap_ns);
        Sequence sequence;
        for (int i = 0; i < passes; ++i) {
          for (std::uint32_t name = 50; name < 53; ++name) sequence.add(name);
          for (int layer = 0; layer < 36; ++layer) {
            for (std::uint32_t name = 10; name < 18; ++name)
              sequence.add(name, name == 10 ? layer_gap_ns : 1);
            if (layer % kinds == 1) sequence.add(20);
          }
          for (std::uint32_t name = 60; name < 64; ++name) sequence.add(name);
        }
        EXPECT_TRUE(period_starts(sequence.items).empty());
      }
    }
  }
}

TEST(Repetition, WorkThatDoesNotComeBackAtOneEndHidesNoIterations) {
  // A start before the iterations, or an end behind them, is none of a single pass; nor is a long
  // evaluation behind them.
  const auto found = [](bool has_start, int evaluated, bool has_end, int pause_ns = 3) {
    Sequence sequence;
    for (std::uint32_t name = 50; has_start && name < 53; ++name) sequence.add(name);
    for (int i = 0; i < 100; ++i)
      for (std::uint32_t name = 10; name < 16; ++name)
        sequence.add(name, name == 10 ? pause_ns : 1);
    for (int i = 0; i < evaluated; ++i)
      for (std::uint32_t name = 10; name < 13; ++name) sequence.add(name, 0);
    for (std::uint32_t name = 60; has_end && name < 63; ++name) sequence.add(name, 0);
    return period_starts(sequence.items).size();
  };
  EXPECT_GE(found(true, 0, false), 99U);
  EXPECT_GE(found(false, 0, true), 99U);
  EXPECT_GE(found(true, 8, true), 99U);
  EXPECT_EQ(found(true, 0, true), 0U);
  EXPECT_EQ(found(true, 80, true), 0U) << "much of the recording is other work";
  EXPECT_GE(found(true, 0, true, 30), 99U) << "each begins after a long pause, as layers do not";
}

TEST(Repetition, APauseIsATimeInWhichNoStreamWorks) {
  // Layers wait for their collectives on another stream; iterations follow a true pause.
  std::vector<TraceRecord> records;
  std::int64_t at_ns = 0;
  const auto add = [&](std::uint32_t name, std::int64_t time_ns, TraceKind kind) {
    TraceRecord record;
    record.kind = kind;
    record.name = name;
    record.begin_ns = at_ns;
    record.end_ns = at_ns += time_ns;
    records.push_back(record);
  };
  for (int step = 0; step < 4; ++step) {
    add(1, 1000, TraceKind::compute);
    for (int layer = 0; layer < 12; ++layer) {
      add(10, 500, TraceKind::compute);
      add(11, 300, TraceKind::compute);
      add(20, 150'000, TraceKind::communication);
    }
    add(2, 1400, TraceKind::compute);
    at_ns += 3000;
  }
  const auto steps = repeated_work(records);
  ASSERT_GE(steps.size(), 3U);
  EXPECT_EQ(steps[1].begin_ns - steps[0].begin_ns, at_ns / 4);
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
