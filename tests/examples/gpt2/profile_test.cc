// Tests profiles of the real job: its ranks' traces and the store's rows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <sstream>

#include "archive/profiles/export_profile.h"
#include "core/base/json.h"
#include "core/step/schedule_config.h"
#include "profiler/calibration/step_structure.h"
#include "profiler/formats/chrome_import.h"
#include "store/trace_file.h"
#include "tests/examples/gpt2/run_job.h"
#include "tests/profiler/formats/perfetto_decoder.h"
#include "tests/profiler/formats/perfetto_slices.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kProfiledJob = {
    "--layers", "2", "--d-model", "64", "--sequence", "32", "--batch", "2", "--json"};

std::vector<std::string> profiled_job(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = kProfiledJob;
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

ProcessResult run_into(const std::string& store, const std::vector<std::string>& more,
                       std::map<std::string, std::string> environment = {}) {
  environment["HOCKET_STORE"] = store;
  auto process = run_job(profiled_job(more), environment);
  EXPECT_TRUE(process.succeeded()) << describe_end(process) << process.stderr_text;
  return process;
}

/// Checks the properties of every profile of two ranks, and returns rank 0's steps.
std::set<std::int64_t> check_profile(Store& store, const ProfileRow& row) {
  EXPECT_EQ(row.source, "host");
  EXPECT_TRUE(row.topology_id);
  EXPECT_TRUE(row.workload_id);
  const auto structure = step_structure_from_json(row.structure);
  EXPECT_TRUE(structure);
  EXPECT_EQ(row.ranks.size(), 2u);
  std::set<std::int64_t> steps;
  for (const ProfileRank& rank : row.ranks) {
    const RankTrace trace = must(must(open_trace_file(rank.trace_path))->read());
    EXPECT_EQ(trace.rank, rank.rank);
    EXPECT_EQ(trace.ranks, 2);
    EXPECT_EQ(std::ssize(trace.records), rank.records);
    EXPECT_EQ(trace.dropped, 0);
    for (const TraceRecord& record : trace.records) {
      EXPECT_LT(record.task, std::ssize(structure->tasks));
      EXPECT_LE(record.submitted_ns, record.ready_ns);
      EXPECT_LE(record.ready_ns, record.begin_ns);
    }
  }
  // Not of each iteration: on a busy machine the end of a step may be noticed only when the next
  // one's collectives have already run.
  std::int64_t compute_ns = 0, communication_ns = 0;
  for (const ProfileIteration& it : must(store.profile_iterations(row.id))) {
    if (it.rank == 0) steps.insert(it.step);
    EXPECT_LE(it.compute_ns + it.exposed_ns, it.wall_ns);
    EXPECT_LE(it.exposed_ns, it.communication_ns);
    compute_ns += it.compute_ns;
    communication_ns += it.communication_ns;
  }
  EXPECT_GT(compute_ns, 0);
  EXPECT_GT(communication_ns, 0);
  return steps;
}

TEST(Gpt2Profile, HasEveryRanksTraceAndWhatItCost) {
  const TemporaryFolder dir;
  const std::string path = dir.file("hocket.db");
  const auto plain = run_into(path, {"--steps", "40"});
  const auto process = run_into(path, {"--steps", "40", "--profile-at", "4", "--profile-iterations",
                                       "6", "--profile-interleave", "3"});
  EXPECT_THAT(process.stderr_text, HasSubstr("6 iterations, 2 ranks"));
  EXPECT_THAT(process.stderr_text, HasSubstr("profiling cost"));
  // Profiling does not change the results.
  EXPECT_EQ(parse_object(process.stdout_text, "output").value()["losses"],
            parse_object(plain.stdout_text, "output").value()["losses"]);
  const auto store = must(open_store(path));
  const auto rows = must(store->profiles());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(check_profile(*store, rows[0]), (std::set<std::int64_t>{4, 5, 6, 15, 16, 17}));
  const auto& overhead = rows[0].detail["overhead"];
  EXPECT_EQ(overhead["profiled"], 6);
  EXPECT_EQ(overhead["plain"], 6);
  EXPECT_GT(overhead["plain_ns"].get<double>(), 0);
  EXPECT_EQ(must(store->profile_iterations(rows[0].id)).size(), 12u);
  for (const ProfileRank& rank : rows[0].ranks)
    EXPECT_THAT(rank.trace_path, HasSubstr(path + ".profiles/" + rows[0].name + "/rank-"));
}

TEST(Gpt2Profile, IsAskedForByTheEnvironmentAndEndsWithTheJob) {
  const TemporaryFolder dir;
  const std::string path = dir.file("hocket.db");
  run_into(path, {"--steps", "12"}, {{"HOCKET_PROFILE", "at=7,iterations=20"}});
  const auto store = must(open_store(path));
  const auto rows = must(store->profiles());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(check_profile(*store, rows[0]), (std::set<std::int64_t>{7, 8, 9, 10}));
  EXPECT_FALSE(rows[0].detail.contains("overhead"));
}

TEST(Gpt2Profile, IsAskedForThroughTheStoreAndSavedWhileTrainingGoesOn) {
  const TemporaryFolder dir;
  const std::string path = dir.file("hocket.db");
  const auto store = must(open_store(path));
  const auto plain = run_into(path, {"--steps", "400"});
  must(store->request_profile({.job = "gpt2-2x64-s32-b2", .iterations = 6, .actor = "ada"}));
  const auto process = run_into(path, {"--steps", "400", "--profile-on-request"});
  EXPECT_THAT(process.stderr_text, testing::ContainsRegex("profiling steps [0-9]+ to [0-9]+"));
  EXPECT_THAT(process.stderr_text, HasSubstr("6 iterations, 2 ranks"));
  EXPECT_EQ(parse_object(process.stdout_text, "output").value()["losses"],
            parse_object(plain.stdout_text, "output").value()["losses"]);
  const auto rows = must(store->profiles());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(check_profile(*store, rows[0]).size(), 6u);
}

std::vector<ScheduleConfig> four_configs() {
  std::vector<ScheduleConfig> configs(4);
  configs[1].partition_bytes = 1 << 16;
  configs[1].order = CollectiveOrder::negotiated;
  configs[2].partition_bytes = 1 << 14;
  configs[2].credit_bytes = 1 << 16;
  configs[3].streams = 2;
  configs[3].comm_channels = 2;
  return configs;
}

/// Checks exact times: rank 0's clock is the reference.
void check_perfetto(const LoadedProfile& profile) {
  std::ostringstream file;
  must(export_profile(profile, ExportFormat::perfetto, file));
  std::string problem;
  const auto tracks = decode_perfetto(file.str(), problem);
  ASSERT_TRUE(tracks) << problem;
  const auto slices = slices_of(*tracks);
  std::size_t records = 0;
  for (const RankTrace& trace : profile.traces) records += trace.records.size();
  EXPECT_EQ(slices.size(), records);
  std::multiset<ComparedSlice> expected, found;
  for (const TraceRecord& record : profile.traces[0].records)
    expected.insert(compared(profile.traces[0], record));
  for (const ComparedSlice& slice : slices) {
    if (std::get<0>(slice).starts_with("rank 0 ")) found.insert(slice);
  }
  EXPECT_EQ(found, expected);
}

TEST(Gpt2Profile, OfFourConfigurationsIsReadBackFromItsExports) {
  const TemporaryFolder dir;
  const std::string path = dir.file("hocket.db");
  for (const ScheduleConfig& config : four_configs()) {
    run_into(path, {"--steps", "12", "--profile-at", "4", "--profile-iterations", "4"},
             {{"HOCKET_CONFIG", to_json(config).dump()}});
  }
  const auto store = must(open_store(path));
  auto rows = must(store->profiles());
  ASSERT_EQ(rows.size(), 4u);
  std::set<std::string> configs;
  for (const ProfileRow& row : rows) {
    SCOPED_TRACE(row.config.dump());
    configs.insert(row.config.dump());
    EXPECT_EQ(check_profile(*store, row).size(), 4u);
    const auto loaded = must(load_profile(row));
    std::stringstream chrome;
    must(export_profile(loaded, ExportFormat::chrome, chrome));
    EXPECT_EQ(must(read_chrome_trace(chrome)).traces, loaded.traces);
    check_perfetto(loaded);
  }
  EXPECT_EQ(configs.size(), 4u);
}

TEST(Gpt2Profile, ThatFailsIsAWarning) {
  const TemporaryFolder dir;
  const std::pair<std::string, const char*> cases[] = {
      {"at=4", "no profile: "},  // the folder does not exist
      {"at=soon", "at: expected a whole number, found \"soon\""},
      {"iterations=3", "at=STEP is missing"},
      {"at=1,steps=3", "\"steps=3\": expected at=STEP"},
      {"at=1,iterations=0", "steps is 0, allowed are 1 to 1000000"},
  };
  for (const auto& [span, message] : cases) {
    SCOPED_TRACE(span);
    const auto process =
        run_into("/proc/no/hocket.db", {"--steps", "8"}, {{"HOCKET_PROFILE", span}});
    EXPECT_THAT(process.stderr_text, HasSubstr(message));
  }
}

}  // namespace
}  // namespace hocket
