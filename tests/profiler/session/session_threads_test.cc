// Tests a profile session on the host executor: real threads, several ranks.

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>

#include "core/host/host_executor.h"
#include "tests/core/host/ranks.h"
#include "tests/profiler/session/session_fixtures.h"

namespace hocket {
namespace {

constexpr int kRanks = 2;
constexpr std::int64_t kSteps = 14;

/// Submits a step of a chain of compute tasks whose results are summed, some independent tasks, and
/// updates.
class Job {
 public:
  Job(Scheduler& scheduler, std::uint64_t seed) : scheduler_(scheduler) {
    std::mt19937_64 random(seed);
    layers_.resize(1 + random() % 6);
    for (Layer& layer : layers_) {
      layer.values.resize(1 + random() % 3000);
      layer.gradient = scheduler.add_data();
      layer.name = "layer " + std::to_string(&layer - layers_.data());
      layer.sum_name = "sum " + layer.name;
      layer.update_name = "update " + layer.name;
    }
    chain_ = scheduler.add_data();
  }

  void submit_step() {
    for (Layer& layer : layers_) {
      scheduler_.compute({.name = layer.name}, {update(chain_), write(layer.gradient)},
                         [&layer] { layer.values.assign(layer.values.size(), 1); });
      scheduler_.all_reduce({.name = layer.sum_name}, layer.gradient, layer.values);
      scheduler_.compute({.name = layer.update_name}, {update(layer.gradient)}, [] {});
    }
  }

 private:
  struct Layer {
    std::string name, sum_name, update_name;
    std::vector<float> values;
    DataId gradient;
  };
  Scheduler& scheduler_;
  DataId chain_;
  std::vector<Layer> layers_;
};

struct RankRun {
  std::optional<ProfileResult> result;
  std::vector<TraceEvent> events;
};

RankRun profile_rank(Collective& collective, std::uint64_t seed, const ProfileSpan& span) {
  std::mt19937_64 random(seed);
  ScheduleConfig config;
  config.partition_bytes = 1024;
  config.credit_bytes = 4096;
  config.streams = 1 + static_cast<int>(random() % 3);
  config.comm_channels = 1 + static_cast<int>(random() % 2);
  config.order = random() % 2 ? CollectiveOrder::fifo : CollectiveOrder::negotiated;
  const bool captured = random() % 2;
  const SteadyClock clock;
  ProfileSession session({.clock = clock, .rank = collective.rank(), .ranks = kRanks});
  WatchedRun run(session);
  HostExecutor executor(collective, clock);
  RankRun done;
  std::optional<Job> job;
  Scheduler scheduler(config, executor, {.trace = &run, .observer = &session});
  job.emplace(scheduler, seed);
  EXPECT_TRUE(session.start(span));
  std::shared_ptr<Scheduler::Capture> capture;
  if (captured) {
    scheduler.begin_capture();
    job->submit_step();
    capture = scheduler.end_capture();
  }
  for (std::int64_t step = 0; step < kSteps; ++step) {
    if (captured) {
      EXPECT_TRUE(scheduler.launch(capture));
    } else {
      job->submit_step();
      EXPECT_TRUE(scheduler.end_step());
    }
    if (!done.result) done.result = session.take();
  }
  EXPECT_TRUE(scheduler.synchronize());
  session.stop();
  if (!done.result) done.result = session.take();
  if (!done.result) return done;
  expect_true(*done.result, run.recorder);
  expect_tasks(*done.result);
  return done;
}

TEST(ProfileSessionThreads, RanksKeepTheSamePartsOfTheSameSteps) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<RankRun> runs(kRanks);
    const ProfileSpan span{.first_step = static_cast<std::int64_t>(seed % 5), .steps = 4};
    run_local_ranks(kRanks, [&](int rank, Collective& collective) {
      runs[static_cast<std::size_t>(rank)] = profile_rank(collective, seed, span);
    });
    std::vector<std::set<std::tuple<std::int64_t, std::string, std::int64_t, std::int64_t>>> parts(
        kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      ASSERT_TRUE(runs[at].result);
      const RankTrace& trace = runs[at].result->trace;
      EXPECT_EQ(trace.rank, rank);
      EXPECT_EQ(windows_of(trace).size(), 4u);
      for (const TraceRecord& record : trace.records) {
        if (record.kind != TraceKind::communication) continue;
        // Parts of the steps around the span may be included on one rank only.
        if (record.step < span.first_step || record.step >= span.first_step + span.steps) continue;
        const auto part =
            std::tuple(record.sequence, trace.names[record.name], record.step, record.bytes);
        EXPECT_TRUE(parts[at].insert(part).second) << "comes twice";
      }
    }
    // The last step may end outside the windows.
    std::erase_if(parts[0], [&](const auto& p) { return std::get<2>(p) == span.first_step + 3; });
    std::erase_if(parts[1], [&](const auto& p) { return std::get<2>(p) == span.first_step + 3; });
    EXPECT_FALSE(parts[0].empty());
    EXPECT_EQ(parts[0], parts[1]);
    EXPECT_TRUE(runs[0].result->structure == runs[1].result->structure);
  }
}

TEST(ProfileSessionThreads, AnybodyMayStartAndStopItAtAnyTime) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    LocalGroup group(1);
    const auto collective = group.join(0);
    const SteadyClock clock;
    ProfileSession session({.clock = clock, .capacity = 4096});
    WatchedRun run(session);
    HostExecutor executor(*collective, clock);
    std::optional<Job> job;
    std::atomic<bool> ends = false;
    Scheduler scheduler({.streams = 2}, executor, {.trace = &run, .observer = &session});
    job.emplace(scheduler, seed);
    std::jthread operator_thread([&] {
      std::mt19937_64 random(seed);
      while (!ends) {
        // Steps that have begun are left out at any moment of the start.
        (void)session.start({.first_step = static_cast<std::int64_t>(random() % 200),
                             .steps = 1 + static_cast<std::int64_t>(random() % 5),
                             .interleave = static_cast<std::int64_t>(random() % 3)});
        if (random() % 2) session.stop();
        (void)session.take();
      }
    });
    for (int step = 0; step < 200; ++step) {
      job->submit_step();
      EXPECT_TRUE(scheduler.end_step());
    }
    EXPECT_TRUE(scheduler.synchronize());
    ends = true;
  }
}

}  // namespace
}  // namespace hocket
