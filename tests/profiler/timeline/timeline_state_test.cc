#include "profiler/timeline/timeline_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profiler/timeline/random_profile.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TimelineState, LeavesOutWhatCannotBeDrawn) {
  TimelineInput input;
  RankTrace& trace = input.add(0);
  trace.records = {record_of(TraceKind::compute, 5, 2), record_of(TraceKind::compute, 7, 9, 0, 2),
                   record_of(TraceKind::compute, -1, 9), record_of(TraceKind::compute, 10, 20)};
  for (std::int64_t i = 0; i < 300; ++i) {
    trace.records.push_back(record_of(TraceKind::call, 100 + i, 1000));
  }
  const Timeline timeline = input.timeline();
  EXPECT_EQ(timeline.records(), 1 + 256);
  EXPECT_EQ(timeline.lanes().size(), 1u + 256);
  EXPECT_THAT(timeline.notes(), ElementsAre(AllOf(HasSubstr("44 records overlap with 256 others"),
                                                  HasSubstr("left out"))));
}

TEST(TimelineState, BoundsTheNumberOfLanes) {
  TimelineInput input;
  RankTrace& trace = input.add(0);
  for (std::int32_t lane = 0; lane < 65'540; ++lane) {
    trace.records.push_back(record_of(TraceKind::copy, 10, 20, lane));
  }
  const Timeline timeline = input.timeline();
  EXPECT_EQ(timeline.lanes().size(), 65'536u);
  EXPECT_EQ(timeline.records(), 65'536);
  EXPECT_EQ(timeline.range(0, 10)->ranks[0].copy_ns, 10);
  EXPECT_THAT(timeline.notes(), ElementsAre(HasSubstr("4 records are left out because")));
}

TEST(TimelineState, HoldsAMillionRecordsInLittleMemory) {
  constexpr std::int64_t kRecords = 1'000'000;
  TimelineInput input;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    RankTrace& trace = input.add(rank, rank);
    for (std::int64_t i = 0; i < kRecords / 2; ++i) {
      TraceRecord record =
          record_of(i % 2 ? TraceKind::communication : TraceKind::compute,
                    1'700'000'000'000'000'000 + 100 * i, 1'700'000'000'000'000'000 + 100 * i + 150);
      record.step = i / 1000;
      record.task = i % 1000;
      record.submitted_ns = record.begin_ns - 5000;
      record.ready_ns = record.begin_ns - 50;
      if (i % 2) {
        record.collective = CollectiveKind::all_reduce;
        record.sequence = (i / 1000 << 20) + i % 1000;
        record.bytes = 1 << 20;
      }
      trace.records.push_back(record);
    }
  }
  const Timeline timeline = input.timeline();
  EXPECT_EQ(timeline.records(), kRecords);
  EXPECT_EQ(timeline.end_ns(), 100 * (kRecords / 2 - 1) + 151);
  const std::size_t exposed = timeline.lanes()[0].records;
  EXPECT_EQ(exposed, static_cast<std::size_t>(kRecords / 4));
  // Parts of collectives, half of the records, take most.
  EXPECT_LE(timeline.bytes(), 50u * kRecords + 30u * 2 * exposed);
  const auto figures = timeline.range(0, timeline.end_ns());
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->ranks[0].records, kRecords / 2);
  EXPECT_EQ(figures->ranks[0].compute_ns, kRecords / 4 * 150);
  EXPECT_LE(timeline.tile(0, 0)->size(), 2 + 6 * (2 + 1026 * 7u));
}

}  // namespace
}  // namespace hocket
