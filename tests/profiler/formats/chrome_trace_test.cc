#include "profiler/formats/chrome_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <tuple>

#include "core/base/intervals.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

struct RankEvent {
  std::int64_t rank = 0;
  TraceEvent event;
};

std::string trace_of(const std::vector<RankEvent>& events) {
  std::ostringstream out;
  ChromeTraceWriter writer(out);
  for (const auto& [rank, event] : events) writer.rank(rank).record(event);
  EXPECT_TRUE(writer.finish());
  return out.str();
}

/// Returns the events of a phase: complete events or metadata.
std::vector<nlohmann::json> of_phase(const std::string& trace, const std::string& phase) {
  std::vector<nlohmann::json> found;
  const auto document = nlohmann::json::parse(trace);
  for (const auto& event : document.at("traceEvents")) {
    if (event.at("ph") == phase) found.push_back(event);
  }
  return found;
}

std::set<std::int64_t> threads_of(const std::string& trace) {
  std::set<std::int64_t> threads;
  for (const auto& event : of_phase(trace, "X")) threads.insert(event.at("tid").get<int>());
  return threads;
}

std::int64_t nanoseconds(const nlohmann::json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

std::vector<RankEvent> random_events(std::mt19937_64& random) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  std::vector<RankEvent> events(random() % 60);
  for (auto& [rank, event] : events) {
    rank = below(2);
    event.kind = below(2) ? TraceKind::compute : TraceKind::communication;
    event.lane = static_cast<std::int32_t>(below(3));
    event.name = below(2) ? "forward" : "backward";
    event.step = below(3);
    event.begin_ns = below(100'000);
    event.end_ns = event.begin_ns + below(40'000) * below(2);
    event.bytes = below(1 << 20);
  }
  return events;
}

using Plain = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string, std::string,
                         std::int64_t, std::int64_t>;

Plain plain(const RankEvent& e) {
  return {e.rank,
          e.event.begin_ns,
          e.event.end_ns,
          e.event.kind == TraceKind::compute ? "compute" : "communication",
          std::string(e.event.name),
          e.event.step,
          e.event.bytes};
}

Plain plain(const nlohmann::json& e) {
  const auto begin_ns = nanoseconds(e.at("ts"));
  return {e.at("pid"),
          begin_ns,
          begin_ns + nanoseconds(e.at("dur")),
          e.at("cat"),
          e.at("name"),
          e.at("args").at("step"),
          e.at("args").at("bytes")};
}

TEST(ChromeTrace, HoldsEveryEventOnceAndNoThreadHasTwoAtATime) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto events = random_events(random);
    const auto written = of_phase(trace_of(events), "X");

    std::multiset<Plain> expected, found;
    for (const auto& event : events) expected.insert(plain(event));
    for (const auto& event : written) found.insert(plain(event));
    ASSERT_EQ(found, expected);

    std::map<std::int64_t, std::vector<Interval>> threads;
    for (const auto& event : written) {
      const auto begin_ns = nanoseconds(event.at("ts"));
      threads[event.at("tid")].push_back({begin_ns, begin_ns + nanoseconds(event.at("dur"))});
    }
    for (auto& [thread, intervals] : threads) {
      for (std::size_t i = 1; i < intervals.size(); ++i) {
        ASSERT_GE(intervals[i].begin_ns, intervals[i - 1].end_ns) << "thread " << thread;
      }
    }
  }
}

TEST(ChromeTrace, KeepsToTheGivenLaneWhereNothingOverlaps) {
  std::vector<RankEvent> events;
  for (std::int64_t i = 0; i < 100; ++i) {
    events.push_back({0, {TraceKind::compute, 0, "task", 0, 10 * i, 10 * i + 10, 0}});
  }
  EXPECT_EQ(threads_of(trace_of(events)).size(), 1U);
}

TEST(ChromeTrace, UsesNoMoreThreadsThanRunAtOnceWhenEventsComeAsTheyEnd) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto events = random_events(random);
    for (auto& [rank, event] : events) {
      rank = 0;
      event.kind = TraceKind::compute;
      event.lane = 0;
      event.end_ns = std::max(event.end_ns, event.begin_ns + 1);
    }
    std::sort(events.begin(), events.end(),
              [](const auto& a, const auto& b) { return a.event.end_ns < b.event.end_ns; });
    std::int64_t most = 0;
    for (const auto& a : events) {
      most = std::max<std::int64_t>(
          most, std::count_if(events.begin(), events.end(), [&](const auto& b) {
            return b.event.begin_ns <= a.event.begin_ns && a.event.begin_ns < b.event.end_ns;
          }));
    }
    EXPECT_EQ(static_cast<std::int64_t>(threads_of(trace_of(events)).size()), most);
  }
}

TEST(ChromeTrace, NamesProcessesAndThreads) {
  const std::vector<RankEvent> events = {
      {1, {TraceKind::communication, 2, "gradient", 0, 0, 10, 64}},
      {1, {TraceKind::communication, 2, "gradient", 0, 5, 15, 64}},
      {1, {TraceKind::compute, 0, "forward", 0, 0, 10, 0}},
      {0, {TraceKind::compute, 0, "forward", 0, 0, 10, 0}},
  };
  const auto trace = trace_of(events);
  std::map<std::int64_t, std::string> processes, threads;
  std::map<std::string, std::int64_t> order;
  for (const auto& event : of_phase(trace, "M")) {
    const auto& arguments = event.at("args");
    if (event.at("name") == "process_name") processes[event.at("pid")] = arguments.at("name");
    if (event.at("name") == "thread_name") {
      threads[event.at("tid")] = std::to_string(event.at("pid").get<int>()) + ": " +
                                 arguments.at("name").get<std::string>();
    }
    if (event.at("name") == "thread_sort_index") {
      order[threads.at(event.at("tid"))] = arguments.at("sort_index");
    }
  }
  EXPECT_EQ(processes, (std::map<std::int64_t, std::string>{{0, "rank 0"}, {1, "rank 1"}}));
  EXPECT_EQ(threads_of(trace).size(), 4U) << "one number for each thread of the file";
  EXPECT_EQ(order, (std::map<std::string, std::int64_t>{{"0: stream 0", 0},
                                                        {"1: stream 0", 1},
                                                        {"1: communication 2", 2},
                                                        {"1: communication 2 (2)", 3}}));
}

TEST(ChromeTrace, KeepsNanosecondsAndAnyName) {
  const std::string name = "a\"b\\c\n\x01\xff é";
  const std::vector<RankEvent> events = {
      {0, {TraceKind::compute, 0, name, 7, 1'234'567'890'123'456, 1'234'567'890'123'463, 0}},
      {0, {TraceKind::compute, 1, "early", 0, -1'001, -999, 0}},
      {0, {TraceKind::compute, 2, "", 0, -5, 1'050, 0}},
  };
  const auto trace = trace_of(events);
  EXPECT_THAT(trace, HasSubstr("\"ts\":1234567890123.456,\"dur\":0.007,"));
  EXPECT_THAT(trace, HasSubstr("\"ts\":-1.001,\"dur\":0.002,"));
  EXPECT_THAT(trace, HasSubstr("\"ts\":-0.005,\"dur\":1.055,"));
  EXPECT_EQ(of_phase(trace, "X").at(0).at("name"), "a\"b\\c\n\x01\xEF\xBF\xBD é");
}

TEST(ChromeTrace, IsValidWhenNothingWasRecordedAndWhenItWasNotFinished) {
  EXPECT_TRUE(of_phase(trace_of({}), "X").empty());
  std::ostringstream out;
  {
    ChromeTraceWriter writer(out);
    writer.rank(3).record({TraceKind::compute, 0, "task", 0, 0, 1, 0});
  }
  EXPECT_EQ(of_phase(out.str(), "X").size(), 1U);
}

TEST(ChromeTrace, SaysWhenItCouldNotBeWritten) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  ChromeTraceWriter writer(out);
  const auto finished = writer.finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace hocket
