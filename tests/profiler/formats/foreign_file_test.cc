#include "profiler/formats/foreign_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "profiler/formats/chrome_import.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using std::string_literals::operator""s;

struct Foreign {
  std::string name, head, what, instead;
};

TEST(ForeignFile, SaysWhatAFileIsAndWhatToImportInstead) {
  const std::vector<Foreign> files = {
      {"host.xplane.pb", "\x0a\x20\x08\x01", "XPlane", "trace.json.gz"},
      {"profile", "\x0a\x90\x01\x12\x0d/device:GPU:0"s, "XPlane", "trace.json.gz"},
      {"profile", "\x0a\x90\x01\x08\x02\x12\x09/host:CPU"s, "XPlane", "trace.json.gz"},
      {"run.pftrace", "\x0a\x05\x40\x01\x02"s, "Perfetto", "traceconv json"},
      {"trace", "\x0a\x05\x40\x01\x02\x03"s, "Perfetto", "traceconv json"},
      {"rank.0.et", "\x07\x0a\x05"s + "0.0.4", "Chakra", "torch.profiler"},
      {"trace", "\x07\x0a\x05"s + "0.0.4", "Chakra", "torch.profiler"},
      {"et.json", R"({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [)", "execution trace",
       "torch.profiler"},
      {"et.json", R"({"schema": "1.0.1", "pid": 1, "time": "x", "start_ts": 5, "nodes": [)",
       "execution trace", "torch.profiler"},
      {"a.csv", "\"Kind\",\"Agent_Id\",\"Queue_Id\"", "rocprofv3", "torch.profiler"},
      {"a.json", R"({"rocprofiler-sdk-tool": [{)", "rocprofv3", "torch.profiler"},
      {"a.log", R"({"header":{"id":"0x1"},"coll_perf":{"coll":"AllReduce"}})", "inspector",
       "torch.profiler"},
      {"a.ncu-rep", "NVR\0"s, "Nsight Compute", "nsys export"},
  };
  for (const Foreign& file : files) {
    const auto said = foreign_file(file.name, file.head);
    ASSERT_TRUE(said) << file.name << " " << file.what;
    EXPECT_THAT(*said, AllOf(HasSubstr(file.what), HasSubstr(file.instead)));
  }
}

TEST(ForeignFile, KnowsDatabasesByTheirTables) {
  EXPECT_THAT(foreign_database("SQLite format 3 CREATE TABLE rocpd_kernel_dispatch_x").value(),
              HasSubstr("rocprofv3"));
  EXPECT_THAT(foreign_database("CREATE TABLE STRING_IDS, CREATE TABLE COMMUNICATION_OP").value(),
              HasSubstr("trace_view.json"));
  EXPECT_FALSE(foreign_database("CREATE TABLE StringIds, CREATE TABLE NVTX_EVENTS"));
}

TEST(ForeignFile, SaysNothingOfOtherFiles) {
  for (const char* head :
       {"", "{", "[", "text", R"({"schemaVersion": 1, "traceEvents": [{"name": "nodes"}]})",
        R"({"traceEvents": [], "schema": "execution_trace nodes"})", R"([{"ph": "X"}])", "\x0a"})
    EXPECT_FALSE(foreign_file("trace.json", head)) << head;
}

std::string refusal(const std::string& text) {
  std::istringstream in(text);
  const auto read = read_chrome_trace(in);
  return read ? "" : read.error().message;
}

TEST(ForeignFile, EventsThatAreNoWorkAreRefusedByTheirTool) {
  EXPECT_THAT(refusal(R"([{"name":"AllReduce","cat":"COLL","ph":"B","pid":1,"tid":1,"ts":1},
                          {"name":"AllReduce","cat":"COLL","ph":"E","pid":1,"tid":1,"ts":9}])"),
              HasSubstr("NCCL's example of a profiler plugin"));
  EXPECT_THAT(refusal(R"([{"name":"Default/MatMul-op1","ph":"X","pid":1,"tid":1,"ts":1,"dur":5}])"),
              AllOf(HasSubstr("MindSpore"), HasSubstr("trace_view.json")));
  EXPECT_THAT(refusal(R"([{"name":"mm Cmpt Exec","ph":"X","pid":1,"tid":1,"ts":1,"dur":5}])"),
              HasSubstr("Spyre"));
  EXPECT_EQ(refusal(R"([{"name":"Default/MatMul-op1","ph":"X","pid":1,"tid":1,"ts":1,"dur":5},
                        {"name":"gemm","cat":"kernel","ph":"X","pid":1,"tid":1,"ts":1,"dur":5}])"),
            "")
      << "there is work of a device";
}

TEST(ForeignFile, EventsThatDoNotLastAreRefused) {
  EXPECT_THAT(refusal(R"({"traceEvents":[{"name":"power","ph":"C","ts":1,"args":{"W":5}}]})"),
              HasSubstr("none of its events lasts"));
}

}  // namespace
}  // namespace hocket
