#include "archive/profiles/calibrate_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "archive/profiles/predict.h"
#include "tests/archive/profiles/profiled_job.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

double iteration_ns(const StepDescription& step, const ScheduleConfig& config) {
  return static_cast<double>(must(simulate(step, {.config = config})).iteration_ns);
}

TEST(CalibrateProfile, PredictsWhatWasMeasuredAndOtherConfigurations) {
  ProfiledJob job;
  const auto loaded = must(load_profile(job.add()));
  const auto calibrated = must(calibrate_profile(loaded));
  EXPECT_EQ(calibrated.config, small_options().config);
  const auto check = must(check_prediction(calibrated));
  EXPECT_NEAR(check.error(), 0, 0.02);
  EXPECT_NEAR(check.measured_ns, iteration_ns(small_step(), small_options().config), 1);
  EXPECT_EQ(to_json(check)["error"], check.error());
  for (const std::int64_t bytes : {256 << 10, 4 << 20}) {
    ScheduleConfig other = small_options().config;
    other.partition_bytes = bytes;
    const double truth = iteration_ns(small_step(), other);
    EXPECT_NEAR(iteration_ns(calibrated.calibration.step, other) / truth, 1, 0.03) << bytes;
  }
}

TEST(CalibrateProfile, BytesThatAreNotKnownWithholdOtherConfigurations) {
  ProfiledJob job;
  const auto known = must(calibrate_profile(must(load_profile(job.add()))));
  EXPECT_EQ(known.calibration.step.prediction_withheld, "");
  auto loaded = must(load_profile(job.add()));
  for (RankTrace& trace : loaded.traces)
    for (TraceRecord& record : trace.records) record.bytes = 0;
  for (StructureTask& task : loaded.structure->tasks) task.bytes = 0;
  const auto calibrated = must(calibrate_profile(loaded));
  EXPECT_EQ(calibrated.calibration.unknown_share, 1);
  EXPECT_THAT(calibrated.calibration.step.prediction_withheld, HasSubstr("record_shapes=True"));
}

TEST(CalibrateProfile, AStepThatIsNotPredictedItselfWithholdsOtherConfigurations) {
  ProfiledJob job;
  const auto loaded = must(load_profile(job.add_traces(ProfiledJob::paused_traces())));
  const auto calibrated = must(calibrate_profile(loaded));
  ASSERT_TRUE(calibrated.check);
  EXPECT_LT(calibrated.check->error(), -kMostPredictionError);
  EXPECT_THAT(calibrated.calibration.step.prediction_withheld, HasSubstr("too short"));
}

TEST(CalibrateProfile, WithoutAConfigurationTheTraceShowsIt) {
  ProfiledJob job;
  const auto row = job.add_traces(ProfiledJob::traces());
  const auto loaded = must(load_profile(row));
  const auto calibrated = must(calibrate_profile(loaded));
  EXPECT_EQ(calibrated.config, traced_config(loaded.traces[0]));
  EXPECT_THAT(calibrated.notes, testing::Contains(HasSubstr("no configuration")));
}

TEST(TracedConfig, CountsLanesAndTakesTheLargestPart) {
  RankTrace trace;
  for (const std::int32_t lane : {0, 4, 4, 1}) {
    TraceRecord record;
    record.kind = TraceKind::communication;
    record.lane = lane;
    record.bytes = 1000 + 100'000 * lane;
    trace.records.push_back(record);
    record.kind = TraceKind::compute;
    record.lane = lane / 4;
    trace.records.push_back(record);
  }
  const auto config = traced_config(trace);
  EXPECT_EQ(config.comm_channels, 3);
  EXPECT_EQ(config.streams, 2);
  EXPECT_EQ(config.partition_bytes, 401'000);
  EXPECT_TRUE(validate(config));
  EXPECT_TRUE(validate(traced_config(RankTrace{})));
}

TEST(TracedConfig, KnowsPushesAndPulls) {
  RankTrace trace;
  for (const std::int32_t lane : {0, 1, 2, 3}) {
    TraceRecord record;
    record.kind = TraceKind::communication;
    record.collective = lane < 2 ? CollectiveKind::push : CollectiveKind::pull;
    record.lane = lane;
    record.bytes = 64 << 10;
    trace.records.push_back(record);
  }
  const auto config = traced_config(trace);
  EXPECT_EQ(config.communication, Communication::parameter_server);
  EXPECT_EQ(config.comm_channels, 2);
  EXPECT_TRUE(validate(config));
}

TEST(CalibrateProfile, SaysWhyItCannot) {
  ProfiledJob job;
  auto loaded = must(load_profile(job.add()));
  auto without = loaded;
  without.structure.reset();
  EXPECT_THAT(message_of(calibrate_profile(without)), HasSubstr("profile " + loaded.row.name));
  auto broken = loaded;
  broken.row.config = {{"format", "hocket-schedule"}, {"version", 1}, {"streams", -1}};
  EXPECT_THAT(message_of(calibrate_profile(broken)), HasSubstr("streams"));
  for (RankTrace& trace : loaded.traces) trace.step_starts.clear();
  EXPECT_THAT(message_of(calibrate_profile(loaded)), HasSubstr(loaded.row.name));
}

Calibration measured(std::optional<LinkSpec> host, std::optional<LinkSpec> network) {
  Calibration calibration{.step = small_step()};
  calibration.host_link = host;
  calibration.network_link = network;
  return calibration;
}

TEST(StepWith, ChangesNothingThatIsNotAsked) {
  const auto calibration = measured({}, {});
  EXPECT_EQ(must(step_with(calibration, {})), calibration.step);
}

TEST(StepWith, TakesTheMeasuredLinkWhereNoneIsGiven) {
  const LinkSpec host{1e9, 5'000}, network{1e8, 20'000}, given{3e9, 1'000};
  const auto more = must(step_with(measured(host, {}), {.ranks = 8, .ranks_per_host = 8}));
  EXPECT_EQ(more.ranks, 8);
  ASSERT_TRUE(more.cluster);
  EXPECT_EQ(more.cluster->host_link, host);
  const auto spread = must(step_with(measured(host, {}), {.ranks = 8, .network_link = network}));
  EXPECT_EQ(spread.cluster->host_link, host);
  EXPECT_EQ(spread.cluster->network_link, network);
  const auto faster = must(step_with(measured(host, network), {.host_link = given}));
  EXPECT_EQ(faster.cluster->host_link, given);
  EXPECT_EQ(faster.ranks, 2);
}

TEST(StepWith, NamesTheTierThatWasNotMeasured) {
  const LinkSpec link{1e9, 5'000};
  EXPECT_THAT(message_of(step_with(measured(link, {}), {.ranks = 8})),
              AllOf(HasSubstr("(network)"), HasSubstr("--link network=")));
  EXPECT_THAT(message_of(step_with(measured({}, link), {.ranks = 8})),
              AllOf(HasSubstr("(host)"), HasSubstr("--link host=")));
  EXPECT_TRUE(step_with(measured({}, link), {.ranks = 8, .ranks_per_host = 1}));
  EXPECT_TRUE(step_with(measured({}, {}), {.ranks = 1}));
}

TEST(StepWith, SaysThatNoLinkFollowsFromTimesThatDoNotGrow) {
  Calibration flat = measured({}, {});
  flat.least_part_bytes = 512;
  flat.most_part_bytes = 1 << 20;
  EXPECT_THAT(message_of(step_with(flat, {.ranks = 8})), HasSubstr("did not take longer"));
}

TEST(StepWith, RepeatsTheMeasuredRanks) {
  auto calibration = measured(LinkSpec{1e9, 5'000}, {});
  calibration.step.rank_compute_scale = {1, 1.5};
  const auto step = must(step_with(calibration, {.ranks = 5, .ranks_per_host = 5}));
  EXPECT_THAT(step.rank_compute_scale, testing::ElementsAre(1, 1.5, 1, 1.5, 1));
}

TEST(StepWith, RefusesWhatCannotBe) {
  const auto calibration = measured(LinkSpec{1e9, 5'000}, LinkSpec{1e9, 5'000});
  for (const std::int64_t ranks : {std::int64_t{0}, std::int64_t{-1}, kMaxStepRanks + 1}) {
    EXPECT_THAT(message_of(step_with(calibration, {.ranks = ranks})), HasSubstr("ranks"));
  }
  EXPECT_THAT(message_of(step_with(calibration, {.ranks_per_host = 0})), HasSubstr("host"));
}

}  // namespace
}  // namespace hocket
