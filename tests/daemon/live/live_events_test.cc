#include "daemon/live/live_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;

ConfigKey key_of(int world_size) {
  return {fingerprint(sample_topology(world_size)), fingerprint(sample_workload())};
}

TEST(LiveEvents, ReportsOfAJobAreJoinedAndOthersKeepTheirOrder) {
  LiveEvents events{MemoryLimits{}};
  must(events.reported(1, {.job = "a", .version = 1, .step = 5, .iteration_ns = {1, 2}}));
  events.tick();
  must(events.job_changed(1));
  must(events.key_changed(key_of(2)));
  must(events.reported(
      1, {.job = "a", .version = 1, .step = 7, .iteration_ns = {3}, .explored = 0.5}));
  for (int i = 0; i < 3; ++i) {
    events.tick();
    must(events.job_changed(1));
    must(events.key_changed(key_of(2)));
  }
  EXPECT_EQ(events.size(), 4u);
  const auto report = std::get<JobReported>(events.take().value()).report;
  EXPECT_THAT(report.iteration_ns, ElementsAre(1, 2, 3));
  EXPECT_EQ(report.step, 7);
  EXPECT_EQ(report.explored, 0.5);
  EXPECT_TRUE(std::holds_alternative<Tick>(events.take().value()));
  EXPECT_EQ(std::get<JobChanged>(events.take().value()).number, 1u);
  EXPECT_EQ(std::get<KeyChanged>(events.take().value()).key, key_of(2));
  EXPECT_FALSE(events.take());
  must(events.job_changed(1));
  EXPECT_EQ(events.size(), 1u) << "one that was taken may come again";
}

TEST(LiveEvents, ReportsOfTwoRegistrationsOfAnIdAreNotJoined) {
  LiveEvents events{MemoryLimits{}};
  must(events.reported(1, {.job = "a", .step = 7, .ended = true}));
  must(events.reported(2, {.job = "a", .step = 1}));
  EXPECT_TRUE(events.has_report_of(1));
  EXPECT_TRUE(std::get<JobReported>(events.take().value()).report.ended);
  EXPECT_FALSE(events.has_report_of(1));
  const auto second = std::get<JobReported>(events.take().value());
  EXPECT_EQ(second.number, 2u);
  EXPECT_FALSE(second.report.ended);
}

TEST(LiveEvents, TimesBeforeAnOutcomeAreNotThoseOfItsConfiguration) {
  JobReport report{.job = "a", .iteration_ns = {1, 2}, .outcomes = {{.trial = 1}}};
  append_report(report,
                {.job = "a", .iteration_ns = {3}, .outcomes = {{.trial = 2}}, .ended = true}, 10);
  EXPECT_THAT(report.iteration_ns, ElementsAre(3));
  ASSERT_EQ(report.outcomes.size(), 2u);
  EXPECT_EQ(report.outcomes[1].trial, 2);
  append_report(report, {.job = "a", .iteration_ns = {4, 5, 6}}, 3);
  EXPECT_THAT(report.iteration_ns, ElementsAre(4, 5, 6));
  EXPECT_TRUE(report.ended);
}

TEST(LiveEvents, WhatDoesNotFitIsRefusedUntilThereIsRoom) {
  LiveEvents events{MemoryLimits{
      .jobs = 2, .pending_keys = 1, .pending_report_bytes = 100'000, .pending_iterations = 4}};
  must(events.key_changed(key_of(2)));
  must(events.key_changed(key_of(2)));
  EXPECT_EQ(code_of(events.key_changed(key_of(4))), ErrorCode::unavailable);
  must(events.job_changed(1));
  must(events.job_changed(2));
  EXPECT_EQ(code_of(events.job_changed(3)), ErrorCode::unavailable);
  while (events.take()) continue;
  must(events.key_changed(key_of(4)));
  must(events.job_changed(3));
  while (events.take()) continue;

  const JobReport large{.job = "a", .outcomes = {{.trial = 1, .candidate_ns = {1}}}};
  int taken = 0;
  while (events.reported(1, large)) ++taken;
  EXPECT_GT(taken, 10);
  EXPECT_LT(taken, 2'000);
  JobReport other = large;
  other.job = "b";
  EXPECT_EQ(code_of(events.reported(2, other)), ErrorCode::unavailable);
  EXPECT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<JobReported>(events.take().value()).report.outcomes.size(),
            static_cast<std::size_t>(taken));
  must(events.reported(2, other));
}

TEST(LiveEvents, AJobThatOnlyTrainsNeverFillsTheQueue) {
  LiveEvents events{MemoryLimits{.pending_report_bytes = 100'000, .pending_iterations = 4}};
  for (int i = 0; i < 100'000; ++i)
    must(events.reported(1, {.job = "a", .iteration_ns = {1, 2, 3}}));
  EXPECT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<JobReported>(events.take().value()).report.iteration_ns.size(), 4u);
}

}  // namespace
}  // namespace hocket
