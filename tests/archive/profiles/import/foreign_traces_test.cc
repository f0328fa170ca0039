// Traces as other tools write them, from the file to the report.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "archive/profiles/import/import_profile.h"
#include "archive/profiles/report/trace_report.h"
#include "tests/store/fixtures.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kMs = 1e6;  // nanoseconds

class ForeignTraces : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& bytes) {
    write_bytes(folder_.file(name), bytes);
    return folder_.file(name);
  }

  Result<TraceReport> report(ImportRequest request) {
    auto imported = read_traces(request);
    HOCKET_TRY(imported);
    HOCKET_TRY(settle_ranks(*imported));
    auto notes = joined_notes(*imported);
    std::vector<RankTrace> traces;
    for (ImportedTrace& each : imported->traces) traces.push_back(std::move(each.trace));
    return report_traces(std::move(traces), std::move(notes));
  }

  TemporaryFolder folder_;
};

/// A step of 10 ms: computation for 8 ms in two halves on one stream; two kernels on another one,
/// of 1.5 ms beside the computation and of 1 ms after it.
struct KinetoSteps {
  std::int64_t rank = 0, ranks = 2, steps = 8;
  std::vector<std::string> others = {};  ///< names of the kernels on the other stream
  std::vector<std::string> computing = {"forward", "backward"};
  json details = json::object();  ///< arguments of the kernels on the other stream

  std::string text() const {
    json events = json::array();
    std::int64_t id = 1;
    const auto kernel = [&](const std::string& name, double begin, double end, int stream,
                            const json& more) {
      json args = {{"stream", stream}, {"device", rank}, {"correlation", id}, {"External id", id}};
      args.update(more);
      events.push_back({{"ph", "X"},
                        {"cat", "cuda_runtime"},
                        {"name", "cudaLaunchKernel"},
                        {"pid", 1},
                        {"tid", 1},
                        {"ts", begin - 40},
                        {"dur", 5},
                        {"args", {{"correlation", id}}}});
      events.push_back({{"ph", "X"},
                        {"cat", "kernel"},
                        {"name", name},
                        {"pid", rank},
                        {"tid", stream},
                        {"ts", begin},
                        {"dur", end - begin},
                        {"args", args}});
      ++id;
    };
    for (std::int64_t step = 0; step < steps; ++step) {
      const double t = 10'000.0 * static_cast<double>(step + 1);
      events.push_back({{"ph", "X"},
                        {"cat", "user_annotation"},
                        {"name", "ProfilerStep#" + std::to_string(step)},
                        {"pid", 1},
                        {"tid", 1},
                        {"ts", t},
                        {"dur", 10'000}});
      kernel(computing[0], t + 500, t + 4500, 7, json::object());
      kernel(computing[1], t + 4600, t + 8600, 7, json::object());
      kernel(others[0], t + 6000, t + 7500, 20, details);
      kernel(others[1], t + 8600, t + 9600, 20, details);
    }
    return json({{"schemaVersion", 1},
                 {"baseTimeNanoseconds", 1'750'000'000'000'000'000},
                 {"distributedInfo", {{"rank", rank}, {"world_size", ranks}}},
                 {"traceEvents", events}})
        .dump();
  }
};

void expect_times(const TraceReport& report, double compute_ns, double communication_ns,
                  double exposed_ns) {
  for (const RankReport& rank : report.ranks) {
    EXPECT_NEAR(rank.compute_ns, compute_ns, 1) << "rank " << rank.rank;
    EXPECT_NEAR(rank.communication_ns, communication_ns, 1) << "rank " << rank.rank;
    EXPECT_NEAR(rank.exposed_ns, exposed_ns, 1) << "rank " << rank.rank;
  }
}

double per_iteration(const TraceReport& report, std::optional<CollectiveKind> kind) {
  double count = 0;
  for (const CollectiveReport& each : report.collectives)
    if (each.kind == kind) count += each.per_iteration;
  return count;
}

TEST_F(ForeignTraces, ExpertParallelKernelsAreAllToAlls) {
  ImportRequest request;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    const KinetoSteps steps{
        .rank = rank,
        .others = {"void deep_ep::internode::dispatch<false, 2, false, 16>(int4*, float*)",
                   "void deep_ep::internode::combine<false, 2, __nv_bfloat16, 6>(int4*)"},
        .computing = {"triton_fused_dispatch_mask_kernel", "backward"}};
    request.paths.push_back(file("rank" + std::to_string(rank) + ".json", steps.text()));
  }
  const auto found = must(report(request));
  expect_times(found, 8 * kMs, 2.5 * kMs, 1 * kMs);
  EXPECT_EQ(per_iteration(found, CollectiveKind::all_to_all), 2);
}

TEST_F(ForeignTraces, KernelsOfMsccppAndNvshmemCommunicate) {
  const KinetoSteps steps{.ranks = 1,
                          .others = {"void mscclpp::collective::allreducePacket<float>(float*)",
                                     "nvshmemi_barrier_all_on_stream_kernel(int)"}};
  const auto found = must(report({.paths = {file("trace.json", steps.text())}}));
  expect_times(found, 8 * kMs, 2.5 * kMs, 1 * kMs);
  EXPECT_EQ(per_iteration(found, CollectiveKind::all_reduce), 1);
  EXPECT_EQ(per_iteration(found, std::nullopt), 1);
}

TEST_F(ForeignTraces, TheUserNamesFurtherCommunication) {
  const KinetoSteps steps{.ranks = 1, .others = {"moe_exchange<4>", "moe_all_to_all<4>"}};
  const std::string path = file("trace.json", steps.text());
  expect_times(must(report({.paths = {path}})), 9 * kMs, 0, 0);
  const auto found = must(report({.paths = {path}, .communication = {"^moe_", "absent"}}));
  expect_times(found, 8 * kMs, 2.5 * kMs, 1 * kMs);
  EXPECT_EQ(per_iteration(found, CollectiveKind::all_to_all), 1);
  EXPECT_THAT(found.notes, Contains(HasSubstr("\"absent\": no computation has such a name")));
  EXPECT_THAT(message_of(report({.paths = {path}, .communication = {"("}})),
              HasSubstr("missing )"));
}

TEST_F(ForeignTraces, CollectivesOfAGroupWithTwoNamesPair) {
  ImportRequest request;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    const KinetoSteps steps{.rank = rank,
                            .others = {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(a)",
                                       "ncclDevKernel_AllReduce_Sum_f32_RING_LL(a)"},
                            .details = {{"Process Group Name", std::to_string(3 + 4 * rank)},
                                        {"Process Group Ranks", "[0, 1]"},
                                        {"Collective name", "allreduce"}}};
    request.paths.push_back(file("rank" + std::to_string(rank) + ".json", steps.text()));
  }
  auto imported = must(read_traces(request));
  must(settle_ranks(imported));
  EXPECT_EQ(imported.traces[0].trace.groups, imported.traces[1].trace.groups);
  const auto found = must(report(request));
  EXPECT_EQ(found.collectives.size(), 1U) << "one row, not one for each name";
  EXPECT_THAT(found.notes, Not(Contains(HasSubstr("no collective"))));
}

/// Four tensors of 20 steps, each negotiated for 400 us and reduced for 1,000 us.
json horovod_timeline() {
  json events = json::array();
  for (int i = 0; i < 4; ++i) {
    events.push_back({{"ph", "M"},
                      {"name", "process_name"},
                      {"pid", i},
                      {"args", {{"name", "grad." + std::to_string(i)}}}});
  }
  const auto add = [&](const char* phase, const char* name, int ts, int process) {
    json event = {{"ph", phase}, {"ts", ts}, {"pid", process}};
    if (*name) event["name"] = name;
    if (*phase == 'X') event["dur"] = 0;
    events.push_back(event);
  };
  for (int step = 0; step < 20; ++step) {
    for (int i = 0; i < 4; ++i) {
      const int at = 10'000 * step + 1500 * i;
      add("B", "NEGOTIATE_ALLREDUCE", at, i);
      add("X", "0", at, i);
      add("X", "1", at + 400, i);
      add("E", "", at + 400, i);
      add("B", "ALLREDUCE", at + 400, i);
      add("B", "NCCL_ALLREDUCE", at + 500, i);
      add("E", "", at + 1300, i);
      add("E", "", at + 1400, i);
    }
  }
  return events;
}

TEST_F(ForeignTraces, OfATimelineOfCollectivesNeitherIdleNorExposedTimeIsSaid) {
  const auto found = must(report({.paths = {file("tensors.json", horovod_timeline().dump())}}));
  EXPECT_FALSE(found.has_computation);
  ASSERT_EQ(found.ranks.size(), 2U);
  EXPECT_NEAR(found.ranks[1].communication_ns, 4 * kMs, 1) << "of an iteration of 10 ms";
  EXPECT_NEAR(found.ranks[0].communication_ns, 5.6 * kMs, 1) << "with waiting for rank 1";
  ASSERT_TRUE(found.stragglers.has_value());
  const Stragglers& late = found.stragglers->found;
  EXPECT_EQ(late.verdict, StragglerVerdict::late_ranks);
  EXPECT_NE(late.ranks[1].pattern, StragglerPattern::none);
  EXPECT_EQ(late.ranks[1].cause, StragglerCause::unknown);
  EXPECT_THAT(found.advice, IsEmpty());
  EXPECT_THAT(found.notes.front(), HasSubstr("no computation is recorded"));
  EXPECT_THAT(found.notes, Contains(HasSubstr("32 ms in all, 0.4 ms in the middle")));
  EXPECT_THAT(found.notes, Contains(HasSubstr("80 ms in all, 1 ms in the middle")));
  EXPECT_THAT(found.notes, Contains(HasSubstr("rank 1 in 80")));
  const json printed = to_json(found);
  EXPECT_TRUE(printed["ranks"][0]["idle_ns"].is_null());
  EXPECT_TRUE(printed["ranks"][0]["exposed_ns"].is_null());
  EXPECT_TRUE(printed["collectives"][0]["exposed_ns"].is_null());
}

TEST_F(ForeignTraces, FilesOfXlaAreNumberedBehindOneAnother) {
  json events = json::array();
  for (int device = 0; device < 2; ++device) {
    const int process = device + 1;
    events.push_back({{"ph", "M"},
                      {"name", "process_name"},
                      {"pid", process},
                      {"args", {{"name", "/device:GPU:" + std::to_string(device)}}}});
    events.push_back({{"ph", "M"},
                      {"name", "thread_name"},
                      {"pid", process},
                      {"tid", 7},
                      {"args", {{"name", "Stream #7(Compute)"}}}});
    for (int step = 0; step < 6; ++step) {
      events.push_back({{"ph", "X"},
                        {"name", "gemm"},
                        {"pid", process},
                        {"tid", 7},
                        {"ts", 100 * step},
                        {"dur", 60}});
      events.push_back({{"ph", "X"},
                        {"name", "add"},
                        {"pid", process},
                        {"tid", 7},
                        {"ts", 100 * step + 60},
                        {"dur", 20}});
    }
  }
  const std::string text = json({{"traceEvents", events}}).dump();
  auto imported = must(read_traces({.paths = {file("a.json", text), file("b.json", text)}}));
  must(settle_ranks(imported));
  ASSERT_EQ(imported.traces.size(), 4U);
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(imported.traces[static_cast<std::size_t>(rank)].trace.rank, rank);
    EXPECT_EQ(imported.traces[static_cast<std::size_t>(rank)].trace.ranks, 4);
  }
}

}  // namespace
}  // namespace hocket
