#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "store/trace_file.h"
#include "tests/store/sqlite/nsight_export.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// An old version, which lacks globalPid, demangled names beside short ones, textId, and fills.
constexpr char kOld[] =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL,"
    " streamId INT NOT NULL, shortName INT NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT NOT NULL, end INT NOT NULL,"
    " nameId INT NOT NULL);"
    "CREATE TABLE NVTX_EVENTS (start INT NOT NULL, end INT, text TEXT);";

class NsightImport : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name = "export.sqlite") {
    fs::create_directories(folder_);
    return (folder_ / name).string();
  }

  std::string database(const std::string& script) {
    const std::string file = path();
    fs::remove(file);
    write_database(file, script);
    return file;
  }

  Result<RankTrace> import(const std::string& script, std::string_view step_range = {}) {
    auto traces = read_nsight_export(database(script), step_range);
    HOCKET_TRY(traces);
    EXPECT_EQ(traces->size(), 1U);
    return std::move(traces->front());
  }

 private:
  const fs::path folder_ =
      fs::temp_directory_path() / ("hocket-nsight-" + std::to_string(getpid()));
};

/// Process 5 as its globalPid, and its thread 77 as globalTid.
const std::string kPid = std::to_string(5LL << 24), kTid = std::to_string((5LL << 24) + 77);

std::vector<TraceRecord> of_kind(const RankTrace& trace, TraceKind kind) {
  std::vector<TraceRecord> found;
  for (const TraceRecord& record : trace.records) {
    if (record.kind == kind) found.push_back(record);
  }
  return found;
}

TEST_F(NsightImport, ReadsARecentExport) {
  const auto trace = import(nsight_export());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->source, "nsight");
  EXPECT_EQ(trace->host, "node3");
  EXPECT_EQ(trace->clock_samples, (std::vector<ClockSample>{{0, 1'700'000'000'000'000'000}}));
  EXPECT_EQ(trace->step_starts, (std::vector<StepStart>{{7, 0}, {8, 1000}, {9, 2000}, {10, 2995}}));
  const auto kernels = of_kind(*trace, TraceKind::compute);
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_EQ(trace->names[kernels[1].name], "gemm");
  EXPECT_EQ(kernels[1].submitted_ns, 1010);
  EXPECT_EQ(kernels[1].step, 8);
  const auto reduces = of_kind(*trace, TraceKind::communication);
  ASSERT_EQ(reduces.size(), 3U);
  EXPECT_EQ(reduces[2].collective, CollectiveKind::all_reduce);
  EXPECT_EQ(reduces[2].begin_ns, 2300);
  EXPECT_NE(reduces[1].sequence, reduces[2].sequence);
  const auto copies = of_kind(*trace, TraceKind::copy);
  ASSERT_EQ(copies.size(), 3U);
  EXPECT_EQ(copies[0].bytes, 4096);
  EXPECT_EQ(copies[0].lane, kernels[0].lane) << "both ran on stream 7";
  EXPECT_EQ(trace->names[copies[0].name], "[CUDA memcpy Host-to-Device]");
  EXPECT_EQ(of_kind(*trace, TraceKind::call).size(), 6U);
  EXPECT_EQ(of_kind(*trace, TraceKind::range).size(), 3U);
  EXPECT_EQ(trace->quarantined, 0);
}

TEST_F(NsightImport, TakesTheStepsThatAreNamed) {
  std::string sql = nsight_export();
  sql += "INSERT INTO NVTX_EVENTS VALUES (100,200,59,NULL,0,0,'eval 3'," + kTid + ",0,NULL,0);";
  const auto trace = import(sql, "eval ");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->step_starts, (std::vector<StepStart>{{3, 100}, {4, 200}}));
  const auto none = import(sql, "no such ");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->step_starts.empty());
}

TEST_F(NsightImport, ReadsAnOldExportWithoutWhatItLacks) {
  const auto trace = import(std::string(kOld) + kNsightStrings +
                            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 7, 1);"
                            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 3);"
                            "INSERT INTO NVTX_EVENTS VALUES (0, 30, 'step'), (5, NULL, 'mark');");
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->records.size(), 3U);
  EXPECT_EQ(trace->names[of_kind(*trace, TraceKind::compute).at(0).name], "gemm");
  EXPECT_EQ(of_kind(*trace, TraceKind::compute).at(0).submitted_ns, 0);
}

TEST_F(NsightImport, CountsWhatCannotBeTrue) {
  std::string sql = std::string(kNsightTables) + kNsightStrings;
  const std::string end = ",0,1,NULL,7,1," + kPid + ",1,1,NULL,0,1,NULL)";
  sql += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (-5,10" + end + ",(20,10" + end +
         ",(30,40" + end + ";";
  sql += "INSERT INTO NVTX_EVENTS VALUES (5,NULL,59,NULL,0,0,'open'," + kTid +
         ",0,NULL,0),"
         "(6,NULL,34,NULL,0,0,'a mark'," +
         kTid +
         ",0,NULL,0),"
         "(7,9,60,NULL,0,0,NULL," +
         kTid + ",0,4,0), (8,9,59,NULL,0,0,NULL," + kTid + ",0,NULL,0);";
  const auto trace = import(sql);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->quarantined, 3) << "two kernels and a range that has no end";
  EXPECT_EQ(of_kind(*trace, TraceKind::compute).size(), 1U);
  const auto ranges = of_kind(*trace, TraceKind::range);
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(trace->names[ranges[0].name], "iteration 8") << "its text is a string's number";
  EXPECT_EQ(trace->names[ranges[1].name], "?");
}

TEST_F(NsightImport, MakesATraceForEachProcessThatUsedADevice) {
  std::string sql = std::string(kNsightTables) + kNsightStrings;
  for (const std::int64_t pid : {9, 5}) {
    const std::string global = std::to_string(pid << 24), begin = std::to_string(100 * pid);
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + begin + "," + begin +
           "+10,0,1,NULL,7,1," + global + ",1,1,NULL,0,1,NULL);";
    sql += "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + begin + "-20," + begin + ",0," +
           global + "+1,1,3,0,NULL);";
  }
  sql += "INSERT INTO NVTX_EVENTS VALUES (1,2,59,NULL,0,0,'launcher'," + std::to_string(3LL << 24) +
         ",0,NULL,0);";
  const std::string file = database(sql);
  const auto traces = read_nsight_export(file);
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const RankTrace& trace = (*traces)[i];
    EXPECT_EQ(trace.rank, static_cast<std::int64_t>(i));
    EXPECT_EQ(trace.ranks, 2);
    const std::int64_t begin_ns = i == 0 ? 500 : 900;
    EXPECT_EQ(of_kind(trace, TraceKind::compute).at(0).begin_ns, begin_ns);
    EXPECT_EQ(of_kind(trace, TraceKind::compute).at(0).submitted_ns, begin_ns - 20)
        << "one process's correlations are not another's";
  }
  EXPECT_EQ(trace_file_kind(file), TraceFileKind::nsight);
  const auto reader = open_trace_file(file);
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, HasSubstr("`hocket profiles import` takes it"));
}

TEST_F(NsightImport, SaysWhatAForeignDatabaseLacks) {
  const auto foreign = import("CREATE TABLE songs (title TEXT);");
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(foreign.error().message, HasSubstr("CUPTI_ACTIVITY_KIND_KERNEL"));
  const auto columns = import("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, stream INT);");
  ASSERT_FALSE(columns);
  EXPECT_EQ(columns.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(columns.error().message, HasSubstr("lacks the column end, streamId"));
  const auto missing = read_nsight_export(path("none.sqlite"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  std::ofstream(path("text.sqlite")) << "this is no database, but a text that is long enough";
  const auto text = read_nsight_export(path("text.sqlite"));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(read_nsight_export(fs::temp_directory_path().string()));
}

TEST_F(NsightImport, ReadsAnEmptyExport) {
  const auto trace = import(kNsightTables);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_TRUE(trace->records.empty());
}

TEST_F(NsightImport, ReadsDamagedFilesOrSaysThatItCannot) {
  std::ifstream in(database(nsight_export()), std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::string damaged = bytes.str();
    for (int i = 0; i < 20; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (seed % 3 == 0) damaged.resize(random() % damaged.size());
    std::ofstream(path("damaged.sqlite"), std::ios::binary | std::ios::trunc) << damaged;
    const auto traces = read_nsight_export(path("damaged.sqlite"));
    if (!traces) {
      ++refused;
      EXPECT_FALSE(traces.error().message.empty());
      continue;
    }
    for (const RankTrace& each : *traces) {
      for (const TraceRecord& record : each.records) {
        EXPECT_TRUE(is_plausible(record));
        EXPECT_LT(record.name, each.names.size());
      }
    }
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace hocket
