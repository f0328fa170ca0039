// Reports on traces that programs and profilers write wrongly, or of which nothing is known.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "archive/profiles/import/import_profile.h"
#include "archive/profiles/report/trace_report.h"
#include "tests/store/sqlite/nsight_export.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr double kMillisecond = 1e6;

/// A job's rank as Kineto writes it, with known figures. A step of 10 ms computes for 8 ms (0.5 to
/// 4.5 and 4.6 to 8.6), and communicates from 6 to 7.5 and, exposed, from 8.6 to 9.6.
class KnownJob {
 public:
  explicit KnownJob(int rank, int steps = 10) : rank_(rank) {
    for (int step = 0; step < steps; ++step) {
      const double at = 10'000.0 * step;
      events.push_back({{"ph", "X"},
                        {"cat", "user_annotation"},
                        {"name", "ProfilerStep#" + std::to_string(step)},
                        {"pid", 100},
                        {"tid", 100},
                        {"ts", at},
                        {"dur", 10'000}});
      for (int i = 0; i < 4; ++i) add("forward_" + std::to_string(i), at + 500 + 1000 * i, 1000, 7);
      for (int i = 0; i < 4; ++i)
        add("backward_" + std::to_string(i), at + 4600 + 1000 * i, 1000, 7);
      add(kAllReduce, at + 6000, 1500, 20);
      add(kAllReduce, at + 8600, 1000, 20);
    }
  }

  std::string text() const {
    return json{{"schemaVersion", 1},
                {"distributedInfo", {{"backend", "nccl"}, {"rank", rank_}, {"world_size", 2}}},
                {"baseTimeNanoseconds", 1'750'000'000'000'000'000},
                {"traceEvents", events}}
        .dump();
  }

  /// Returns the kernels, in order.
  std::vector<json*> kernels() {
    std::vector<json*> found;
    for (json& event : events)
      if (event["cat"] == "kernel") found.push_back(&event);
    return found;
  }

  json events = json::array();

 private:
  static constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)";

  void add(const std::string& name, double begin, double time, int stream) {
    ++id_;
    events.push_back({{"ph", "X"},
                      {"cat", "cuda_runtime"},
                      {"name", "cudaLaunchKernel"},
                      {"pid", 100},
                      {"tid", 100},
                      {"ts", begin - 40},
                      {"dur", 5},
                      {"args", {{"correlation", id_}}}});
    events.push_back({{"ph", "X"},
                      {"cat", "kernel"},
                      {"name", name},
                      {"pid", rank_},
                      {"tid", stream},
                      {"ts", begin},
                      {"dur", time},
                      {"args", {{"stream", stream}, {"device", rank_}, {"correlation", id_}}}});
  }

  int rank_ = 0, id_ = 0;
};

class ImportedReports : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_.file(name), std::ios::binary) << text;
    return folder_.file(name);
  }

  TraceReport report(const std::vector<std::string>& paths, const std::string& step_range = {}) {
    auto imported = read_traces({.paths = paths, .step_range = step_range});
    EXPECT_TRUE(imported) << imported.error().message;
    const auto settled = settle_ranks(*imported);
    EXPECT_TRUE(settled) << settled.error().message;
    auto notes = joined_notes(*imported);
    std::vector<RankTrace> traces;
    for (ImportedTrace& each : imported->traces) traces.push_back(std::move(each.trace));
    return report_traces(std::move(traces), std::move(notes));
  }

  /// Reports on two ranks that `change` was applied to.
  template <class Change>
  TraceReport report_of(Change&& change) {
    std::vector<std::string> paths;
    for (int rank = 0; rank < 2; ++rank) {
      KnownJob job(rank);
      change(job);
      paths.push_back(file("rank" + std::to_string(rank) + ".json", job.text()));
    }
    return report(paths);
  }

  static void expect_known(const TraceReport& report) {
    ASSERT_THAT(report.ranks, SizeIs(2));
    for (const RankReport& rank : report.ranks) {
      EXPECT_EQ(rank.iteration_ns, 10 * kMillisecond);
      EXPECT_EQ(rank.compute_ns, 8 * kMillisecond);
      EXPECT_EQ(rank.communication_ns, 2.5 * kMillisecond);
      EXPECT_EQ(rank.exposed_ns, 1 * kMillisecond);
      EXPECT_EQ(rank.idle_ns, 1 * kMillisecond);
    }
  }

  TemporaryFolder folder_;
};

void lose_times(json& event) {
  event["ts"] = 0;
  event["dur"] = 0;
}

TEST_F(ImportedReports, OfAGoodRecordingSayNothingWasLeftOut) {
  const auto good = report_of([](KnownJob&) {});
  expect_known(good);
  EXPECT_EQ(good.ranks[0].iterations, 10);
  EXPECT_THAT(good.notes, Not(Contains(HasSubstr("cannot be true"))));
  EXPECT_THAT(good.advice, Not(IsEmpty()));
}

TEST_F(ImportedReports, KernelsAtTimeZeroAreNoIdleTime) {
  const auto half = report_of([](KnownJob& job) {
    const auto kernels = job.kernels();
    for (std::size_t i = kernels.size() / 2; i < kernels.size(); ++i) lose_times(*kernels[i]);
  });
  expect_known(half);
  EXPECT_EQ(half.ranks[0].iterations, 5);
  EXPECT_EQ(half.ranks[1].lost, 50);
  EXPECT_THAT(half.notes, Contains(HasSubstr("ranks 0 to 1: 50 records of the device")));
  EXPECT_THAT(half.advice, IsEmpty());
  const auto few = report_of([](KnownJob& job) {
    const auto kernels = job.kernels();
    for (std::size_t i = 17; i < kernels.size(); i += 25) lose_times(*kernels[i]);
  });
  expect_known(few);
  EXPECT_THAT(few.notes, Contains(HasSubstr("4 records of the device")));
  EXPECT_THAT(few.advice, Not(IsEmpty()));
  ASSERT_TRUE(few.stragglers);
  EXPECT_NE(few.stragglers->found.verdict, StragglerVerdict::late_ranks);
}

TEST_F(ImportedReports, KernelsWithoutTheirLaunchOrTheirTimeAreMissedInTheirSteps) {
  const auto without_launch = report_of([](KnownJob& job) {
    for (json* const kernel : job.kernels()) (*kernel)["args"].erase("correlation");
    const auto kernels = job.kernels();
    for (std::size_t i = kernels.size() / 2; i < kernels.size(); ++i) lose_times(*kernels[i]);
  });
  expect_known(without_launch);
  EXPECT_EQ(without_launch.ranks[0].iterations, 5);
  const auto without_end = report_of([](KnownJob& job) {
    const auto kernels = job.kernels();
    for (std::size_t i = kernels.size() / 2; i < kernels.size(); ++i) kernels[i]->erase("dur");
  });
  expect_known(without_end);
  EXPECT_EQ(without_end.ranks[0].iterations, 5);
}

TEST_F(ImportedReports, KernelsOnAClockThatIsHoursOffAreLeftOut) {
  for (const double off : {7.2e9, -7.2e9}) {
    const auto other = report_of([&](KnownJob& job) {
      for (json& event : job.events) event["ts"] = event["ts"].get<double>() + 1e10;
      const auto kernels = job.kernels();
      for (std::size_t i = 30; i < 50; ++i)
        *kernels[i] = [&] {
          json moved = *kernels[i];
          moved["ts"] = moved["ts"].get<double>() + off;
          return moved;
        }();
    });
    expect_known(other);
    EXPECT_EQ(other.ranks[0].iterations, 8);
    EXPECT_THAT(other.notes, Contains(HasSubstr("20 records of the device")));
  }
}

TEST_F(ImportedReports, AllWorkOnAnotherClockIsNoIdleTime) {
  const auto none = report_of([](KnownJob& job) {
    for (json* const kernel : job.kernels()) lose_times(*kernel);
  });
  EXPECT_EQ(none.ranks[0].iterations, 0);
  EXPECT_THAT(none.advice, IsEmpty());
  EXPECT_THAT(none.notes, Contains(HasSubstr("nothing in it is known as computation")));
  EXPECT_THAT(none.notes, Contains(HasSubstr("100 records of the device")));
}

TEST_F(ImportedReports, AKernelThatEndsAfterItsSuccessorsHidesNothing) {
  const auto late = report_of([](KnownJob& job) {
    for (json* const kernel : job.kernels()) {
      const auto step = static_cast<int>((*kernel)["ts"].get<double>() / 10'000);
      if ((*kernel)["name"] == "backward_1" && step % 5 == 2) (*kernel)["dur"] = 1.6e6;
    }
  });
  expect_known(late);
  EXPECT_THAT(late.notes, Contains(HasSubstr("2 records of the device end long after")));
  const auto all = report_of([](KnownJob& job) {
    for (json* const kernel : job.kernels()) {
      const auto step = static_cast<int>((*kernel)["ts"].get<double>() / 10'000);
      if ((*kernel)["name"] == "backward_3" && step > 1) (*kernel)["dur"] = 4000;
    }
  });
  // Before a pause, too; nothing says that the last one is late.
  expect_known(all);
  EXPECT_THAT(all.notes, Contains(HasSubstr("7 records of the device end long after")));
}

/// Four iterations of 20 ms without marks: an embedding, 12 layers with a collective, a head.
std::string layered_text(int iterations) {
  json events = json::array();
  const auto add = [&](const std::string& name, double begin, double time, int stream) {
    events.push_back({{"ph", "X"},
                      {"cat", "kernel"},
                      {"name", name},
                      {"pid", 0},
                      {"tid", stream},
                      {"ts", begin},
                      {"dur", time},
                      {"args", {{"stream", stream}, {"device", 0}}}});
  };
  for (int step = 0; step < iterations; ++step) {
    double at = 1000 + 20'000.0 * step;
    add("embedding", at, 1000, 7);
    at += 1000;
    for (int layer = 0; layer < 12; ++layer, at += 1150) {
      add("attention", at, 500, 7);
      add("gate", at + 500, 200, 7);
      add("mlp", at + 700, 300, 7);
      add("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", at + 1000, 150, 20);
    }
    add("head", at, 1400, 7);
  }
  return json{{"schemaVersion", 1}, {"traceEvents", events}}.dump();
}

TEST_F(ImportedReports, LayersAreNoIterations) {
  const auto four = report({file("trace.json", layered_text(4))});
  EXPECT_EQ(four.ranks[0].iterations, 3);
  EXPECT_EQ(four.ranks[0].iteration_ns, 20 * kMillisecond);
  EXPECT_EQ(four.ranks[0].compute_ns, 14.4 * kMillisecond);
  EXPECT_EQ(four.ranks[0].communication_ns, 1.8 * kMillisecond);
  EXPECT_EQ(four.ranks[0].idle_ns, 3.8 * kMillisecond);
  const auto two = report({file("two.json", layered_text(2))});
  EXPECT_TRUE(two.is_of_whole_trace);
  EXPECT_EQ(two.ranks[0].compute_ns, 28.8 * kMillisecond);
}

/// An export of 20 iterations of 10 ms: a kernel of 1 ms, a graph of 7 ms, a collective of 1 ms.
std::string graphs_sql(const std::string& ranges = "NVTX_EVENTS") {
  std::string sql =
      "BEGIN; CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
      "INSERT INTO StringIds VALUES (1,'prepare'),(2,'ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)');"
      "CREATE TABLE " +
      ranges +
      " (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"
      " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,"
      " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER);"
      "CREATE TABLE OSRT_API (start INTEGER); INSERT INTO OSRT_API VALUES (1);"
      "CREATE TABLE ENUM_NVTX (id INTEGER); INSERT INTO ENUM_NVTX VALUES (1);";
  const std::string process = std::to_string(std::int64_t{5} << 24);
  for (int step = 0; step < 20; ++step) {
    const auto at = [&](int tenths) {
      return std::to_string(1'000'000'000LL + step * 10'000'000LL + tenths * 100'000LL);
    };
    sql += "INSERT INTO " + ranges + " VALUES (" + at(0) + "," + at(100) + ",59,'iteration " +
           std::to_string(step) + "'," + process + ");";
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + at(5) + "," + at(15) + ",0,7,1," +
           process + ",1), (" + at(85) + "," + at(95) + ",0,20,2," + process + ",2);";
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (" + at(15) + "," + at(85) +
           ",0,7,3," + process + ",1);";
  }
  return sql + "COMMIT;";
}

TEST_F(ImportedReports, GraphsOfNsightAreWorkOfWhichNobodyKnowsTheInside) {
  for (const char* const ranges : {"NVTX_EVENTS", "NVTX_EVENTS_V3"}) {
    SCOPED_TRACE(ranges);
    const std::string path = folder_.file(std::string(ranges) + ".sqlite");
    write_database(path, graphs_sql(ranges));
    for (const char* const step_range : {"iteration", ""}) {
      const auto graphs = report({path}, step_range);
      EXPECT_EQ(graphs.ranks[0].iterations, 20);
      EXPECT_EQ(graphs.ranks[0].compute_ns, 8 * kMillisecond);
      EXPECT_EQ(graphs.ranks[0].exposed_ns, 1 * kMillisecond);
      EXPECT_EQ(graphs.ranks[0].idle_ns, 1 * kMillisecond);
      EXPECT_THAT(graphs.notes, Contains(HasSubstr("20 launches of CUDA graphs, 77.8 %")));
      EXPECT_THAT(graphs.notes, Contains(HasSubstr("--cuda-graph-trace=node")));
      EXPECT_THAT(graphs.notes, Contains(HasSubstr("tables that are not read: OSRT_API")));
      EXPECT_THAT(graphs.notes, Not(Contains(HasSubstr("ENUM_"))));
    }
  }
}

TEST_F(ImportedReports, AnExportWithoutKernelsHasNoIdleTime) {
  const std::string path = folder_.file("ranges.sqlite");
  write_database(path,
                 "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT);"
                 "INSERT INTO NVTX_EVENTS VALUES (0,100,'iteration 1'),(100,200,'iteration 2'),"
                 "(200,300,'iteration 3'),(300,400,'iteration 4');");
  const auto ranges = report({path}, "iteration");
  EXPECT_EQ(ranges.ranks[0].iterations, 0);
  EXPECT_THAT(ranges.advice, IsEmpty());
  ASSERT_THAT(ranges.notes, Not(IsEmpty()));
  EXPECT_THAT(ranges.notes[0], HasSubstr("\"iteration 1\""));
  EXPECT_THAT(ranges.notes[0], HasSubstr("nsys profile --trace=cuda"));
}

TEST_F(ImportedReports, StrangeEventsAreNoIdleTime) {
  json plain = json::array(), categories = json::array();
  for (int step = 0; step < 20; ++step) {
    for (const char* const name : {"model/MatMul-op1", "model/Sum-op3"}) {
      plain.push_back({{"ph", "X"},
                       {"name", name},
                       {"pid", "worker"},
                       {"tid", 1},
                       {"ts", 1000 + 5000 * step},
                       {"dur", 900}});
      categories.push_back(plain.back());
      categories.back()["cat"] = "Op";
    }
    plain.push_back({{"ph", "X"},
                     {"name", "step " + std::to_string(step)},
                     {"pid", "worker"},
                     {"tid", 1},
                     {"ts", 1000 + 5000 * step},
                     {"dur", 5000}});
  }
  const auto without = report({file("plain.json", plain.dump())});
  EXPECT_EQ(without.ranks[0].iterations, 0);
  EXPECT_THAT(without.advice, IsEmpty());
  ASSERT_THAT(without.notes, Not(IsEmpty()));
  EXPECT_THAT(without.notes[0], HasSubstr("events without a category"));
  EXPECT_THAT(without.notes[0], HasSubstr("\"model/MatMul-op1\""));
  EXPECT_THAT(without.notes[0], HasSubstr("Read are events of the categories kernel"));
  const auto with = report({file("ops.json", categories.dump())}, "step");
  EXPECT_EQ(with.ranks[0].iterations, 0);
  EXPECT_THAT(with.notes[0], HasSubstr("of the categories \"Op\""));
}

TEST_F(ImportedReports, AFileThatNamesNoRankHasThatOfItsNameBesideOthers) {
  json silent = json::parse(KnownJob(1).text());
  silent.erase("distributedInfo");
  const auto both =
      report({file("rank-1.json", silent.dump()), file("a.json", KnownJob(0).text())});
  expect_known(both);
  EXPECT_EQ(both.ranks[1].rank, 1);
  EXPECT_THAT(both.notes, Contains(HasSubstr("it is rank 1 by its name")));
}

TEST_F(ImportedReports, RanksHaveTheNumbersInTheNamesOfTheirFiles) {
  std::vector<std::string> paths;
  for (const char* const name : {"rank10.json", "rank2.json", "rank1.json"})
    paths.push_back(file(name, layered_text(4)));
  const auto named = report(paths);
  ASSERT_THAT(named.ranks, SizeIs(3));
  EXPECT_EQ(named.ranks[2].rank, 10);
  EXPECT_EQ(named.job_ranks, 11);
  EXPECT_THAT(named.notes, Contains(HasSubstr("by the numbers in their names")));
  EXPECT_THAT(named.notes, Not(Contains(HasSubstr("it is taken for rank 0"))));
}

}  // namespace
}  // namespace hocket
