#include "profiler/formats/chrome_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <sstream>
#include <tuple>

#include "profiler/formats/chrome_events.h"
#include "profiler/formats/chrome_trace.h"
#include "tests/mutate.h"
#include "tests/profiler/formats/random_trace.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

Result<ChromeImport> import(const std::string& text, const ChromeImportOptions& options = {}) {
  std::istringstream in(text);
  return read_chrome_trace(in, options);
}

std::string chrome_of(const std::vector<RankTrace>& traces) {
  std::ostringstream out;
  ChromeTraceWriter writer(out);
  for (const RankTrace& trace : traces) writer.write(trace);
  EXPECT_TRUE(writer.finish());
  return out.str();
}

/// Renumbers names in the order of their use, which is the order after reading them back.
RankTrace by_use(const RankTrace& trace) {
  RankTrace renamed = trace;
  renamed.names.clear();
  for (TraceRecord& record : renamed.records) {
    const std::string& name = trace.names[record.name];
    const auto known = std::find(renamed.names.begin(), renamed.names.end(), name);
    record.name = static_cast<std::uint32_t>(known - renamed.names.begin());
    if (known == renamed.names.end()) renamed.names.push_back(name);
  }
  return renamed;
}

TEST(ChromeImport, ReadsBackWhatWasWritten) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<RankTrace> traces, expected;
    const auto ranks = static_cast<std::int64_t>(1 + random() % 3);
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      traces.push_back(random_trace(rank, ranks, random));
      expected.push_back(by_use(traces.back()));
      if (expected.back().step_starts.empty()) {
        // Without step numbers, steps are taken from the records.
        for (TraceRecord& record : traces.back().records) record.step = kNoStep;
        for (TraceRecord& record : expected.back().records) record.step = kNoStep;
      }
    }
    const auto read = import(chrome_of(traces));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->traces, expected);
    EXPECT_TRUE(read->notes.empty());
  }
}

TEST(ChromeImport, ReadsWhatASinkWrote) {
  std::ostringstream out;
  {
    ChromeTraceWriter writer(out);
    writer.rank(0).record({TraceKind::compute, 4, "a", 0, 0, 10, 0});
    writer.rank(1).record({TraceKind::communication, 2, "b", 1, 10, 20, 64});
    writer.rank(1).record({TraceKind::communication, 2, "c", 1, 15, 25, 64});
  }
  const auto read = import(out.str());
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->traces.size(), 2U);
  EXPECT_EQ(read->traces[0].ranks, 2);
  EXPECT_EQ(read->traces[0].records.at(0).lane, 4);
  EXPECT_EQ(read->traces[1].records.at(0).lane, 2);
  EXPECT_EQ(read->traces[1].records.at(1).lane, 2) << "its second track is the same lane";
  EXPECT_EQ(read->traces[1].records.at(1).bytes, 64);
  EXPECT_EQ(read->traces[1].step_starts, (std::vector<StepStart>{{1, 10}}));
}

/// A Kineto trace with a device: rank 1 of 2, two steps.
constexpr char kKineto[] = R"json({"schemaVersion": 1,
  "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2,
                      "pg_config": [{"ranks": [0]}]},
  "baseTimeNanoseconds": 1700000000000000000, "host_name": "node7",
  "traceEvents": [
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#5","pid":9,"tid":1,"ts":0.000,
   "dur":100.5},
  {"ph":"X","cat":"user_annotation","name":"ProfilerStep#6","pid":9,"tid":1,"ts":100.500,
   "dur":99.5},
  {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#5","pid":0,"tid":7,"ts":0,"dur":1},
  {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":1,"ts":9,"dur":5,
   "args":{"External id":3}},
  {"ph":"X","cat":"cpu_op","name":"c10d::allreduce_","pid":9,"tid":1,"ts":20,"dur":9},
  {"ph":"X","cat":"user_annotation","name":"nccl:all_reduce","pid":9,"tid":1,"ts":21,"dur":7},
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":1,"ts":10.001,"dur":2,
   "args":{"cbid":211,"correlation":77}},
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":1,"ts":90,"dur":2,
   "args":{"correlation":78}},
  {"ph":"X","cat":"kernel","name":"sgemm","pid":0,"tid":7,"ts":30.125,"dur":40,
   "args":{"device":0,"stream":7,"correlation":77,"grid":[1,2,3]}},
  {"ph":"s","id":79,"pid":9,"tid":1,"ts":40,"cat":"ac2g","name":"ac2g"},
  {"ph":"f","id":79,"pid":0,"tid":20,"ts":50,"cat":"ac2g","name":"ac2g","bp":"e"},
  {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)","pid":0,"tid":20,
   "ts":50,"dur":45.5,"args":{"device":0,"stream":20,"correlation":79,"In msg nelems":1024,
   "Out msg nelems":1024,"dtype":"Float","Process Group Name":"0","Collective name":"allreduce"}},
  {"ph":"X","cat":"kernel","name":"late","pid":0,"tid":7,"ts":110,"dur":4,
   "args":{"device":0,"stream":7,"correlation":78}},
  {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":120,"dur":2,
   "args":{"device":0,"stream":7,"correlation":0,"bytes":4096}},
  {"ph":"X","cat":"python_function","name":"f","pid":9,"tid":1,"ts":1,"dur":2},
  {"ph":"M","name":"process_name","pid":9,"args":{"name":"python","labels":"CPU"}}]})json";

const TraceRecord* named(const RankTrace& trace, std::string_view name) {
  for (const TraceRecord& record : trace.records) {
    if (trace.names[record.name] == name) return &record;
  }
  return nullptr;
}

TEST(ChromeImport, ReadsKinetosEvents) {
  const auto read = import(kKineto);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->traces.size(), 1U);
  const RankTrace& trace = read->traces[0];
  EXPECT_EQ(trace.rank, 1);
  EXPECT_EQ(trace.ranks, 2);
  EXPECT_EQ(trace.host, "node7");
  EXPECT_EQ(trace.source, "kineto");
  EXPECT_EQ(trace.step_starts, (std::vector<StepStart>{{5, 0}, {6, 100'500}, {7, 200'000}}));
  ASSERT_FALSE(trace.clock_samples.empty());
  EXPECT_EQ(trace.clock_samples[0], (ClockSample{0, 1'700'000'000'000'000'000}));

  const TraceRecord* gemm = named(trace, "sgemm");
  ASSERT_NE(gemm, nullptr);
  EXPECT_EQ(gemm->kind, TraceKind::compute);
  EXPECT_EQ(gemm->begin_ns, 30'125);
  EXPECT_EQ(gemm->end_ns, 70'125);
  EXPECT_EQ(gemm->submitted_ns, 10'001);
  const TraceRecord* late = named(trace, "late");
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(late->step, 5) << "it was launched in that step";
  EXPECT_EQ(late->lane, gemm->lane);
  const TraceRecord* reduce = named(trace, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)");
  ASSERT_NE(reduce, nullptr);
  EXPECT_EQ(reduce->kind, TraceKind::communication);
  EXPECT_EQ(reduce->collective, CollectiveKind::all_reduce);
  EXPECT_EQ(reduce->bytes, 4096);
  EXPECT_EQ(reduce->submitted_ns, 40'000) << "told by the arrow";
  EXPECT_NE(reduce->sequence, kNoSequence);
  EXPECT_EQ(named(trace, "Memcpy HtoD")->kind, TraceKind::copy);
  EXPECT_EQ(named(trace, "Memcpy HtoD")->bytes, 4096);
  EXPECT_EQ(named(trace, "aten::mm")->kind, TraceKind::call) << "the device computes";
  EXPECT_EQ(named(trace, "c10d::allreduce_")->kind, TraceKind::call);
  EXPECT_EQ(named(trace, "nccl:all_reduce")->kind, TraceKind::range);
  EXPECT_THAT(read->notes, ::testing::Contains(HasSubstr("1 events of category python_function")));
}

TEST(ChromeImport, OnTheHostTheOutermostOperationsAreComputation) {
  const auto read = import(R"({"schemaVersion":1,"traceEvents":[
    {"ph":"X","cat":"user_annotation","name":"ProfilerStep#0","pid":9,"tid":1,"ts":0,"dur":100},
    {"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":9,"tid":1,"ts":12,"dur":5},
    {"ph":"X","cat":"cpu_op","name":"aten::linear","pid":9,"tid":1,"ts":10,"dur":20},
    {"ph":"X","cat":"cpu_op","name":"aten::relu","pid":9,"tid":1,"ts":30,"dur":5},
    {"ph":"X","cat":"cpu_op","name":"aten::other","pid":9,"tid":2,"ts":12,"dur":5},
    {"ph":"X","cat":"cpu_op","name":"c10d::allreduce_","pid":9,"tid":1,"ts":40,"dur":5},
    {"ph":"X","cat":"user_annotation","name":"gloo:all_reduce","pid":9,"tid":3,"ts":41,"dur":30}
    ]})");
  ASSERT_TRUE(read) << read.error().message;
  const RankTrace& trace = read->traces.at(0);
  EXPECT_EQ(named(trace, "aten::linear")->kind, TraceKind::compute);
  EXPECT_EQ(named(trace, "aten::addmm")->kind, TraceKind::call);
  EXPECT_EQ(named(trace, "aten::relu")->kind, TraceKind::compute);
  EXPECT_EQ(named(trace, "aten::other")->kind, TraceKind::compute);
  EXPECT_EQ(named(trace, "c10d::allreduce_")->kind, TraceKind::call);
  EXPECT_EQ(named(trace, "gloo:all_reduce")->kind, TraceKind::communication);
  EXPECT_EQ(named(trace, "gloo:all_reduce")->collective, CollectiveKind::all_reduce);
}

TEST(ChromeImport, TheBytesOfAnAllReduceAreThoseOfItsInputWhereShapesWereRecorded) {
  const std::vector<std::pair<std::string, std::int64_t>> inputs = {
      {R"("Input Dims":[[4160]],"Input type":["float"])", 4160 * 4},
      {R"("Input type":["c10::BFloat16","float"],"Input Dims":[[2,3],[7]])", 12},
      {R"("Input Dims":[[]],"Input type":["double"])", 8},
      {R"("Input Dims":[[4160]])", 0},
      {R"("Input Dims":[[[4160]],[3]],"Input type":["TensorList","float"])", 0},
      {R"("Input Dims":[[4294967296,4294967296]],"Input type":["float"])", 0},
      {R"("Input Dims":[[-1]],"Input type":["float"])", 0},
      {R"("Input Dims":[["7"]],"Input type":[["float"]])", 0},
      {R"("In msg nelems":8,"dtype":"Half","Input Dims":[[4160]],"Input type":["float"])", 16},
  };
  for (const auto& [arguments, bytes] : inputs) {
    for (const char* const name : {"gloo:all_reduce", "gloo:all_gather"}) {
      const auto read =
          import(R"({"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"user_annotation","name":")" +
                 std::string(name) + R"(","pid":9,"tid":3,"ts":41,"dur":30,"args":{)" + arguments +
                 "}}]}");
      ASSERT_TRUE(read) << read.error().message;
      const bool is_input_all = std::string(name) == "gloo:all_reduce" || bytes == 16;
      EXPECT_EQ(named(read->traces.at(0), name)->bytes, is_input_all ? bytes : 0) << arguments;
    }
  }
}

TEST(ChromeImport, CountsADispatchedOperationOnceWhereNothingElseWasSeen) {
  const auto read = import(R"([
    {"ph":"X","cat":"cpu_op","name":"c10d::allreduce_","pid":9,"tid":1,"ts":40,"dur":9},
    {"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":1,"ts":41,"dur":7,
     "args":{"Collective name":"allreduce"}},
    {"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":1,"ts":60,"dur":7,
     "args":{"Collective name":"_allgather_base","In msg nelems":8,"Out msg nelems":16,
             "dtype":"BFloat16"}}])");
  ASSERT_TRUE(read) << read.error().message;
  std::vector<TraceRecord> found;
  for (const TraceRecord& record : read->traces.at(0).records) {
    if (record.kind == TraceKind::communication) found.push_back(record);
  }
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].collective, CollectiveKind::all_reduce);
  EXPECT_EQ(found[1].collective, CollectiveKind::all_gather);
  EXPECT_EQ(found[1].bytes, 32);
}

TEST(ChromeImport, ReadsTheBareListOfPyTorchWithoutKineto) {
  const auto read = import(R"([
    {"name":"ProfilerStep#1","ph":"X","ts":196,"dur":100,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"aten::mm","ph":"X","ts":200,"dur":10,"tid":1,"pid":"CPU functions","args":{}},
    {"name":"Optimizer.step#SGD.step","ph":"X","ts":220,"dur":9,"tid":1,"pid":"CPU functions"},
    {"name":"gloo:all_reduce","ph":"X","ts":240,"dur":20,"tid":3,"pid":"CPU functions"}])");
  ASSERT_TRUE(read) << read.error().message;
  const RankTrace& trace = read->traces.at(0);
  EXPECT_EQ(trace.source, "kineto");
  EXPECT_EQ(trace.step_starts, (std::vector<StepStart>{{1, 196'000}, {2, 296'000}}));
  EXPECT_EQ(named(trace, "aten::mm")->kind, TraceKind::compute);
  EXPECT_EQ(named(trace, "Optimizer.step#SGD.step")->kind, TraceKind::range);
  EXPECT_EQ(named(trace, "gloo:all_reduce")->kind, TraceKind::communication);
  EXPECT_THAT(read->notes, ::testing::Contains(HasSubstr("rank 0")));
}

TEST(ChromeImport, PairsBeginsAndEnds) {
  const auto read = import(R"([
    {"ph":"E","name":"x","pid":1,"tid":1,"ts":1},
    {"ph":"B","name":"outer","pid":1,"tid":1,"ts":2},
    {"ph":"B","name":"other","pid":1,"tid":2,"ts":3},
    {"ph":"B","name":"inner","pid":1,"tid":1,"ts":4},
    {"ph":"E","pid":1,"tid":1,"ts":5},
    {"ph":"E","pid":1,"tid":2,"ts":7},
    {"ph":"E","pid":1,"tid":1,"ts":6},
    {"ph":"B","name":"open","pid":1,"tid":1,"ts":8}])");
  ASSERT_TRUE(read) << read.error().message;
  const RankTrace& trace = read->traces.at(0);
  ASSERT_EQ(trace.records.size(), 3U);
  EXPECT_EQ(named(trace, "outer")->end_ns, 6'000);
  EXPECT_EQ(named(trace, "inner")->end_ns, 5'000);
  EXPECT_EQ(named(trace, "other")->end_ns, 7'000);
  EXPECT_EQ(trace.quarantined, 1);
  // On the rank, the steps, and what was left out: an end, and an event that stays open.
  EXPECT_EQ(read->notes.size(), 3U);
}

TEST(ChromeImport, SetsAsideWhatCannotBeTrue) {
  const auto read = import(R"({"traceEvents":[
    {"ph":"X","name":"backwards","pid":1,"tid":1,"ts":20,"dur":-5},
    {"ph":"X","name":"no end","pid":1,"tid":1,"ts":20},
    {"ph":"X","name":"no begin","pid":1,"tid":1,"dur":20},
    {"ph":"X","name":"negative","pid":1,"tid":1,"ts":-20,"dur":1},
    {"ph":"X","name":"too large","pid":1,"tid":1,"ts":9e15,"dur":9e15},
    {"ph":"X","name":"no number","pid":1,"tid":1,"ts":"soon","dur":[1]},
    {"ph":"X","cat":"compute","name":"no lane","pid":0,"tid":1,"ts":1,"dur":1,"args":{"lane":-4}},
    {"ph":"X","cat":"compute","name":"no rank","pid":"zero","tid":1,"ts":1,"dur":1},
    {"ph":"X","name":"fine","pid":1,"tid":1,"ts":20,"dur":5}, 7, "text", null, []]})");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->traces.size(), 2U);
  EXPECT_EQ(read->traces[0].quarantined, 1);
  EXPECT_EQ(read->traces[1].quarantined, 6);
  ASSERT_EQ(read->traces[1].records.size(), 1U);
  EXPECT_NE(named(read->traces[1], "fine"), nullptr);
}

TEST(ChromeImport, TakesStepsFromTheRangeOrTheArgumentsThatSayThem) {
  const std::string text = R"([
    {"ph":"X","name":"train 3","pid":1,"tid":1,"ts":10,"dur":10,"args":{"step":8}},
    {"ph":"X","name":"train 4","pid":1,"tid":1,"ts":20,"dur":10,"args":{"step":9}}])";
  const auto named_range = import(text, {.step_range = "train "});
  ASSERT_TRUE(named_range);
  EXPECT_EQ(named_range->traces.at(0).step_starts,
            (std::vector<StepStart>{{3, 10'000}, {4, 20'000}, {5, 30'000}}));
  const auto by_argument = import(text);
  ASSERT_TRUE(by_argument);
  EXPECT_EQ(by_argument->traces.at(0).step_starts,
            (std::vector<StepStart>{{8, 10'000}, {9, 20'000}}));
}

TEST(ChromeImport, ReadsAFileThatEndsInTheMiddleAsFarAsItGoes) {
  const std::string whole = kKineto;
  std::size_t most = 0;
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    SCOPED_TRACE(size);
    const auto read = import(whole.substr(0, size));
    if (!read) {
      EXPECT_THAT(read.error().message, HasSubstr("nothing in it"));
      EXPECT_EQ(most, 0U) << "what was there before is kept";
      continue;
    }
    EXPECT_THAT(read->notes, ::testing::Contains(HasSubstr("ends in the middle")));
    EXPECT_GE(read->traces.at(0).records.size(), most);
    most = read->traces.at(0).records.size();
  }
  EXPECT_EQ(most, import(whole)->traces.at(0).records.size());
}

TEST(ChromeImport, SaysWhereItIsNoJson) {
  for (const char* text : {"{\"traceEvents\":[}]}", "not json", "{\"traceEvents\":[{\"ts\":01}]}",
                           "[]]", "{\"a\":\"\\u12\"}"}) {
    const auto read = import(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(read.error().message, HasSubstr("no JSON at byte")) << text;
  }
  for (const char* text : {"", "{}", "[]", "5", "{\"traceEvents\":[]}", "{\"traceEvents\":{}}",
                           "[{\"name\":\"no phase\"}]"}) {
    const auto read = import(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(read.error().message, HasSubstr("nothing in it")) << text;
  }
  EXPECT_THAT(import("\x1f\x8b\b").error().message, HasSubstr("gzip"));
}

TEST(ChromeImport, DepthCostsNeitherStackNorMemory) {
  constexpr std::size_t kDepth = 1'000'000;
  const std::string event = R"({"ph":"X","name":"fine","pid":1,"tid":1,"ts":20,"dur":5})";
  const std::string deep = std::string(kDepth, '[') + std::string(kDepth, ']');
  for (const std::string& text :
       {"{\"deep\":" + deep + ",\"traceEvents\":[" + event + "]}",
        "{\"traceEvents\":[" + deep + "," + event + "]}",
        "[{\"args\":{\"a\":" + deep + "},\"ph\":\"X\",\"name\":\"fine\",\"ts\":1,\"dur\":1}]"}) {
    const auto read = import(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->traces.at(0).records.size(), 1U);
  }
  EXPECT_FALSE(import(std::string(kDepth, '[')));
  std::string objects;
  for (std::size_t i = 0; i < kDepth; ++i) objects += "{\"args\":";
  EXPECT_FALSE(import("[" + objects));
}

TEST(ChromeImport, MicrosecondsAreReadExactly) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto ns = static_cast<std::int64_t>(random() >> (1 + random() % 60));
    char text[40];
    std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ns / 1000),
                  static_cast<long long>(ns % 1000));
    EXPECT_EQ(nanoseconds_of(text), ns) << text;
    EXPECT_EQ(nanoseconds_of(std::string("-") + text), -ns) << text;
  }
  EXPECT_EQ(nanoseconds_of("1.5e3"), 1'500'000);
  EXPECT_EQ(nanoseconds_of("12E-1"), 1'200);
  EXPECT_EQ(nanoseconds_of("0.0004"), 0);
  EXPECT_EQ(nanoseconds_of("12.3449999"), 12'345);
  EXPECT_EQ(nanoseconds_of("0e9999"), 0);
  EXPECT_EQ(nanoseconds_of("1e-9999"), 0);
  for (const char* text : {"", "-", ".", "1e", "1e99", "9223372036854775.808", "1.2.3",
                           "1e99999999999", "abc", "0x1"}) {
    EXPECT_FALSE(nanoseconds_of(text)) << text;
  }
}

TEST(ChromeImport, TakesMutatedTextOrSaysWhatIsWrong) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::string base = seed % 2 == 0 ? kKineto : chrome_of({random_trace(0, 1, random)});
    const auto read = import(mutate(base, random));
    if (!read) {
      EXPECT_EQ(read.error().code, ErrorCode::invalid_argument);
      continue;
    }
    for (const RankTrace& trace : read->traces) {
      EXPECT_TRUE(std::is_sorted(trace.step_starts.begin(), trace.step_starts.end(),
                                 [](const auto& a, const auto& b) { return a.step < b.step; }));
      std::int64_t before_ns = 0;
      for (const TraceRecord& record : trace.records) {
        EXPECT_TRUE(is_plausible(record));
        EXPECT_LT(record.name, trace.names.size());
        EXPECT_GE(record.begin_ns, before_ns);
        before_ns = record.begin_ns;
      }
    }
  }
}

}  // namespace
}  // namespace hocket
