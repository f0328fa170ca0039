#include "client/start/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>

#include "core/base/json.h"
#include "tests/client/environment.h"
#include "tests/core/host/ranks.h"
#include "tests/odd_files.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::HasSubstr;

class FixedSource final : public ConfigSource {
 public:
  explicit FixedSource(Result<std::optional<StoredConfig>> answer) : answer_(std::move(answer)) {}
  Result<std::optional<StoredConfig>> find(const Topology&, const Workload&,
                                           std::int64_t) override {
    ++asked;
    return answer_;
  }
  int asked = 0;

 private:
  Result<std::optional<StoredConfig>> answer_;
};

Result<FetchedConfig> fetch_alone(ConfigSource* source,
                                  const Environment& variables = environment({})) {
  LocalGroup group(1);
  return fetch_config({}, {}, source, *group.join(0), variables);
}

StoredConfig three_streams() {
  ScheduleConfig config;
  config.streams = 3;
  return {config, "study s"};
}

TEST(Client, ATrialsConfigurationComesFirstThenTheStoreThenTheDefault) {
  FixedSource full(three_streams()), empty(std::optional<StoredConfig>{});
  ScheduleConfig two;
  two.streams = 2;
  const auto trial =
      fetch_alone(&full, environment({{"HOCKET_CONFIG", to_json(two).dump()}})).value();
  EXPECT_EQ(trial.config.streams, 2);
  EXPECT_EQ(trial.source, "trial");
  EXPECT_EQ(full.asked, 0);

  const auto stored = fetch_alone(&full).value();
  EXPECT_EQ(stored.config.streams, 3);
  EXPECT_EQ(stored.source, "store");
  EXPECT_EQ(stored.detail, "study s");

  EXPECT_EQ(fetch_alone(&empty).value().source, "default");
  EXPECT_EQ(fetch_alone(nullptr).value().config, ScheduleConfig{});
}

TEST(Client, AStoreThatFailsOrHoldsNonsenseMeansTheDefaultAndAWarning) {
  FixedSource broken(failure(ErrorCode::unavailable, "disk on fire"));
  const auto fetched = fetch_alone(&broken).value();
  EXPECT_EQ(fetched.source, "default");
  ASSERT_EQ(fetched.warnings.size(), 1u);
  EXPECT_THAT(fetched.warnings[0], HasSubstr("disk on fire"));

  auto nonsense = three_streams();
  nonsense.config.streams = 1000;
  FixedSource invalid(nonsense);
  const auto refused = fetch_alone(&invalid).value();
  EXPECT_EQ(refused.config, ScheduleConfig{});
  EXPECT_THAT(refused.detail, HasSubstr("from 1 to 64, found 1000"));
}

TEST(Client, ATrialWithABadConfigurationIsAnErrorSinceItWouldMeasureSomethingElse) {
  const auto fetched = fetch_alone(nullptr, environment({{"HOCKET_CONFIG", R"({"streams":2})"}}));
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(fetched.error().message, HasSubstr("HOCKET_CONFIG: field \"format\" is missing"));
}

TEST(Client, EveryRankGetsWhatRankZeroFetched) {
  run_local_ranks(3, [](int rank, Collective& collective) {
    FixedSource source(three_streams());
    // The environment of the other ranks must not matter.
    const auto fetched = fetch_config(
        {}, {}, &source, collective,
        environment(rank == 0 ? std::map<std::string, std::string>{}
                              : std::map<std::string, std::string>{{"HOCKET_CONFIG", "{"}}));
    ASSERT_TRUE(fetched) << fetched.error().message;
    EXPECT_EQ(fetched->config.streams, 3);
    EXPECT_EQ(source.asked, rank == 0 ? 1 : 0);
  });
}

TEST(Client, EveryRankSaysWhatIsWrongWithRankZerosConfiguration) {
  run_local_ranks(3, [](int rank, Collective& collective) {
    const auto fetched = fetch_config(
        {}, {}, nullptr, collective,
        environment(rank == 0 ? std::map<std::string, std::string>{{"HOCKET_CONFIG", "{}"}}
                              : std::map<std::string, std::string>{}));
    ASSERT_FALSE(fetched);
    EXPECT_EQ(fetched.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(fetched.error().message, HasSubstr("HOCKET_CONFIG: field \"format\" is missing"));
  });
}

TEST(Client, TheReportIsWrittenWholeWhereTheSweepWantsIt) {
  const TemporaryFolder folder;
  const std::string path = folder.file("report");
  RunReport report;
  report.config_source = "trial";
  report.iterations = {{5, 4, 3, 2}};
  ASSERT_TRUE(write_report(report, environment({{"HOCKET_REPORT", path}})));
  EXPECT_EQ(parse_report(read_file(path).value()).value(), report);
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));

  EXPECT_TRUE(write_report(report, environment({})));
  EXPECT_FALSE(write_report(report, environment({{"HOCKET_REPORT", "/no/such/folder/report"}})));
}

TEST(Client, IterationsCanBeReadWhileTheJobRuns) {
  const TemporaryFolder folder;
  const std::string path = folder.file("iterations");
  IterationLog log(environment({{"HOCKET_ITERATIONS", path}}));
  log.add(411'200'000);
  EXPECT_EQ(read_file(path).value(), "411200000\n");
  log.add(7);
  EXPECT_EQ(read_file(path).value(), "411200000\n7\n");
}

TEST(Client, AJobGoesOnWhereItsIterationsCannotBeWritten) {
  IterationLog unset(environment({}));
  unset.add(1);
  IterationLog nowhere(environment({{"HOCKET_ITERATIONS", "/no/such/folder/iterations"}}));
  nowhere.add(1);
  IterationLog full(environment({{"HOCKET_ITERATIONS", "/dev/full"}}));
  full.add(1);
  full.add(2);
}

TEST(Client, NothingInAFilesPlaceStopsAJob) {
  const TemporaryFolder folder;
  const std::string path = folder.file("report"), unfinished = path + ".part";
  const auto report = [&] { return write_report({}, environment({{"HOCKET_REPORT", path}})); };
  for_odd_files(
      unfinished, [&] { (void)report(); },
      [&](const OddFile& odd, bool ended) {
        EXPECT_TRUE(ended) << odd.kind;
        const auto written = report();
        ASSERT_FALSE(written) << odd.kind;
        EXPECT_THAT(written.error().message, HasSubstr(unfinished));
      });
  const std::string iterations = folder.file("iterations");
  const auto log = [&] { IterationLog(environment({{"HOCKET_ITERATIONS", iterations}})).add(1); };
  for_odd_files(iterations, log,
                [&](const OddFile& odd, bool ended) { EXPECT_TRUE(ended) << odd.kind; });
}

}  // namespace
}  // namespace hocket
