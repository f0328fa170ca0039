#include "profiler/timeline/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "core/base/intervals.h"
#include "core/trace/message_ends.h"
#include "tests/profiler/timeline/random_profile.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// All fields of a record, in a form that can be compared.
using Fields = std::tuple<std::int64_t, LaneKind, std::int32_t, std::string, std::int64_t,
                          std::int64_t, std::optional<std::int64_t>, std::optional<std::int64_t>,
                          std::optional<std::int64_t>, std::optional<std::int64_t>,
                          std::optional<std::int64_t>, std::optional<std::int64_t>,
                          std::optional<CollectiveKind>>;

std::optional<std::int64_t> known(std::int64_t value, std::int64_t unknown) {
  return value == unknown ? std::nullopt : std::optional(value);
}

/// The fields that all records of `input` should have.
std::vector<Fields> expected_fields(const TimelineInput& input) {
  std::int64_t zero_ns = std::numeric_limits<std::int64_t>::max();
  const auto offset_ns = [&](std::size_t i) {
    return static_cast<std::int64_t>(input.fits[i].offset_ns);
  };
  for (std::size_t i = 0; i < input.traces.size(); ++i) {
    for (const TraceRecord& record : input.traces[i].records)
      zero_ns = std::min(zero_ns, record.begin_ns + offset_ns(i));
    for (const StepStart& start : input.traces[i].step_starts)
      zero_ns = std::min(zero_ns, start.begin_ns + offset_ns(i));
  }
  std::vector<Fields> fields;
  for (std::size_t i = 0; i < input.traces.size(); ++i) {
    const RankTrace& trace = input.traces[i];
    const auto at = [&](std::int64_t ns) { return ns + offset_ns(i) - zero_ns; };
    const auto maybe_at = [&](std::int64_t ns) {
      return ns == 0 ? std::nullopt : std::optional(at(ns));
    };
    for (const TraceRecord& record : trace.records) {
      std::string name = trace.names[record.name];
      std::replace(name.begin(), name.end(), '\n', ' ');
      fields.emplace_back(
          trace.rank, static_cast<LaneKind>(static_cast<int>(record.kind) + 2), record.lane, name,
          at(record.begin_ns), at(record.end_ns), known(record.step, kNoStep),
          known(record.task, kNoTask), known(record.bytes, 0), known(record.sequence, kNoSequence),
          maybe_at(record.submitted_ns), maybe_at(record.ready_ns), record.collective);
    }
  }
  return fields;
}

TEST(Timeline, HasEachRecordInOneLaneWhoseRecordsAreDisjoint) {
  for (std::uint64_t seed = 1; seed <= rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TimelineInput input = random_input(seed);
    const Timeline timeline = input.timeline();
    std::vector<Fields> found;
    const auto lanes = records_by_lane(timeline);
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      for (std::size_t i = 0; i + 1 < lanes[lane].size(); ++i) {
        ASSERT_LE(lanes[lane][i].end_ns, lanes[lane][i + 1].begin_ns);
      }
      for (const RecordDetails& r : lanes[lane]) {
        ASSERT_LE(r.end_ns, timeline.end_ns());
        ASSERT_LT(r.begin_ns, timeline.end_ns());
        ASSERT_GE(r.begin_ns, 0);
        if (!is_own(r.kind)) continue;
        found.emplace_back(r.rank, r.kind, r.lane, r.name, r.begin_ns, r.end_ns, r.step, r.task,
                           r.bytes, r.sequence, r.submitted_ns, r.ready_ns, r.collective);
      }
    }
    auto expected = expected_fields(input);
    EXPECT_EQ(timeline.records(), std::ssize(expected));
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(found, expected);
    EXPECT_THAT(timeline.notes(), IsEmpty());
  }
}

TEST(Timeline, GroupsLanesByRankAndKind) {
  TimelineInput input;
  input.add(2).records = {record_of(TraceKind::range, 10, 20), record_of(TraceKind::call, 10, 20),
                          record_of(TraceKind::copy, 10, 20)};
  RankTrace& first = input.add(1);
  first.records = {record_of(TraceKind::compute, 10, 20, 1), record_of(TraceKind::compute, 5, 8, 0),
                   record_of(TraceKind::communication, 15, 30),
                   record_of(TraceKind::communication, 25, 40)};
  first.step_starts = {{4, 5}, {5, 12}, {6, 40}};
  input.traces[0].step_starts = first.step_starts;
  first.host = "a\xff";
  const Timeline timeline = input.timeline();
  std::vector<std::string> lanes;
  for (const TimelineLane& lane : timeline.lanes()) {
    lanes.push_back(std::to_string(lane.rank) + " " + std::string(to_string(lane.kind)) + " " +
                    std::to_string(lane.lane) + ": " + lane.title + ", " +
                    std::to_string(lane.records));
  }
  EXPECT_THAT(lanes,
              ElementsAre("1 iteration 0: iterations, 2", "1 exposed 0: exposed communication, 1",
                          "1 compute 0: stream 0, 1", "1 compute 1: stream 1, 1",
                          "1 communication 0: communication 0, 1",
                          "1 communication 0: communication 0 (2), 1", "2 copy 0: copies 0, 1",
                          "2 range 0: thread 0, 1", "2 call 0: calls 0, 1"));
  ASSERT_EQ(timeline.iterations().size(), 2u);
  EXPECT_EQ(timeline.iterations()[1].step, 5);
  EXPECT_EQ(timeline.iterations()[1].begin_ns, 7);
  EXPECT_EQ(timeline.iterations()[1].end_ns, 35);
  EXPECT_EQ(timeline.record(0, 1)->name, "step 5");
  EXPECT_EQ(timeline.record(0, 1)->step, 5);
  ASSERT_EQ(timeline.ranks().size(), 2u);
  EXPECT_EQ(timeline.ranks()[0].host, "a\uFFFD");
}

TEST(Timeline, PutsRangesBelowThoseTheyAreNestedIn) {
  TimelineInput input;
  // A step, two layers in it that begin with it and end with it, and an operation in the second.
  input.add(0).records = {record_of(TraceKind::range, 0, 50), record_of(TraceKind::range, 0, 100),
                          record_of(TraceKind::range, 50, 100), record_of(TraceKind::range, 60, 70),
                          record_of(TraceKind::range, 100, 120)};
  const auto lanes = records_by_lane(input.timeline());
  ASSERT_EQ(lanes.size(), 3u);
  const auto begins = [&](std::size_t lane) {
    std::vector<std::int64_t> list;
    for (const RecordDetails& record : lanes[lane]) list.push_back(record.begin_ns);
    return list;
  };
  EXPECT_THAT(begins(0), ElementsAre(0, 100));
  EXPECT_THAT(begins(1), ElementsAre(0, 50));
  EXPECT_THAT(begins(2), ElementsAre(60));
}

TEST(Timeline, KeepsRecordsOfEqualTimes) {
  TimelineInput input;
  input.add(0).records = {record_of(TraceKind::compute, 5, 9), record_of(TraceKind::compute, 5, 5),
                          record_of(TraceKind::compute, 5, 5), record_of(TraceKind::compute, 9, 9),
                          record_of(TraceKind::compute, 5, 9)};
  const auto lanes = records_by_lane(input.timeline());
  ASSERT_EQ(lanes.size(), 2u);
  EXPECT_EQ(lanes[0].size(), 4u) << "records without length share the row";
  EXPECT_EQ(lanes[1].size(), 1u);
}

TEST(Timeline, ShowsExposedCommunication) {
  for (std::uint64_t seed = 1; seed <= rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto lanes = records_by_lane(random_input(seed).timeline());
    std::map<std::int64_t, std::vector<Interval>> exposed, compute, communication;
    for (const auto& lane : lanes) {
      for (const RecordDetails& r : lane) {
        auto& of_kind = r.kind == LaneKind::exposed   ? exposed
                        : r.kind == LaneKind::compute ? compute
                                                      : communication;
        const bool is_meant = r.kind == LaneKind::exposed || r.kind == LaneKind::compute ||
                              r.kind == LaneKind::communication;
        if (is_meant) of_kind[r.rank].push_back({r.begin_ns, r.end_ns});
      }
    }
    for (auto& [rank, intervals] : communication) {
      const auto moving = union_of(intervals), computing = union_of(compute[rank]);
      EXPECT_EQ(union_of(exposed[rank]), exposed[rank]) << "stretches do not touch";
      EXPECT_EQ(length_ns(exposed[rank]),
                length_ns(moving) - length_ns(intersection_of(moving, computing)));
      EXPECT_EQ(intersection_of(exposed[rank], moving), exposed[rank]);
      EXPECT_THAT(intersection_of(exposed[rank], computing), IsEmpty());
      exposed.erase(rank);
    }
    EXPECT_THAT(exposed, IsEmpty());
  }
}

TEST(Timeline, JoinsThePartsOfACollective) {
  TimelineInput input;
  const auto part = [](std::int64_t begin_ns, std::int64_t end_ns, std::int64_t sequence) {
    TraceRecord record = record_of(TraceKind::communication, begin_ns, end_ns);
    record.collective = CollectiveKind::all_reduce;
    record.sequence = sequence;
    return record;
  };
  input.add(0).records = {part(10, 20, 7), part(20, 30, 8), part(30, 40, 9), part(50, 60, 9)};
  input.add(1, 2).records = {part(15, 20, 7), part(30, 40, 9)};
  input.add(2).records = {part(11, 20, 7)};
  input.traces[2].records.push_back(part(25, 30, kNoSequence));
  input.traces[2].records.push_back(part(30, 35, 9));
  input.traces[2].records[2].collective.reset();
  const Timeline timeline = input.timeline();
  const auto record = timeline.record(3, 0);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->rank, 1);
  EXPECT_EQ(record->arrival_skew_ns, 7);
  ASSERT_EQ(record->parts.size(), 3u);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(record->parts[rank].rank, static_cast<std::int64_t>(rank));
    EXPECT_EQ(record->parts[rank].place,
              (RecordPlace{static_cast<std::uint32_t>(2 * rank + 1), 0}));
  }
  EXPECT_EQ(record->parts[1].begin_ns, 7);
  EXPECT_EQ(record->parts[1].end_ns, 12);
  EXPECT_THAT(timeline.record(1, 1)->parts, IsEmpty()) << "no other rank has it";
  EXPECT_EQ(timeline.record(1, 1)->arrival_skew_ns, std::nullopt);
  EXPECT_EQ(timeline.record(1, 2)->parts.size(), 2u);
  EXPECT_THAT(timeline.record(1, 3)->parts, IsEmpty()) << "the first of a sequence counts";
  EXPECT_THAT(timeline.record(5, 2)->parts, IsEmpty()) << "of no known kind";
}

TEST(Timeline, JoinsASendWithItsReceive) {
  TimelineInput input;
  const auto part = [](CollectiveKind kind, std::int64_t sequence) {
    TraceRecord record = record_of(TraceKind::communication, 10 * sequence, 10 * sequence + 5);
    record.collective = kind;
    record.group = static_cast<std::int32_t>(sequence);
    record.sequence = 0;
    return record;
  };
  // The second says no ranks: nothing tells that these are parts of one message.
  input.add(0).records = {part(CollectiveKind::send, 0), part(CollectiveKind::send, 1)};
  input.add(1).records = {part(CollectiveKind::receive, 0), part(CollectiveKind::receive, 1)};
  for (RankTrace& trace : input.traces) trace.groups = {message_group({0, 1}), {"pipeline", {}}};
  const Timeline timeline = input.timeline();
  EXPECT_EQ(timeline.record(1, 0)->parts.size(), 2u);
  EXPECT_THAT(timeline.record(1, 1)->parts, IsEmpty());
}

TEST(Timeline, MayBeEmpty) {
  TimelineInput nothing, no_records;
  no_records.add(0);
  no_records.add(1).records = {record_of(TraceKind::compute, 5, 2)};
  for (const Timeline& timeline : {nothing.timeline(), no_records.timeline()}) {
    EXPECT_EQ(timeline.end_ns(), 1);
    EXPECT_EQ(timeline.records(), 0);
    EXPECT_THAT(timeline.lanes(), IsEmpty());
    EXPECT_THAT(*timeline.tile(0, 0), ElementsAre(kTileMagic, 0));
    EXPECT_EQ(timeline.find({.text = ""})->matches, 0);
    EXPECT_THAT(timeline.range(0, 1)->top, IsEmpty());
  }
  EXPECT_EQ(no_records.timeline().range(-5, 100)->ranks.size(), 2u);
  EXPECT_EQ(no_records.timeline().range(-5, 100)->ranks[1].idle_ns, std::nullopt)
      << "nothing says that it was idle";
}

TEST(Timeline, SaysThatARecordIsMissing) {
  TimelineInput input;
  input.add(0).records = {record_of(TraceKind::compute, 1, 2)};
  const Timeline timeline = input.timeline();
  EXPECT_TRUE(timeline.record(0, 0));
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{1}, std::int64_t{1} << 40}) {
    EXPECT_EQ(timeline.record(wrong, 0).error().code, ErrorCode::not_found);
    EXPECT_EQ(timeline.record(0, wrong).error().code, ErrorCode::not_found);
  }
  EXPECT_EQ(timeline.record(0, 1).error().message, "no record 1 in lane 0, which has 1 records");
}

}  // namespace
}  // namespace hocket
