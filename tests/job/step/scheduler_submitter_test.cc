#include "job/step/scheduler_submitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/trace/trace_sink.h"
#include "profiler/metrics/iterations.h"
#include "tests/core/host/ranks.h"

namespace hocket {
namespace {

using testing::Each;

/// Large enough that each of two ranks has a block of it.
using Values = std::vector<float>;
constexpr std::size_t kCount = 2048;

Values values_of(int rank) {
  return Values(kCount, rank == 0 ? 1 : 10);
}

TEST(SchedulerSubmitter, SubmitsTheCollectiveThatItIsAskedFor) {
  run_local_ranks(2, [](int rank, Collective& collective) {
    const SteadyClock clock;
    HostExecutor executor(collective, clock);
    Scheduler scheduler({}, executor);
    SchedulerSubmitter submitter(scheduler);
    Values summed = values_of(rank), scattered = summed, gathered = summed;
    const DataPlace place{.bytes = kCount * sizeof(float)};
    submitter.all_reduce({.name = "sum"}, submitter.add_data(place, "summed"), summed);
    submitter.reduce_scatter({.name = "scatter"}, submitter.add_data(place, "scattered"),
                             scattered);
    submitter.all_gather({.name = "gather"}, submitter.add_data(place, "gathered"), gathered);
    ASSERT_TRUE(scheduler.synchronize());
    EXPECT_THAT(summed, Each(11));
    EXPECT_EQ(rank == 0 ? scattered.front() : scattered.back(), 11);
    EXPECT_EQ(gathered.front(), 1);
    EXPECT_EQ(gathered.back(), 10);
  });
}

TEST(SchedulerSubmitter, RunsCollectivesAloneIfItIsSerial) {
  run_local_ranks(2, [](int rank, Collective& collective) {
    const SteadyClock clock;
    HostExecutor executor(collective, clock);
    TraceRecorder trace;
    Scheduler scheduler({}, executor, {.trace = &trace});
    SchedulerSubmitter submitter(scheduler, true);
    Values values = values_of(rank);
    const DataId busy = submitter.add_data({.bytes = 4}, "busy");
    const DataId data = submitter.add_data({.bytes = kCount * sizeof(float)}, "values");
    volatile int count = 0;
    submitter.compute({.name = "busy"}, std::array{write(busy)}, [&count] {
      for (int i = 0; i < 3'000'000; ++i) count = count + 1;
    });
    submitter.all_reduce({.name = "sum"}, data, values);
    EXPECT_THAT(values, Each(11)) << "it returns when the sum is there";
    ASSERT_TRUE(scheduler.synchronize());
    const auto events = trace.events();
    const auto compute = std::ranges::find(events, "busy", &TraceEvent::name);
    const auto sum = std::ranges::find(events, "sum", &TraceEvent::name);
    ASSERT_TRUE(compute != events.end() && sum != events.end());
    EXPECT_LE(compute->end_ns, sum->begin_ns);
  });
}

}  // namespace
}  // namespace hocket
