#include "profiler/formats/dialects/horovod_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

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
  const auto import = read(Timeline{.has_ticks = false}.events());
  ASSERT_EQ(import.traces.size(), 1U);
  const RankTrace& trace = import.traces[0];
  EXPECT_EQ(trace.source, "horovod");
  EXPECT_EQ(trace.rank, 0);
  EXPECT_EQ(trace.ranks, 1);
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

TEST(HorovodEvents, EachRanksCollectivesBeginWhereItWasReady) {
  const auto import = read(Timeline().events());
  ASSERT_EQ(import.traces.size(), 2U);
  std::vector<std::int64_t> sequences;
  for (const RankTrace& trace : import.traces) {
    SCOPED_TRACE(trace.rank);
    EXPECT_EQ(trace.ranks, 2);
    // In every other step the rank is last, and waits for no other.
    EXPECT_EQ(total_ns(trace, TraceKind::communication), 40 * 1'000'000 + 40 * 1'400'000);
    EXPECT_EQ(trace.step_starts.size(), 20U);
    std::vector<std::int64_t> own;
    for (const TraceRecord& record : trace.records)
      if (record.kind == TraceKind::communication) own.push_back(record.sequence);
    EXPECT_EQ(own.size(), 80U);
    std::ranges::sort(own);
    if (sequences.empty()) sequences = own;
    EXPECT_EQ(own, sequences) << "the ranks' collectives must pair";
  }
  EXPECT_EQ(import.traces[0].rank, 0);
  EXPECT_EQ(import.traces[1].rank, 1);
  EXPECT_EQ(count(import.traces[1], TraceKind::range), 0) << "they are those of rank 0";
}

TEST(HorovodEvents, CollectivesPairByWhatTheyAreAlsoIfRanksAreReadyInAnotherOrder) {
  json events = json::array({named(1, "a"), named(2, "b")});
  const auto add = [&](const char* phase, const std::string& name, int ts, int process) {
    events.push_back({{"ph", phase}, {"name", name}, {"ts", ts}, {"pid", process}, {"dur", 0}});
  };
  // Rank 0 is ready with a first, rank 1 with b.
  for (const auto& [process, first, second] : {std::tuple(1, "0", "1"), std::tuple(2, "1", "0")}) {
    add("B", "NEGOTIATE_ALLREDUCE", process, process);
    add("X", first, process, process);
    add("X", second, 100 - process, process);
    add("E", "", 100, process);
    add("B", "ALLREDUCE", 100 + 50 * process, process);
    add("E", "", 140 + 50 * process, process);
  }
  const auto import = read(events);
  ASSERT_EQ(import.traces.size(), 2U);
  std::map<std::string, std::set<std::int64_t>> sequences;
  for (const RankTrace& trace : import.traces) {
    ASSERT_EQ(trace.records.size(), 4U - 2U * static_cast<std::size_t>(trace.rank));
    for (const TraceRecord& record : trace.records) {
      if (record.kind != TraceKind::communication) continue;
      const bool is_a = trace.names[record.name] == "a";
      sequences[trace.names[record.name]].insert(record.sequence);
      EXPECT_EQ(record.end_ns, is_a ? 190'000 : 240'000);
      EXPECT_EQ(record.begin_ns / 1000,
                trace.rank == (is_a ? 0 : 1) ? (is_a ? 1 : 2) : (is_a ? 99 : 98));
    }
  }
  EXPECT_EQ(sequences["a"].size(), 1U);
  EXPECT_EQ(sequences["b"].size(), 1U);
  EXPECT_NE(sequences["a"], sequences["b"]);
}

TEST(HorovodEvents, RanksOfWhichMuchIsNotKnownAreNotTakenApart) {
  json events = Timeline{.tensors = 1, .steps = 10}.events();
  // Two of ten collectives lack the ticks of a rank, as those that a cache answers do.
  int left = 2;
  for (auto event = events.begin(); event != events.end() && left > 0;) {
    const bool is_tick = (*event)["ph"] == "X" && (*event)["name"] == "1";
    left -= is_tick;
    event = is_tick ? events.erase(event) : event + 1;
  }
  const auto import = read(events);
  ASSERT_EQ(import.traces.size(), 1U);
  EXPECT_EQ(total_ns(import.traces[0], TraceKind::communication), 10 * 1'000'000);
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
  ASSERT_EQ(import.traces.size(), 2U);
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
  ASSERT_EQ(import.traces.size(), 2U);
  EXPECT_EQ(count(import.traces[0], TraceKind::communication), 2);
  EXPECT_EQ(import.traces[0].quarantined, 1);
  EXPECT_EQ(import.traces[1].quarantined, 0);
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
