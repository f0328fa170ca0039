#include "profiler/formats/dialects/ascend_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/profiler/formats/dialects/dialect_import.h"

namespace hocket::dialects {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int kPython = 1, kCann = 2, kHardware = 3, kCollectives = 4, kAnalysis = 5;

/// Steps of 10 ms: 8 ms of computation, an all-reduce of 1.5 ms beside it and an all-gather of 1 ms
/// after it. Times are texts, as digits of nanoseconds since 1970 have no place in a double.
struct TraceView {
  std::int64_t steps = 6;
  std::string collectives = "Communication";  ///< the layer's name; empty: there is none
  bool has_names_last = false;

  json document() const {
    json names = {named(kPython, "Python"),
                  named(kCann, "CANN"),
                  named(kHardware, "Ascend Hardware"),
                  named(kHardware, "Stream 2", 2),
                  named(kHardware, "Stream 11", 11),
                  named(kAnalysis, "Overlap Analysis"),
                  named(kAnalysis, "Computing", 0)};
    if (!collectives.empty()) {
      names.push_back(named(kCollectives, collectives));
      names.push_back(named(kCollectives, "Group 0 Communication", 0));
      names.push_back(named(kCollectives, "Plane 0", 1));
    }
    json work = json::array();
    for (std::int64_t step = 0; step < steps; ++step) add_step(work, step);
    json events = json::array();
    for (const json* part : {has_names_last ? &work : &names, has_names_last ? &names : &work})
      events.insert(events.end(), part->begin(), part->end());
    return events;
  }

 private:
  static std::string text_of(std::int64_t ns) {
    std::string text = std::to_string(ns);
    return text.insert(text.size() - 3, ".");
  }

  void add_step(json& events, std::int64_t step) const {
    const std::int64_t at_ns = 1'718'180'918'997'147'550 + 10'000'000 * step;
    const auto add = [&](int process, int thread, const std::string& name, std::int64_t begin_us,
                         std::int64_t end_us, json args = json::object()) {
      events.push_back({{"ph", "X"},
                        {"name", name},
                        {"pid", process},
                        {"tid", thread},
                        {"ts", text_of(at_ns + 1000 * begin_us)},
                        {"dur", end_us - begin_us},
                        {"args", std::move(args)}});
    };
    add(kPython, 1, "ProfilerStep#" + std::to_string(step), 0, 10'000);
    add(kCann, 1, "AscendCL@aclopExecuteV2", 100, 120);
    add(kHardware, 2, "EVENT_WAIT", 400, 500, {{"Task Type", "EVENT_WAIT_SQE"}});
    add(kHardware, 2, "MatMulV3", 500, 4500, {{"Task Type", "MIX_AIC"}});
    add(kHardware, 2, "aclnnMul", 4600, 8600, {{"Task Type", "AI_VECTOR_CORE"}});
    add(kHardware, 2, "MEMCPY_ASYNC", 8700, 8800, {{"Task Type", "MEMCPY_ASYNC"}});
    const int collectives_of = collectives.empty() ? kHardware : kCollectives;
    const int group = collectives.empty() ? 11 : 0;
    add(collectives_of, group, "hcom_allReduce__503_" + std::to_string(2 * step) + "_1", 6000, 7500,
        {{"count", "1000"}, {"data_type", "BFP16"}});
    add(collectives_of, group, "hcom_allGather__503_" + std::to_string(2 * step + 1) + "_1", 8600,
        9600, {{"count", "1000"}, {"data_type", "FP32"}});
    if (collectives.empty()) return;
    for (const auto& [process, thread] : {std::pair(kHardware, 11), std::pair(kCollectives, 1)}) {
      add(process, thread, "Notify_Wait", 6000, 6400, {{"Task Type", "NOTIFY_WAIT_SQE"}});
      add(process, thread, "Memcpy", 6400, 7500, {{"Task Type", "SDMA"}});
    }
    add(kAnalysis, 0, "Computing", 500, 8600);
    add(kAnalysis, 1, "Communication(Not Overlapped)", 8600, 9600);
    add(kAnalysis, 2, "Free", 9600, 10'000);
  }
};

void expect_steps_of(const RankTrace& trace, std::int64_t steps) {
  EXPECT_EQ(trace.source, "ascend");
  EXPECT_EQ(trace.step_starts.size(), static_cast<std::size_t>(steps) + 1);
  EXPECT_EQ(count(trace, TraceKind::compute), 2 * steps);
  EXPECT_EQ(total_ns(trace, TraceKind::compute), 8'000'000 * steps);
  EXPECT_EQ(count(trace, TraceKind::communication, CollectiveKind::all_reduce), steps);
  EXPECT_EQ(count(trace, TraceKind::communication, CollectiveKind::all_gather), steps);
  EXPECT_EQ(total_ns(trace, TraceKind::communication), 2'500'000 * steps);
  EXPECT_EQ(total_ns(trace, TraceKind::copy), 100'000 * steps);
}

TEST(AscendEvents, TasksAreComputationAndGroupsHaveTheCollectives) {
  const auto import = read(TraceView().document());
  ASSERT_EQ(import.traces.size(), 1U);
  const RankTrace& trace = import.traces[0];
  expect_steps_of(trace, 6);
  EXPECT_EQ(trace.step_starts[0].begin_ns, 1'718'180'918'997'147'550) << "not one digit is lost";
  EXPECT_EQ(trace.clock_samples.size(), 2U);
  ASSERT_EQ(trace.groups.size(), 1U);
  EXPECT_EQ(trace.groups[0].name, "503");
  EXPECT_THAT(import.notes, Contains(HasSubstr("Overlap Analysis, which repeat others")));
}

TEST(AscendEvents, AnAllReduceSaysItsBytes) {
  const auto import = read(TraceView().document());
  EXPECT_EQ(count(import.traces.at(0), TraceKind::communication, CollectiveKind::all_reduce), 6);
  for (const TraceRecord& record : import.traces.at(0).records) {
    if (record.collective == CollectiveKind::all_reduce) {
      EXPECT_EQ(record.bytes, 2000);
    } else {
      EXPECT_EQ(record.bytes, 0) << "a count of other collectives may be of one rank's part";
    }
  }
}

TEST(AscendEvents, NamesMayComeLastAndTheLayerMayHaveItsEarlierName) {
  expect_steps_of(read(TraceView{.has_names_last = true}.document()).traces.at(0), 6);
  expect_steps_of(read(TraceView{.collectives = "HCCL"}.document()).traces.at(0), 6);
}

TEST(AscendEvents, WithoutALayerOfCollectivesTheirKernelsCount) {
  expect_steps_of(read(TraceView{.collectives = ""}.document()).traces.at(0), 6);
}

}  // namespace
}  // namespace hocket::dialects
