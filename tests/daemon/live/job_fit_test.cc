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
    EXPECT_EQ(fit_of(job, with_order(order)).fit, Fit::now);
  }
}

TEST(JobFit, WhatAJobCanRunNowAtStartOrNever) {
  JobDescription job;
  job.knobs = {"order"};
  job.can_run.start = {{"order", {.words = {"fifo", "negotiated"}}}, {"streams", {.high = 4}}};
  EXPECT_EQ(fit_of(job, with_order(CollectiveOrder::negotiated)).fit, Fit::now);
  const auto never = fit_of(job, with_order(CollectiveOrder::static_order));
  EXPECT_EQ(never.fit, Fit::never);
  EXPECT_THAT(never.reason, HasSubstr("order=static"));
  ScheduleConfig streams;
  streams.streams = 4;
  const auto at_start = fit_of(job, streams);
  EXPECT_EQ(at_start.fit, Fit::at_start);
  EXPECT_THAT(at_start.reason, HasSubstr("cannot change streams while it runs"));
  streams.streams = 5;
  EXPECT_EQ(fit_of(job, streams).fit, Fit::never);
  job.config = streams;
  EXPECT_EQ(fit_of(job, streams).fit, Fit::now) << "it runs with it";
}

TEST(JobFit, AJobThatTakesItsConfigurationWhenItStarts) {
  JobDescription job;
  job.can_run.running.emplace();
  EXPECT_EQ(fit_of(job, with_order(CollectiveOrder::negotiated)).fit, Fit::at_start);
  EXPECT_EQ(fit_of(job, with_order(CollectiveOrder::static_order)).fit, Fit::never);
}

}  // namespace
}  // namespace hocket
