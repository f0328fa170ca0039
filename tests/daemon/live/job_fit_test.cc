#include "daemon/live/job_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::HasSubstr;

ScheduleConfig with_order(CollectiveOrder order) {
  ScheduleConfig config;
  config.order = order;
  return config;
}

TEST(JobFit, AJobThatDoesNotSayIsAskedEverything) {
  JobDescription job;
  for (const auto order : {CollectiveOrder::static_order, CollectiveOrder::negotiated}) {
    EXPECT_EQ(fit_of(job, with_order(order)).fit, JobFitKind::now);
  }
}

TEST(JobFit, WhatAJobCanRunNowAtStartOrNever) {
  JobDescription job;
  job.knobs = {"order"};
  job.can_run.start = {{"order", {.words = {"fifo", "negotiated"}}}, {"streams", {.high = 4}}};
  EXPECT_EQ(fit_of(job, with_order(CollectiveOrder::negotiated)).fit, JobFitKind::now);
  const auto never = fit_of(job, with_order(CollectiveOrder::static_order));
  EXPECT_EQ(never.fit, JobFitKind::never);
  EXPECT_THAT(never.reason, HasSubstr("order=static"));
  ScheduleConfig streams;
  streams.streams = 4;
  const auto at_start = fit_of(job, streams);
  EXPECT_EQ(at_start.fit, JobFitKind::at_start);
  EXPECT_THAT(at_start.reason, HasSubstr("cannot change streams while it runs"));
  streams.streams = 5;
  EXPECT_EQ(fit_of(job, streams).fit, JobFitKind::never);
  job.config = streams;
  EXPECT_EQ(fit_of(job, streams).fit, JobFitKind::now) << "it runs with it";
}

TEST(JobFit, AJobThatTakesItsConfigurationWhenItStarts) {
  JobDescription job;
  job.can_run.running.emplace();
  EXPECT_EQ(fit_of(job, with_order(CollectiveOrder::negotiated)).fit, JobFitKind::at_start);
  EXPECT_EQ(fit_of(job, with_order(CollectiveOrder::static_order)).fit, JobFitKind::never);
}

}  // namespace
}  // namespace hocket
