#include "profiler/timeline/timeline_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/profiler/timeline/random_profile.h"

namespace hocket {
namespace {

using nlohmann::json;

TimelineInput two_ranks() {
  TimelineInput input;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    RankTrace& trace = input.add(rank);
    trace.host = "h" + std::to_string(rank);
    trace.source = "host";
    trace.records = {record_of(TraceKind::compute, 100, 110),
                     record_of(TraceKind::communication, 105 + 2 * rank, 130, 3, 1)};
    TraceRecord& part = trace.records[1];
    part.collective = CollectiveKind::all_gather;
    part.sequence = 12;
    part.bytes = 4096;
    part.step = 0;
    part.task = 5;
    part.submitted_ns = 90;
    part.ready_ns = 101;
    trace.step_starts = {{0, 100}, {1, 130}};
  }
  return input;
}

TEST(TimelineJson, HasTheLayout) {
  EXPECT_EQ(to_json(two_ranks().timeline()), json::parse(R"({
    "end_ns": 30, "records": 4, "names": ["step 0", "exposed", "a", "b"],
    "ranks": [{"rank": 0, "host": "h0", "source": "host"},
              {"rank": 1, "host": "h1", "source": "host"}],
    "lanes": [
      {"rank": 0, "kind": "iteration", "lane": 0, "title": "iterations", "records": 1},
      {"rank": 0, "kind": "exposed", "lane": 0, "title": "exposed communication", "records": 1},
      {"rank": 0, "kind": "compute", "lane": 0, "title": "stream 0", "records": 1},
      {"rank": 0, "kind": "communication", "lane": 3, "title": "communication 3", "records": 1},
      {"rank": 1, "kind": "exposed", "lane": 0, "title": "exposed communication", "records": 1},
      {"rank": 1, "kind": "compute", "lane": 0, "title": "stream 0", "records": 1},
      {"rank": 1, "kind": "communication", "lane": 3, "title": "communication 3", "records": 1}],
    "iterations": [{"step": 0, "begin_ns": 0, "end_ns": 30}], "notes": []})"));
}

TEST(TimelineJson, HasARecordWithItsPartners) {
  const Timeline timeline = two_ranks().timeline();
  EXPECT_EQ(to_json(*timeline.record(6, 0)), json::parse(R"({
    "name": "b", "kind": "communication", "rank": 1, "lane": 3, "begin_ns": 7, "end_ns": 30,
    "step": 0, "task": 5, "bytes": 4096, "collective": "all_gather", "sequence": 12,
    "submitted_ns": -10, "ready_ns": 1, "arrival_skew_ns": 2,
    "partners": [{"rank": 0, "lane": 3, "record": 0, "begin_ns": 5, "end_ns": 30},
                 {"rank": 1, "lane": 6, "record": 0, "begin_ns": 7, "end_ns": 30}]})"));
  EXPECT_EQ(to_json(*timeline.record(2, 0)), json::parse(R"({
    "name": "a", "kind": "compute", "rank": 0, "lane": 0, "begin_ns": 0, "end_ns": 10,
    "partners": []})"));
}

TEST(TimelineJson, HasTheFiguresOfARange) {
  EXPECT_EQ(to_json(*two_ranks().timeline().range(5, 20)), json::parse(R"({
    "begin_ns": 5, "end_ns": 20,
    "ranks": [{"rank": 0, "compute_ns": 5, "communication_ns": 15, "exposed_ns": 10, "copy_ns": 0,
               "idle_ns": 0, "records": 2},
              {"rank": 1, "compute_ns": 5, "communication_ns": 13, "exposed_ns": 10, "copy_ns": 0,
               "idle_ns": 0, "records": 2}],
    "top": [{"kind": "communication", "name": "b", "records": 2, "busy_ns": 28},
            {"kind": "compute", "name": "a", "records": 2, "busy_ns": 10}]})"));
}

TEST(TimelineJson, HasAMatch) {
  const Timeline timeline = two_ranks().timeline();
  EXPECT_EQ(to_json(*timeline.find({"", LaneKind::exposed, 11})),
            json::parse(R"({"found": null, "matches": 2})"));
  EXPECT_EQ(to_json(*timeline.find({"", LaneKind::exposed, 10})), json::parse(R"({
    "found": {"lane": 1, "record": 0, "begin_ns": 10, "end_ns": 30, "name": "exposed"},
    "matches": 2})"));
}

TEST(TimelineJson, CanBeWrittenWhateverTheNames) {
  TimelineInput input;
  RankTrace& trace = input.add(0);
  trace.names = {"<script>\n\xff\xc0", std::string(20'000, 'x'), std::string("a\0b", 3),
                 "\u202Eright to left", std::string(16'383, 'y') + "\u00e9"};
  trace.host = "\x80";
  trace.source = "\xf8";
  for (std::uint32_t i = 0; i < trace.names.size(); ++i) {
    trace.records.push_back(record_of(TraceKind::compute, i, i + 1, 0, i));
  }
  const Timeline timeline = input.timeline();
  const json layout = json::parse(to_json(timeline).dump());
  EXPECT_EQ(layout["names"][0], "<script> \uFFFD\uFFFD");
  EXPECT_EQ(layout["names"][1].get<std::string>().size(), kMaxTimelineNameBytes);
  EXPECT_EQ(layout["names"][2],
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(layout["names"][3], "\xef\xbf\xbdright to left");
  EXPECT_EQ(layout["ranks"][0]["host"], "\uFFFD");
  for (std::int64_t i = 0; i < timeline.records(); ++i) {
    EXPECT_FALSE(to_json(*timeline.record(0, i)).dump().empty());
  }
  EXPECT_FALSE(to_json(*timeline.range(0, 10)).dump().empty());
  EXPECT_FALSE(to_json(*timeline.find({"\xff"})).dump().empty());
}

TEST(TimelineJson, HasTilesInLittleEndianOrder) {
  EXPECT_EQ(tile_bytes(std::vector<std::uint32_t>{kTileMagic, 0x04030201}),
            std::string("HKT1\x01\x02\x03\x04"));
}

}  // namespace
}  // namespace hocket
