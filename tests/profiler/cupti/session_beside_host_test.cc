// Tests a profile session with CUPTI as its device, on simulated steps whose tasks are kernels.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "core/sim/simulator.h"
#include "core/trace/task_marker.h"
#include "profiler/cupti/cupti_session.h"
#include "tests/core/sim/random_steps.h"
#include "tests/profiler/cupti/fake_cupti.h"
#include "tests/profiler/session/session_fixtures.h"

namespace hocket {
namespace {

using testing::IsEmpty;
using testing::Not;

/// Launches a marked kernel for each task and part, then passes the event to the host's session, of
/// computations as an executor that tells their order alone.
class LaunchedRun final : public TraceSink {
 public:
  LaunchedRun(FakeCupti& cupti, TaskMarker* marker, TraceSink& next)
      : cupti_(cupti), marker_(marker), next_(next) {}

  void record(const TraceEvent& event) override {
    recorder.record(event);
    const bool is_part = event.kind == TraceKind::communication;
    const std::string name =
        is_part ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL" : std::string(event.name);
    {
      const TaskMark mark(marker_, event.step, event.task);
      cupti_.launch(names_.insert(name).first->c_str(),
                    static_cast<std::uint32_t>(event.lane) + (is_part ? 100 : 7), event.begin_ns,
                    event.begin_ns, event.end_ns);
    }
    if (!tells_order || is_part) return next_.record(event);
    next_.record({TraceKind::compute, event.lane, "step", event.step, event.begin_ns,
                  event.begin_ns, 0, kWholeStep});
    TraceEvent told = event;
    told.begin_ns = event.end_ns;
    next_.record(told);
  }

  TraceRecorder recorder;
  bool tells_order = false;

 private:
  FakeCupti& cupti_;
  TaskMarker* const marker_;
  TraceSink& next_;
  std::set<std::string> names_;
};

struct DeviceRun {
  DeviceRun(std::uint64_t seed, CuptiLevel level, bool marks = true) {
    std::mt19937_64 random(seed);
    step = random() % 2 ? random_chain(random) : random_graph(random);
    step.ranks = 2;
    config.partition_bytes = std::int64_t{1} << (12 + random() % 10);
    config.credit_bytes = config.partition_bytes << random() % 3;
    config.streams = 1 + static_cast<int>(random() % 3);
    config.comm_channels = 1 + static_cast<int>(random() % 3);
    auto opened = CuptiSession::open(cupti, {.clock = clock,
                                             .level = level,
                                             .buffers = {.buffers = 256, .buffer_bytes = 1 << 16},
                                             .flush_period_ns = 0});
    EXPECT_TRUE(opened) << opened.error().message;
    device = std::move(*opened);
    session.emplace(ProfileSessionOptions{.clock = clock, .device = device.get()});
    run.emplace(*cupti, marks ? device.get() : nullptr, *session);
  }

  /// Runs the simulation. Keep the result: the profile's names point into it.
  Simulation simulate_steps(std::int64_t iterations) {
    auto done = simulate(step, {.config = config,
                                .iterations = iterations,
                                .trace = &*run,
                                .observer = &*session,
                                .clock = &clock});
    EXPECT_TRUE(done) << done.error().message;
    return std::move(*done);
  }

  StepDescription step;
  ScheduleConfig config;
  SimulationClock clock;
  std::shared_ptr<FakeCupti> cupti = std::make_shared<FakeCupti>(clock, 1'000'000'000);
  std::unique_ptr<CuptiSession> device;
  std::optional<ProfileSession> session;
  std::optional<LaunchedRun> run;
};

/// The device's work without lanes, which CUPTI numbers by stream.
using Worked = std::tuple<std::int64_t, std::int64_t, TraceKind, std::string, std::int64_t,
                          std::int64_t, std::int64_t>;

std::vector<Worked> worked(const std::vector<Ran>& all) {
  std::vector<Worked> work;
  for (const auto& [begin_ns, end_ns, kind, lane, name, step, bytes, sequence] : all) {
    if (kind == TraceKind::call) continue;
    work.emplace_back(begin_ns, end_ns, kind, name, step, bytes, sequence);
  }
  std::ranges::sort(work);
  return work;
}

/// Checks that the work in `trace` is what `recorder` saw in its windows.
void expect_all_work(const RankTrace& trace, const TraceRecorder& recorder) {
  const std::vector<Worked> found = worked(ran(trace));
  const std::vector<Worked> truth = worked(ran_inside(recorder.events(), trace));
  std::vector<Worked> only_found, only_true;
  std::ranges::set_difference(found, truth, std::back_inserter(only_found));
  std::ranges::set_difference(truth, found, std::back_inserter(only_true));
  EXPECT_THAT(only_found, IsEmpty());
  EXPECT_THAT(only_true, IsEmpty());
}

TEST(CuptiBesideHost, FindsTheKernelsOfEachTask) {
  int windows = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DeviceRun job(seed, CuptiLevel::l1);
    job.run->tells_order = seed % 2 == 1;
    const auto first = static_cast<std::int64_t>(seed % 5);
    ASSERT_TRUE(job.session->start({.first_step = first, .steps = 3}));
    const Simulation names = job.simulate_steps(14);
    ASSERT_TRUE(job.session->is_done());
    EXPECT_THAT(job.cupti->enabled(), IsEmpty());
    const auto result = job.session->take();
    ASSERT_TRUE(result);
    const RankTrace& trace = result->trace;
    EXPECT_EQ(trace.source, "cupti");
    expect_all_work(trace, job.run->recorder);
    EXPECT_TRUE(std::ranges::any_of(
        trace.records, [](const TraceRecord& r) { return r.kind == TraceKind::call; }));
    EXPECT_THAT(result->notes, IsEmpty());
    for (const StepStart& start : trace.step_starts)
      EXPECT_EQ(start.begin_ns, job.run->recorder.step_start_ns(start.step));
    windows += static_cast<int>(windows_of(trace).size());
    for (const TraceRecord& record : trace.records) {
      if (record.kind != TraceKind::compute || record.task == kNoTask) continue;
      ASSERT_LT(record.task, std::ssize(result->structure.tasks));
      EXPECT_EQ(result->structure.tasks[static_cast<std::size_t>(record.task)].name,
                trace.names[record.name]);
      EXPECT_LE(record.ready_ns, record.begin_ns);
    }
  }
  EXPECT_GT(windows, 100);
}

TEST(CuptiBesideHost, RecordsInTheProfiledBlocksAlone) {
  DeviceRun job(5, CuptiLevel::l1);
  ASSERT_TRUE(job.session->start({.first_step = 6, .steps = 8, .interleave = 4}));
  std::set<std::int64_t> with, without;
  // Checks at the end of each step's last task.
  class Watch final : public TraceSink {
   public:
    Watch(TraceSink& next, FakeCupti& cupti, std::set<std::int64_t>& with,
          std::set<std::int64_t>& without)
        : next_(next), cupti_(cupti), with_(with), without_(without) {}
    void record(const TraceEvent& event) override {
      next_.record(event);
      (cupti_.enabled().empty() ? without_ : with_).insert(event.step);
    }

   private:
    TraceSink& next_;
    FakeCupti& cupti_;
    std::set<std::int64_t>&with_, &without_;
  } watch(*job.run, *job.cupti, with, without);
  const auto done = simulate(job.step, {.config = job.config,
                                        .iterations = 40,
                                        .trace = &watch,
                                        .observer = &*job.session,
                                        .clock = &job.clock});
  ASSERT_TRUE(done);
  ASSERT_TRUE(job.session->is_done());
  const auto result = job.session->take();
  ASSERT_TRUE(result);
  for (const auto& [start, end_ns] : windows_of(result->trace)) {
    EXPECT_TRUE(with.contains(start.step)) << start.step;
    EXPECT_FALSE(without.contains(start.step)) << start.step;
  }
  EXPECT_EQ(windows_of(result->trace).size(), 8u);
  EXPECT_TRUE(without.contains(3));
  EXPECT_TRUE(without.contains(14)) << "between two blocks";
  EXPECT_TRUE(without.contains(39));
  ASSERT_TRUE(result->overhead);
  expect_all_work(result->trace, job.run->recorder);
}

TEST(CuptiBesideHost, HasNoTasksWhereNothingIsMarked) {
  DeviceRun job(3, CuptiLevel::l1, false);
  ASSERT_TRUE(job.session->start({.first_step = 4, .steps = 3}));
  const Simulation names = job.simulate_steps(14);
  const auto result = job.session->take();
  ASSERT_TRUE(result);
  EXPECT_THAT(windows_of(result->trace), Not(IsEmpty()));
  std::int64_t computations = 0;
  for (const TraceRecord& record : result->trace.records) {
    if (record.kind != TraceKind::compute) continue;
    ++computations;
    EXPECT_EQ(record.task, kNoTask);
  }
  const auto truth = ran_inside(job.run->recorder.events(), result->trace);
  EXPECT_EQ(computations, std::ranges::count_if(truth, [](const Ran& r) {
              return std::get<TraceKind>(r) == TraceKind::compute;
            }));
}

TEST(CuptiBesideHost, StopsWithWhatThereIs) {
  std::size_t windows = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DeviceRun job(seed, CuptiLevel::l1);
    job.run->tells_order = seed % 2 == 1;
    ASSERT_TRUE(job.session->start({.first_step = 3, .steps = 100}));
    const Simulation names = job.simulate_steps(9);
    job.session->stop();
    EXPECT_THAT(job.cupti->enabled(), IsEmpty());
    const auto result = job.session->take();
    ASSERT_TRUE(result);
    windows += windows_of(result->trace).size();
    expect_all_work(result->trace, job.run->recorder);
  }
  EXPECT_GT(windows, 40u);
}

TEST(CuptiBesideHost, LeavesTheHostsProfileWhereCuptiFails) {
  DeviceRun job(6, CuptiLevel::l1);
  job.cupti->refused_kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
  ASSERT_TRUE(job.session->start({.first_step = 2, .steps = 3}));
  const Simulation names = job.simulate_steps(12);
  const auto result = job.session->take();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->trace.source, "host");
  EXPECT_EQ(ran(result->trace), ran_inside(job.run->recorder.events(), result->trace));
  ASSERT_THAT(result->notes, testing::SizeIs(1));
  EXPECT_THAT(result->notes.front(), testing::HasSubstr("concurrent kernels"));
}

TEST(CuptiBesideHost, CountsWhatIsLostInTheProfile) {
  DeviceRun job(7, CuptiLevel::l1);
  ASSERT_TRUE(job.session->start({.first_step = 0, .steps = 20}));
  job.cupti->record(kernel_record("without a time", {0, 0}));
  const Simulation names = job.simulate_steps(6);
  job.session->stop();
  const auto result = job.session->take();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->trace.quarantined, 1);
  EXPECT_THAT(result->notes, testing::Contains(testing::HasSubstr("1 without a time")));
}

}  // namespace
}  // namespace hocket
