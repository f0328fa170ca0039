#include "profiler/formats/dialects/horovod_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/profiler/formats/dialects/dialect_import.h"

namespace hocket::dialects {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// Steps of 10 ms with collectives of `tensors` tensors, one after another: 400 us until the last
/// rank is ready, and 1,000 us for the collective. Rank `step` % `ranks` is last.
struct Timeline {
  int tensors = 4, steps = 20, ranks = 2;
  std::string operation = "ALLREDUCE";
  bool has_ticks = true;

  json events() const {
    json events = json::array();
    events.push_back({{"ph", "M"},
                      {"name", "process_name"},
                      {"pid", 0},
                      {"args", {{"start_time_since_epoch_in_micros", 1'700'000'000'000'000}}}});
    for (int i = 0; i < tensors; ++i) events.push_back(named(i + 1, "grad." + std::to_string(i)));
    for (int step = 0; step < steps; ++step)
      for (int i = 0; i < tensors; ++i) add(events, i + 1, 10'000 * step + 1500 * i, step % ranks);
    return events;
  }

 private:
  void add(json& events, int process, int at, int last) const {
    const auto event = [&](const char* phase, const std::string& name, int ts) {
      json made = {{"ph", phase}, {"ts", ts}, {"pid", process}};
      if (!name.empty()) made["name"] = name;
      events.push_back(made);
    };
    event("B", "NEGOTIATE_" + operation, at);
    for (int i = 1; has_ticks && i <= ranks; ++i) {
      event("X", std::to_string((last + i) % ranks), i == ranks ? at + 400 : at);
      events.back()["dur"] = 0;
    }
    event("E", "", at + 400);
    event("B", operation, at + 400);
    event("B", "NCCL_" + operation, at + 500);
    event("E", "", at + 1300);
    event("E", "", at + 1400);
  }
};

TEST(HorovodEvents, EachTensorsCollectivesAreCommunication) {
  const auto import = read(Timeline().events());
  ASSERT_EQ(import.traces.size(), 1U);
  const RankTrace& trace = import.traces[0];
  EXPECT_EQ(trace.source, "horovod");
  EXPECT_EQ(trace.rank, 0);
  EXPECT_EQ(trace.ranks, 2);
  EXPECT_EQ(count(trace, TraceKind::communication, CollectiveKind::all_reduce), 80);
  EXPECT_EQ(total_ns(trace, TraceKind::communication), 80'000'000);
  EXPECT_EQ(count(trace, TraceKind::compute), 0);
  // 32 ms of negotiations, and 64 ms of activities within the collectives.
  EXPECT_EQ(count(trace, TraceKind::range), 160);
  EXPECT_EQ(total_ns(trace, TraceKind::range), 96'000'000);
  EXPECT_EQ(trace.step_starts.size(), 20U);
  EXPECT_THAT(trace.names, Contains("grad.3"));
  EXPECT_THAT(import.notes, Contains(HasSubstr("80 negotiations waited for all ranks to be ready: "
                                               "32 ms in all, 0.4 ms in the middle")));
}

TEST(HorovodEvents, NotesSayWhoWasReadyLast) {
  const auto import = read(Timeline{.tensors = 2, .steps = 7, .ranks = 3}.events());
  EXPECT_EQ(import.traces[0].ranks, 3);
  EXPECT_THAT(import.notes,
              Contains(HasSubstr("ready last of 14 negotiations: rank 0 in 6, rank 1 in 4, rank 2 "
                                 "in 4; in the middle 0.4 ms after the first rank")));
}

TEST(HorovodEvents, OtherOperationsAndNamesAtTheEndOfTheFileAreRead) {
  json events = Timeline{.tensors = 3, .operation = "ALLGATHER"}.events();
  std::rotate(events.begin(), events.begin() + 4, events.end());
  const auto import = read(events);
  ASSERT_EQ(import.traces.size(), 1U);
  EXPECT_EQ(count(import.traces[0], TraceKind::communication, CollectiveKind::all_gather), 60);
  EXPECT_THAT(import.traces[0].names, Contains("grad.1"));
}

TEST(HorovodEvents, WithoutTicksNobodyIsSaidToBeLast) {
  const auto import = read(Timeline{.has_ticks = false}.events());
  EXPECT_EQ(count(import.traces[0], TraceKind::communication), 80);
  EXPECT_THAT(import.notes, Not(Contains(HasSubstr("ready last"))));
}

TEST(HorovodEvents, ACollectiveWithoutAnEndIsLeftOut) {
  json events = Timeline{.tensors = 1, .steps = 3}.events();
  events.erase(events.size() - 1);
  const auto import = read(events);
  ASSERT_EQ(import.traces.size(), 1U);
  EXPECT_EQ(count(import.traces[0], TraceKind::communication), 2);
  EXPECT_EQ(import.traces[0].quarantined, 1);
}

TEST(HorovodEvents, FusedTensorsHaveLanesOfTheirOwn) {
  json events = json::array();
  for (int tensor = 0; tensor < 3; ++tensor) {
    events.push_back(named(tensor, "grad." + std::to_string(tensor)));
    events.push_back({{"ph", "B"}, {"name", "ALLREDUCE"}, {"ts", 100}, {"pid", tensor}});
    events.push_back({{"ph", "E"}, {"ts", 300}, {"pid", tensor}});
  }
  const auto import = read(events);
  ASSERT_EQ(count(import.traces.at(0), TraceKind::communication), 3);
  EXPECT_EQ(import.traces[0].records[2].lane, 2);
}

}  // namespace
}  // namespace hocket::dialects
