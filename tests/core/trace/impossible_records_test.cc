#include "core/trace/impossible_records.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hocket {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Work of streams, and calls of the host.
class Recording {
 public:
  std::size_t add(std::int64_t begin_ns, std::int64_t end_ns, std::int64_t submitted_ns = 0,
                  std::int32_t stream = 7, std::uint32_t name = 0) {
    TraceRecord record;
    record.kind = stream == kOnHost ? TraceKind::call : TraceKind::compute;
    record.begin_ns = begin_ns;
    record.end_ns = end_ns;
    record.submitted_ns = submitted_ns;
    record.name = name;
    records.push_back(record);
    streams.push_back(stream);
    return records.size() - 1;
  }

  ImpossibleRecords find() { return find_impossible(records, streams, is_left_out); }

  std::vector<TraceRecord> records;
  std::vector<std::int32_t> streams;
  std::vector<bool> is_left_out;
};

TEST(ImpossibleRecords, LeavesACleanRecordingAlone) {
  Recording recording;
  for (std::int64_t i = 0; i < 20; ++i) {
    recording.add(i * kMs, i * kMs + 5000, 0, kOnHost);
    // Rounded times overlap a little, and clocks differ a little.
    recording.add(i * kMs, (i + 1) * kMs + 900, i * kMs + 20'000);
  }
  const auto before = recording.records;
  const auto found = recording.find();
  EXPECT_EQ(found.left_out(), 0);
  EXPECT_EQ(found.shortened, 0);
  EXPECT_EQ(found.overlapping, 0);
  EXPECT_EQ(found.clocks_differ_by_ns, 0);
  EXPECT_EQ(recording.records, before);
  EXPECT_EQ(std::ranges::count(recording.is_left_out, true), 0);
}

TEST(ImpossibleRecords, WorkBeforeItsLaunchIsLeftOutWithItsLaunch) {
  Recording recording;
  for (std::int64_t i = 1; i <= 10; ++i) recording.add(i * 10 * kMs, i * 10 * kMs + kMs, i * kMs);
  const std::size_t zero = recording.add(0, 0, 5 * kMs),
                    early = recording.add(kMs, 2 * kMs, 30 * kMs), unknown = recording.add(0, 0);
  const auto found = recording.find();
  EXPECT_EQ(found.without_times, 2);
  EXPECT_EQ(found.before_launch, 1);
  EXPECT_EQ(found.lost_launches_ns, (std::vector<std::int64_t>{5 * kMs, 30 * kMs}));
  EXPECT_EQ(found.lost_without_launch, 1);
  for (const std::size_t i : {zero, early, unknown}) EXPECT_TRUE(recording.is_left_out[i]);
  EXPECT_EQ(std::ranges::count(recording.is_left_out, true), 3);
}

TEST(ImpossibleRecords, WorkHoursAwayIsOnAnotherClock) {
  for (const bool with_host : {false, true}) {
    SCOPED_TRACE(with_host);
    Recording recording;
    for (std::int64_t i = 0; i < 20; ++i) {
      recording.add(1000 * kMs * 1000 + i * kMs, 1000 * kMs * 1000 + i * kMs + 5000);
      if (with_host)
        recording.add(1000 * kMs * 1000 + i * kMs, 1000 * kMs * 1000 + i * kMs, 0, kOnHost);
    }
    recording.add(10'000'000 * kMs, 10'000'001 * kMs);
    recording.add(kMs, 2 * kMs);
    const auto found = recording.find();
    EXPECT_EQ(found.on_another_clock, 2);
    EXPECT_TRUE(recording.is_left_out[recording.records.size() - 2]);
    EXPECT_TRUE(recording.is_left_out.back());
  }
}

TEST(ImpossibleRecords, AShiftedClockKeepsItsWorkWithoutLaunches) {
  Recording recording;
  for (std::int64_t i = 1; i <= 10; ++i)
    recording.add(i * 10 * kMs, i * 10 * kMs + kMs, i * 10 * kMs + 5 * kMs);
  const auto found = recording.find();
  EXPECT_EQ(found.left_out(), 0);
  EXPECT_EQ(found.clocks_differ_by_ns, 5 * kMs);
  for (const TraceRecord& record : recording.records) EXPECT_EQ(record.submitted_ns, 0);
}

TEST(ImpossibleRecords, ALateEndIsCutWhereTheNextBegins) {
  Recording recording;
  for (std::int64_t i = 0; i < 10; ++i)
    for (std::uint32_t name = 0; name < 4; ++name) {
      const std::int64_t begin_ns = (4 * i + name) * kMs;
      recording.add(begin_ns, begin_ns + kMs, 0, 7, name);
      // Another stream runs beside it.
      recording.add(begin_ns, begin_ns + kMs, 0, 20, name);
    }
  recording.records[2 * 9].end_ns = 1600 * kMs;
  recording.records[2 * 22].end_ns += 3 * kMs;
  const auto found = recording.find();
  EXPECT_EQ(found.shortened, 2);
  EXPECT_EQ(found.overlapping, 0);
  EXPECT_EQ(recording.records[2 * 9].end_ns, 10 * kMs);
  EXPECT_EQ(recording.records[2 * 22].end_ns, 23 * kMs);
}

TEST(ImpossibleRecords, BranchesOfAGraphAreKeptAndCounted) {
  Recording recording;
  for (std::int64_t i = 0; i < 10; ++i) {
    recording.add(i * kMs, i * kMs + 900'000, 0, 7, 1);
    recording.add(i * kMs + 50'000, i * kMs + 100'000, 0, 7, 2);
  }
  // Without a known queue nothing can be said.
  recording.add(0, 100 * kMs, 0, kUnknownStream, 3);
  const auto before = recording.records;
  const auto found = recording.find();
  EXPECT_EQ(found.shortened, 0);
  EXPECT_EQ(found.overlapping, 10);
  EXPECT_EQ(recording.records, before);
}

std::vector<StepStart> starts(std::int64_t count) {
  std::vector<StepStart> all;
  for (std::int64_t step = 0; step < count; ++step) all.push_back({step, 10 * step});
  return all;
}

/// Returns the steps that have a window.
std::vector<std::int64_t> windows(const std::vector<StepStart>& all) {
  std::vector<std::int64_t> steps;
  for (std::size_t i = 0; i + 1 < all.size(); ++i)
    if (all[i + 1].step == all[i].step + 1) steps.push_back(all[i].step);
  return steps;
}

std::vector<StepLoss> losses(std::int64_t count, const std::vector<std::int64_t>& steps,
                             std::int64_t lost) {
  std::vector<StepLoss> all;
  for (std::int64_t step = 0; step < count; ++step) {
    const bool loses = std::ranges::find(steps, step) != steps.end();
    all.push_back({step, loses ? lost : 0, loses ? 100 - lost : 100});
  }
  return all;
}

TEST(IncompleteSteps, HaveNoWindow) {
  struct Case {
    std::vector<std::int64_t> incomplete, windows;
  };
  const std::vector<Case> cases = {
      {{}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}, {{5, 6, 7, 8, 9}, {0, 1, 2, 3, 4}},
      {{0, 1}, {2, 3, 4, 5, 6, 7, 8, 9}},   {{4, 5}, {0, 1, 2, 3, 6, 7, 8, 9}},
      {{1, 4, 6, 9}, {0, 3, 7, 8}},  // a single one takes its neighbour along
      {{9}, {0, 1, 2, 3, 4, 5, 6, 7, 8}},   {{0}, {1, 2, 3, 4, 5, 6, 7, 8, 9}},
  };
  for (const Case& each : cases) {
    auto all = starts(11);
    const auto gone = remove_incomplete_steps(all, losses(10, each.incomplete, 20), 0);
    EXPECT_EQ(windows(all), each.windows);
    EXPECT_EQ(gone, 10 - std::ssize(each.windows));
  }
}

TEST(IncompleteSteps, AFewLostRecordsOfEachAreNoMatter) {
  auto all = starts(11);
  EXPECT_EQ(remove_incomplete_steps(all, losses(10, {1, 2, 3}, 4), 0), 0);
  EXPECT_EQ(windows(all).size(), 10U);
  // Nothing would be left, but less than a tenth is lost.
  EXPECT_EQ(remove_incomplete_steps(all, losses(10, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 7), 0), 0);
  EXPECT_EQ(remove_incomplete_steps(all, losses(10, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 20), 0), 10);
  EXPECT_TRUE(all.empty());
}

TEST(IncompleteSteps, AreThoseWithLessWorkWhereLaunchesAreUnknown) {
  auto all = starts(11);
  auto loss = losses(10, {}, 0);
  for (std::int64_t step = 5; step < 10; ++step) loss[static_cast<std::size_t>(step)].kept = 3;
  loss.pop_back();  // the last step has nothing at all
  EXPECT_EQ(remove_incomplete_steps(all, loss, 485), 5);
  EXPECT_EQ(windows(all), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace hocket
