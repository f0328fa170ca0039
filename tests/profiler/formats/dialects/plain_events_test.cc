#include "profiler/formats/dialects/plain_events.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <string>

#include "profiler/formats/chrome_import.h"
#include "tests/mutate.h"

namespace hocket {
namespace {

constexpr const char* kTools[] = {
    R"([{"ph":"M","name":"process_name","pid":1,"args":{"name":"grad.0"}},
        {"ph":"B","name":"NEGOTIATE_ALLREDUCE","ts":0,"pid":1},
        {"ph":"X","name":"0","ts":0,"dur":0,"pid":1},{"ph":"X","name":"1","ts":4,"dur":0,"pid":1},
        {"ph":"E","ts":4,"pid":1},{"ph":"B","name":"ALLREDUCE","ts":4,"pid":1},
        {"ph":"E","ts":9,"pid":1}])",
    R"([{"ph":"M","name":"process_name","pid":3,"args":{"name":"Ascend Hardware"}},
        {"ph":"M","name":"process_name","pid":4,"args":{"name":"Communication"}},
        {"ph":"X","name":"MatMulV3","pid":3,"tid":2,"ts":"1718180918997147.550","dur":12.5},
        {"ph":"X","name":"hcom_allReduce__503_96_1","pid":4,"tid":0,"ts":"1718180918997150","dur":9,
         "args":{"count":"8","data_type":"FP32"}}])",
    R"([{"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:TPU:0"}},
        {"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{"name":"XLA Ops"}},
        {"ph":"X","pid":3,"tid":1,"name":"all-reduce-start.7","ts":4,"dur":1},
        {"ph":"X","pid":3,"tid":1,"name":"fusion.4","ts":5,"dur":20},
        {"ph":"X","pid":3,"tid":1,"name":"all-reduce-done.7","ts":30,"dur":3},{}])"};

TEST(PlainEvents, MutatedTextsOfAllToolsAreReadOrRefused) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::istringstream in(mutate(kTools[seed % std::size(kTools)], random));
    const auto read = read_chrome_trace(in);
    if (!read) {
      EXPECT_EQ(read.error().code, ErrorCode::invalid_argument);
      continue;
    }
    for (const RankTrace& trace : read->traces) {
      for (const TraceRecord& record : trace.records) {
        EXPECT_TRUE(is_plausible(record));
        EXPECT_LT(record.name, trace.names.size());
        EXPECT_LT(record.group, std::ssize(trace.groups));
      }
    }
  }
}

TEST(PlainEvents, EventsOfOtherToolsKeepTheirArguments) {
  std::istringstream in(R"([{"ph":"X","name":"work","pid":"worker","tid":1,"ts":1,"dur":2,
                             "args":{"step":3}},
                            {"ph":"X","name":"work","pid":"worker","tid":1,"ts":5,"dur":2,
                             "args":{"step":4}}])");
  const auto read = read_chrome_trace(in);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->traces.at(0).records.size(), 2U);
  EXPECT_EQ(read->traces[0].records[0].kind, TraceKind::range);
  EXPECT_EQ(read->traces[0].records[1].step, 4);
}

}  // namespace
}  // namespace hocket
