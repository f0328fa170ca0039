#include "core/trace/trace_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

namespace hocket {
namespace {

TraceRecord range(TraceBuilder& builder, const std::string& name, std::int64_t begin_ns,
                  std::int64_t end_ns) {
  TraceRecord record;
  record.kind = TraceKind::range;
  record.name = builder.names().number(name);
  record.begin_ns = begin_ns;
  record.end_ns = end_ns;
  return record;
}

/// Adds work every 100 ns in [from_ns, to_ns).
void add_work(TraceBuilder& builder, std::int64_t from_ns, std::int64_t to_ns) {
  TraceRecord record;
  record.name = builder.names().number("work");
  for (; from_ns < to_ns; from_ns += 100) {
    record.begin_ns = from_ns;
    record.end_ns = from_ns + 50;
    builder.add(record);
  }
}

TraceRecord all_reduce(std::int64_t begin_ns, std::int64_t end_ns) {
  TraceRecord record;
  record.kind = TraceKind::communication;
  record.collective = CollectiveKind::all_reduce;
  record.begin_ns = begin_ns;
  record.end_ns = end_ns;
  return record;
}

TEST(Interner, GivesEqualTextsOneNumber) {
  Interner interner;
  std::mt19937_64 random(1);
  std::vector<std::uint32_t> numbers;
  std::vector<std::string> given;
  for (int i = 0; i < 1000; ++i) {
    given.push_back(std::to_string(random() % 50));
    numbers.push_back(interner.number(given.back()));
  }
  for (std::size_t i = 0; i < given.size(); ++i) EXPECT_EQ(interner.text(numbers[i]), given[i]);
  EXPECT_EQ(interner.texts().size(), std::set<std::string>(given.begin(), given.end()).size());
}

TEST(TraceBuilder, NumbersLanesByWhatSharesThem) {
  TraceBuilder builder;
  EXPECT_EQ(builder.lane(TraceKind::compute, "stream 7"), 0);
  EXPECT_EQ(builder.lane(TraceKind::copy, "stream 9"), 1);
  EXPECT_EQ(builder.lane(TraceKind::copy, "stream 7"), 0);
  EXPECT_EQ(builder.lane(TraceKind::communication, "stream 20"), 0);
  EXPECT_EQ(builder.lane(TraceKind::range, "thread 1"), 0);
  EXPECT_EQ(builder.lane(TraceKind::call, "thread 1"), 0);
  EXPECT_EQ(builder.lane(TraceKind::call, "thread 2"), 1);
}

TEST(TraceBuilder, FindsNamedStepsWithTheirNumbers) {
  TraceBuilder builder;
  builder.add(range(builder, "Step#8", 200, 290));
  builder.add(range(builder, "Step#7", 100, 190));
  builder.add(range(builder, "Step#7 forward", 100, 120));
  builder.add(range(builder, "Other#9", 300, 390));
  builder.add(range(builder, "Step#9", 390, 300));  // invalid: ends before it begins
  const auto steps = named_steps(builder.records(), builder.names(), "Step#");
  EXPECT_EQ(steps, (std::vector<StepRange>{{7, 100, 190}, {8, 200, 290}}));
}

TEST(TraceBuilder, TakesBlanksBeforeTheNumber) {
  TraceBuilder builder;
  builder.add(range(builder, "iteration 7", 100, 190));
  builder.add(range(builder, "iteration 8", 200, 290));
  builder.add(range(builder, "iteration of 9", 210, 220));
  for (const char* prefix : {"iteration", "iteration "}) {
    EXPECT_EQ(named_steps(builder.records(), builder.names(), prefix),
              (std::vector<StepRange>{{7, 100, 190}, {8, 200, 290}}))
        << prefix;
  }
}

TEST(TraceBuilder, CountsNamedStepsWhereNumbersDoNotRise) {
  for (const auto& names :
       std::vector<std::vector<std::string>>{{"step", "step", "step"},
                                             {"step3", "step3", "step3"},
                                             {"step2", "step1", "step"},
                                             {"step99999999999999999999", "step1", "step2"}}) {
    TraceBuilder builder;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto begin_ns = static_cast<std::int64_t>(100 * i);
      builder.add(range(builder, names[i], begin_ns, begin_ns + 90));
    }
    const auto steps = named_steps(builder.records(), builder.names(), "step");
    EXPECT_EQ(steps, (std::vector<StepRange>{{0, 0, 90}, {1, 100, 190}, {2, 200, 290}}))
        << names.front();
  }
}

TEST(TraceBuilder, FindsTheRangesThatRepeatMostEvenly) {
  TraceBuilder builder;
  for (std::int64_t step = 0; step < 5; ++step) {
    const std::int64_t at = 1000 * step + 3 * (step % 2);
    builder.add(range(builder, "iteration " + std::to_string(step + 40), at, at + 996));
    builder.add(range(builder, "forward", at, at + 400));
    for (std::int64_t layer = 0; layer < 4; ++layer) {
      builder.add(range(builder, "layer " + std::to_string(layer), at + 100 * layer,
                        at + 100 * layer + 100));
    }
  }
  add_work(builder, 1, 5000);
  const auto steps = repeated_steps(builder.records(), builder.names());
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_EQ(steps.front(), (StepRange{40, 0, 996}));
  EXPECT_EQ(steps.back(), (StepRange{44, 4000, 4996}));
}

TEST(TraceBuilder, LeavesTheEndOpenWhereEvenRangesDoNotFillTheSteps) {
  TraceBuilder builder;
  for (std::int64_t step = 0; step < 4; ++step) {
    builder.add(range(builder, "forward", 1000 * step, 1000 * step + 400));
  }
  add_work(builder, 1, 4000);
  const auto steps = repeated_steps(builder.records(), builder.names());
  RankTrace trace;
  builder.finish(trace, steps);
  EXPECT_EQ(trace.step_starts, (std::vector<StepStart>{{0, 0}, {1, 1000}, {2, 2000}, {3, 3000}}));
}

TEST(TraceBuilder, FindsNoStepsWhereNothingRepeats) {
  TraceBuilder builder;
  builder.add(range(builder, "a", 0, 10));
  builder.add(range(builder, "a", 20, 30));
  for (int i = 0; i < 5; ++i) builder.add(range(builder, "b", 5 * i, 5 * i + 20));
  for (int i = 0; i < 5; ++i) builder.add(range(builder, "c", 7, 7));
  EXPECT_TRUE(repeated_steps(builder.records(), builder.names()).empty());
}

TEST(TraceBuilder, RangesWithoutWorkAreNoSteps) {
  TraceBuilder builder;
  for (std::int64_t i = 0; i < 20; ++i) {
    // A thread that reads data beats evenly, and long before the work begins.
    builder.add(range(builder, "batch " + std::to_string(i), 100 * i, 100 * i + 100));
    builder.add(range(builder, "train " + std::to_string(i), 50'000 + 70 * i + i % 3,
                      50'000 + 70 * i + 60));
  }
  EXPECT_TRUE(repeated_steps(builder.records(), builder.names()).empty());
  add_work(builder, 50'000, 51'400);
  const auto steps = repeated_steps(builder.records(), builder.names());
  ASSERT_EQ(steps.size(), 20U);
  EXPECT_EQ(steps[3].begin_ns, 50'210);
}

TEST(TraceBuilder, NumberedStepsHaveAWordForAStepAndRisingNumbers) {
  TraceBuilder builder;
  for (std::int64_t i = 0; i < 4; ++i) {
    const std::int64_t at = 1000 * i;
    builder.add(range(builder, "train_step_" + std::to_string(i + 5), at, at + 900));
    builder.add(range(builder, "layer " + std::to_string(i), at, at + 1000));
    builder.add(range(builder, "iteration 1", at, at + 1000));
  }
  EXPECT_TRUE(numbered_steps(builder.records(), builder.names()).empty()) << "there is no work";
  add_work(builder, 10, 4000);
  const auto steps = numbered_steps(builder.records(), builder.names());
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[0].step, 5);
  EXPECT_EQ(steps[3].end_ns, steps[3].begin_ns) << "they do not fill the time";
}

TEST(TraceBuilder, ThreadsThatMarkOneStepMarkItOnce) {
  TraceBuilder builder;
  for (std::int64_t i = 0; i < 3; ++i) {
    builder.add(range(builder, "step " + std::to_string(i), 100 * i, 100 * i + 80));
    builder.add(range(builder, "step " + std::to_string(i), 100 * i + 10, 100 * i + 95));
  }
  EXPECT_EQ(named_steps(builder.records(), builder.names(), "step"),
            (std::vector<StepRange>{{0, 0, 95}, {1, 100, 195}, {2, 200, 295}}));
}

TEST(TraceBuilder, StepsThatMissWorkOfTheDeviceHaveNoWindow) {
  TraceBuilder builder;
  TraceRecord record;
  record.name = builder.names().number("kernel");
  std::vector<StepRange> steps;
  constexpr std::int64_t kStep = 10'000'000;
  for (std::int64_t step = 1; step <= 6; ++step) {
    steps.push_back({step, step * kStep, (step + 1) * kStep});
    for (std::int64_t i = 0; i < 4; ++i) {
      record.submitted_ns = step * kStep + i * 1'000'000;
      record.begin_ns = step < 5 ? record.submitted_ns + 500 : 0;
      record.end_ns = step < 5 ? record.begin_ns + 900'000 : 0;
      builder.add_device_work(record, 7);
    }
  }
  builder.add_lost(2 * kStep + 5);
  EXPECT_EQ(builder.correct().without_times, 8);
  RankTrace trace;
  EXPECT_EQ(builder.finish(trace, steps), 4);
  EXPECT_EQ(trace.quarantined, 8);
  EXPECT_EQ(trace.step_starts,
            (std::vector<StepStart>{
                {1, kStep}, {2, 2 * kStep}, {4, 4 * kStep}, {5, 5 * kStep}, {7, 7 * kStep}}));
  EXPECT_EQ(doubtful_share(trace), 8.0 / 24);
}

TEST(TraceBuilder, GivesRecordsTheStepInWhichTheyWereSubmitted) {
  TraceBuilder builder;
  builder.names().number("kernel");
  TraceRecord record;
  record.begin_ns = 150;
  record.end_ns = 160;
  builder.add(record);  // unknown submission time
  record.submitted_ns = 90;
  builder.add(record);
  record.begin_ns = 10;
  record.submitted_ns = 0;
  builder.add(record);  // before the first step
  record.begin_ns = 230;
  record.end_ns = 240;
  builder.add(record);  // after the last step
  record.end_ns = 5;
  builder.add(record);  // invalid: ends before it begins
  RankTrace trace;
  builder.finish(trace, {{4, 50, 100}, {5, 100, 200}, {5, 120, 130}, {6, 90, 95}});
  EXPECT_EQ(trace.step_starts, (std::vector<StepStart>{{4, 50}, {6, 90}, {7, 95}}));
  RankTrace plain;
  builder.finish(plain, {{4, 50, 100}, {5, 100, 200}});
  EXPECT_EQ(plain.step_starts, (std::vector<StepStart>{{4, 50}, {5, 100}, {6, 200}}));
  ASSERT_EQ(plain.records.size(), 4U);
  EXPECT_EQ(plain.records[0].step, kNoStep);
  EXPECT_EQ(plain.records[1].step, 5);
  EXPECT_EQ(plain.records[2].step, 4);
  EXPECT_EQ(plain.records[3].step, kNoStep);
  EXPECT_EQ(plain.quarantined, 1);
}

/// Returns the sequences of the collectives of `steps` whole steps from `first` on: two groups,
/// each with its own order, interleaved at random.
std::vector<std::pair<std::int64_t, std::int64_t>> sequences(std::int64_t first, std::int64_t steps,
                                                             std::mt19937_64& random) {
  TraceBuilder builder;
  std::vector<StepRange> ranges;
  for (std::int64_t step = first; step < first + steps; ++step) {
    ranges.push_back({step, 1000 * step, 1000 * step + 1000});
    std::vector<std::string> groups{"a", "a", "a", "b", "b"};
    std::shuffle(groups.begin(), groups.end(), random);
    std::int64_t in_a = 0, in_b = 100;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto begin_ns = 1000 * step + 100 * static_cast<std::int64_t>(i);
      TraceRecord record = all_reduce(begin_ns, begin_ns + 50);
      record.bytes = groups[i] == "a" ? in_a++ : in_b++;  // identifies the collective
      builder.add(record, groups[i]);
    }
  }
  builder.names().number("all-reduce");
  RankTrace trace;
  builder.finish(trace, ranges);
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (const TraceRecord& record : trace.records) {
    found.emplace_back(record.step * 1000 + record.bytes, record.sequence);
  }
  return found;
}

TEST(TraceBuilder, NumbersCollectivesAlikeOnRanksThatBeginAtOtherSteps) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::map<std::int64_t, std::int64_t> by_which;
    std::set<std::int64_t> all;
    for (const auto& [which, sequence] : sequences(3, 4, random)) {
      by_which[which] = sequence;
      EXPECT_TRUE(all.insert(sequence).second) << "a sequence comes once";
    }
    for (const auto& [which, sequence] : sequences(5, 3, random)) {
      const auto other = by_which.find(which);
      EXPECT_TRUE(other == by_which.end() || other->second == sequence);
    }
  }
}

TEST(TraceBuilder, NumbersCollectivesWithinTheirGroup) {
  TraceBuilder builder;
  builder.names().number("all-reduce");
  const std::int32_t row = builder.group("tp", {1, 0, 1}), column = builder.group("tp", {0, 2});
  EXPECT_EQ(builder.group("", {}), kAllRanks);
  EXPECT_EQ(builder.group("tp", {0, 1}), row);
  for (std::int64_t i = 0; i < 6; ++i) {
    TraceRecord record = all_reduce(100 * i, 100 * i + 50);
    record.group = i % 2 == 0 ? row : column;
    if (record.group == column) record.sequence = 40 + i;  // the recording's own number
    builder.add(record);
  }
  RankTrace trace;
  builder.finish(trace, {});
  EXPECT_EQ(trace.groups, (std::vector<TraceGroup>{{"tp", {0, 1}}, {"tp", {0, 2}}}));
  for (std::int64_t i = 0; i < 6; ++i) {
    const TraceRecord& record = trace.records[static_cast<std::size_t>(i)];
    EXPECT_EQ(record.group, i % 2 == 0 ? row : column);
    EXPECT_EQ(record.sequence, i % 2 == 0 ? i / 2 : (40 + i) * 1024);
  }
}

TEST(TraceBuilder, TellsPartsOfOneNumberApart) {
  TraceBuilder builder;
  builder.names().number("all-reduce");
  for (const std::int64_t number : {7, 7, 8}) {
    TraceRecord record = all_reduce(10 * std::ssize(builder.records()), 1000);
    record.sequence = number;
    builder.add(record);
  }
  RankTrace trace;
  builder.finish(trace, {});
  EXPECT_EQ(trace.records[0].sequence, 7 * 1024);
  EXPECT_EQ(trace.records[1].sequence, 7 * 1024 + 1);
  EXPECT_EQ(trace.records[2].sequence, 8 * 1024);
}

TEST(TraceBuilder, CountsCollectivesWhereThereAreNoSteps) {
  TraceBuilder builder;
  builder.names().number("all-reduce");
  builder.add(all_reduce(30, 40));
  builder.add(all_reduce(10, 20));
  TraceRecord send = all_reduce(50, 60);
  send.collective.reset();
  builder.add(send);
  RankTrace trace;
  builder.finish(trace, {});
  ASSERT_EQ(trace.records.size(), 3U);
  EXPECT_EQ(trace.records[0].sequence, 0);
  EXPECT_EQ(trace.records[1].sequence, 1);
  EXPECT_EQ(trace.records[2].sequence, kNoSequence);
}

}  // namespace
}  // namespace hocket
