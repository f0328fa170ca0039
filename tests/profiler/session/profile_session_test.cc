#include "profiler/session/profile_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

#include "core/base/intervals.h"
#include "core/base/statistics.h"
#include "core/sim/simulator.h"
#include "profiler/calibration/step_profile.h"
#include "tests/core/sim/random_steps.h"
#include "tests/profiler/session/session_fixtures.h"

namespace hocket {
namespace {

using testing::HasSubstr;

/// One simulated rank, watched by a session.
struct SimulatedRun {
  explicit SimulatedRun(std::uint64_t seed, std::size_t capacity = 1 << 16)
      : session({.clock = clock,
                 .rank = 0,
                 .ranks = 2,
                 .host = "host",
                 .source = "simulator",
                 .capacity = capacity,
                 .realtime_ns = [this] { return 5000 + clock.now_ns(); }}),
        run(session) {
    std::mt19937_64 random(seed);
    if (random() % 2) {
      step = random_chain(random);
    } else {
      step = random_graph(random);
    }
    step.ranks = 2;
    if (random() % 2) step.jitter = {JitterKind::uniform, 0.5, seed};
    config.partition_bytes = std::int64_t{1} << (12 + random() % 10);
    config.credit_bytes = config.partition_bytes << random() % 3;
    config.streams = 1 + static_cast<int>(random() % 3);
    config.comm_channels = 1 + static_cast<int>(random() % 3);
    config.order = random() % 2 ? CollectiveOrder::fifo : CollectiveOrder::negotiated;
  }

  /// Runs the simulation. Keep the result: the names in the session's log point into it.
  Simulation simulate_steps(std::int64_t iterations) {
    auto done = simulate(step, {.config = config,
                                .iterations = iterations,
                                .trace = &run,
                                .observer = &session,
                                .clock = &clock});
    EXPECT_TRUE(done) << done.error().message;
    return std::move(*done);
  }

  StepDescription step;
  ScheduleConfig config;
  SimulationClock clock;
  ProfileSession session;
  WatchedRun run;
};

/// Returns the structure of a simulated step.
StepStructure structure_of(const StepDescription& step) {
  StepStructure structure;
  std::map<std::uint32_t, std::uint32_t> data;
  for (const StepTask& task : expand(step).tasks) {
    structure.tasks.push_back({task.name, task.collective, task.bytes, task.priority, {}});
    for (const Access& access : task.accesses) {
      const auto next = static_cast<std::uint32_t>(data.size());
      structure.tasks.back().accesses.push_back(
          {{data.try_emplace(access.data.index, next).first->second}, access.mode});
    }
  }
  return structure;
}

/// Returns whether each step begins after the one before, so that there are windows.
bool steps_rise(const TraceRecorder& recorder, std::int64_t end) {
  for (std::int64_t step = 1; step < end; ++step) {
    if (!(recorder.step_start_ns(step - 1) < recorder.step_start_ns(step))) return false;
  }
  return true;
}

TEST(ProfileSession, KeepsWhatRanInTheStepsOfItsSpan) {
  int whole = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedRun job(seed);
    job.run.obeys_detail = seed % 2 == 0;
    const auto first = static_cast<std::int64_t>(seed % 7);
    const std::int64_t steps = 1 + static_cast<std::int64_t>(seed % 4);
    ASSERT_TRUE(job.session.start({.first_step = first, .steps = steps}));
    const Simulation names = job.simulate_steps(16);
    ASSERT_TRUE(job.session.is_done());
    const auto result = job.session.take();
    ASSERT_TRUE(result);
    expect_true(*result, job.run.recorder);
    if (!steps_rise(job.run.recorder, 16)) continue;
    ++whole;
    expect_tasks(*result);
    EXPECT_EQ(std::ssize(windows_of(result->trace)), steps);
    EXPECT_EQ(result->trace.step_starts.front().step, first);
    EXPECT_TRUE(result->structure == structure_of(job.step)) << to_json(result->structure).dump();
    EXPECT_EQ(result->trace.dropped, 0);
    EXPECT_EQ(result->trace.ranks, 2);
    EXPECT_EQ(result->trace.host, "host");
    EXPECT_EQ(result->trace.source, "simulator");
    EXPECT_FALSE(result->overhead);
    EXPECT_FALSE(job.session.is_done());
    EXPECT_FALSE(job.session.take());
  }
  EXPECT_GT(whole, 75);
}

TEST(ProfileSession, ASumThatIsPushedAndPulledIsOneAllReduceOfAJobWithServers) {
  StepDescription step;
  step.layers = {{"a", 1 << 20, 200'000, 300'000}, {"b", 3 << 18, 100'000, 200'000}};
  step.ranks = 2;
  const LinkSpec link{1e9, 5000};
  step.servers = StepServers{.servers = 2, .rank_link = link, .server_link = link};
  SimulationClock clock;
  ProfileSession session(
      {.clock = clock, .ranks = 2, .servers = 2, .host = "host", .source = "simulator"});
  WatchedRun run(session);
  ASSERT_TRUE(session.start({.first_step = 2, .steps = 3}));
  const auto names = simulate(step, {.config = {.partition_bytes = 1 << 16,
                                                .communication = Communication::parameter_server},
                                     .iterations = 12,
                                     .trace = &run,
                                     .observer = &session,
                                     .clock = &clock});
  ASSERT_TRUE(names) << names.error().message;
  const auto result = session.take();
  ASSERT_TRUE(result);
  StepStructure expected = structure_of(step);
  expected.servers = 2;
  EXPECT_TRUE(result->structure == expected) << to_json(result->structure).dump();
  EXPECT_TRUE(step_structure_from_json(to_json(result->structure)).value() == expected);
  EXPECT_EQ(windows_of(result->trace).size(), 3U);
  std::map<CollectiveKind, std::int64_t> bytes;
  for (const TraceRecord& record : result->trace.records)
    if (record.kind == TraceKind::communication && record.step == 3)
      bytes[record.collective.value()] += record.bytes;
  EXPECT_EQ(bytes, (std::map<CollectiveKind, std::int64_t>{{CollectiveKind::push, 7 << 18},
                                                           {CollectiveKind::pull, 7 << 18}}));
}

TEST(ProfileSession, WantsTheTasksOfItsSpanAlone) {
  SimulatedRun job(1);
  const auto wanted = [&](std::int64_t end) {
    std::vector<std::int64_t> steps;
    for (std::int64_t step = 0; step < end; ++step)
      if (job.session.detail(step) == TraceDetail::tasks) steps.push_back(step);
    return steps;
  };
  EXPECT_TRUE(wanted(100).empty());
  ASSERT_TRUE(job.session.start({.first_step = 4, .steps = 2}));
  EXPECT_EQ(wanted(100), (std::vector<std::int64_t>{3, 4, 5, 6}));
  job.session.stop();
  EXPECT_TRUE(wanted(100).empty());
  EXPECT_TRUE(job.session.take());
  ASSERT_TRUE(job.session.start({.first_step = 5, .steps = 3, .interleave = 2}));
  EXPECT_EQ(wanted(100), (std::vector<std::int64_t>{4, 5, 6, 7, 13, 14, 15}));
}

TEST(ProfileSession, ClocksAreSampledAtBothEndsOfTheSpan) {
  SimulatedRun job(1);
  ASSERT_TRUE(job.session.start({.first_step = 4, .steps = 2}));
  const Simulation names = job.simulate_steps(12);
  const auto result = job.session.take();
  ASSERT_TRUE(result);
  const auto& samples = result->trace.clock_samples;
  ASSERT_GE(samples.size(), 2u);
  EXPECT_LT(samples.front().clock_ns, result->trace.step_starts.front().begin_ns);
  EXPECT_GT(samples.back().clock_ns, result->trace.step_starts.back().begin_ns);
  for (const ClockSample& sample : samples) EXPECT_EQ(sample.realtime_ns, 5000 + sample.clock_ns);
}

TEST(ProfileSession, WhereverItIsStoppedItKeepsWhatIsWhole) {
  std::int64_t windows = 0, structures = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedRun job(seed);
    const std::int64_t first = static_cast<std::int64_t>(seed % 3);
    ASSERT_TRUE(job.session.start({.first_step = first, .steps = 6}));
    auto left = static_cast<std::int64_t>(std::mt19937_64(seed)() % 300);
    job.run.before_event = [&] {
      if (left-- == 0) job.session.stop();
    };
    const Simulation names = job.simulate_steps(14);
    job.session.stop();
    const auto result = job.session.take();
    ASSERT_TRUE(result);
    expect_true(*result, job.run.recorder);
    if (steps_rise(job.run.recorder, 14)) expect_tasks(*result);
    windows += std::ssize(windows_of(result->trace));
    structures += result->structure.tasks.empty() ? 0 : 1;
  }
  EXPECT_GT(windows, 150);
  EXPECT_GT(structures, 50);
}

TEST(ProfileSession, AJobThatEndsBeforeTheSpanLeavesAllButItsLastStep) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedRun job(seed);
    ASSERT_TRUE(job.session.start({.first_step = 3, .steps = 100}));
    const Simulation names = job.simulate_steps(8);
    EXPECT_FALSE(job.session.is_done());
    EXPECT_FALSE(job.session.take());
    job.session.stop();
    const auto result = job.session.take();
    ASSERT_TRUE(result);
    expect_true(*result, job.run.recorder);
    // The simulator stops with the step after the last active one.
    if (!steps_rise(job.run.recorder, 8)) continue;
    EXPECT_GE(std::ssize(windows_of(result->trace)), 4);
  }
}

TEST(ProfileSession, StepsThatHadBegunAreLeftOut) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedRun job(seed);
    auto left = static_cast<std::int64_t>(std::mt19937_64(seed)() % 300);
    job.run.before_event = [&] {
      if (left-- != 0) return;
      const auto first = static_cast<std::int64_t>(seed % 5);
      EXPECT_TRUE(job.session.start({.first_step = first, .steps = 6}));
    };
    const Simulation names = job.simulate_steps(20);
    job.session.stop();
    const auto result = job.session.take();
    if (!result) continue;  // the job had fewer events
    expect_true(*result, job.run.recorder);
    if (steps_rise(job.run.recorder, 20)) expect_tasks(*result);
  }
}

TEST(ProfileSession, ASpanThatIsOverWhenItStartsIsDoneAtOnce) {
  SimulatedRun job(2);
  std::int64_t events = 0;
  job.run.before_event = [&] {
    if (!job.run.recorder.step_start_ns(8)) return;
    EXPECT_EQ(job.session.is_done(), events > 0);
    if (events++ == 0) {
      EXPECT_TRUE(job.session.start({.first_step = 1, .steps = 2}));
    }
  };
  const Simulation names = job.simulate_steps(12);
  const auto result = job.session.take();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->trace.records.empty());
  EXPECT_TRUE(result->trace.step_starts.empty());
}

/// Records the times in which it was on.
class DeviceLog final : public DeviceRecorder {
 public:
  explicit DeviceLog(const Clock& clock) : clock_(clock) {}

  void resume() override {
    EXPECT_FALSE(is_on_);
    is_on_ = true;
    on.push_back({clock_.now_ns(), 0});
  }
  void pause() override {
    EXPECT_TRUE(is_on_);
    is_on_ = false;
    on.back().end_ns = clock_.now_ns();
  }
  void add_to(ProfileResult& result) override {
    EXPECT_FALSE(is_on_);
    ++taken;
    result.notes.push_back("device");
  }

  std::vector<Interval> on;
  int taken = 0;

 private:
  const Clock& clock_;
  bool is_on_ = false;
};

TEST(ProfileSession, WantsTheOrderOfTasksWhereADeviceHasTheirTimes) {
  SimulatedRun job(1);
  DeviceLog device(job.clock);
  ProfileSession session({.clock = job.clock, .device = &device});
  ASSERT_TRUE(session.start({.first_step = 4, .steps = 2}));
  EXPECT_EQ(session.detail(2), TraceDetail::steps);
  EXPECT_EQ(session.detail(5), TraceDetail::order);
}

TEST(ProfileSession, RecordsTheDeviceWhileItKeepsAnything) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedRun job(seed);
    DeviceLog device(job.clock);
    ProfileSession session({.clock = job.clock, .device = &device});
    WatchedRun run(session);
    const std::int64_t interleave = seed % 2 ? 0 : 3;
    ASSERT_TRUE(session.start({.first_step = 6, .steps = 6, .interleave = interleave}));
    const auto names = simulate(job.step, {.config = job.config,
                                           .iterations = 40,
                                           .trace = &run,
                                           .observer = &session,
                                           .clock = &job.clock});
    ASSERT_TRUE(names);
    EXPECT_EQ(device.taken, 0);
    const auto result = session.take();
    ASSERT_TRUE(result);
    EXPECT_EQ(device.taken, 1);
    EXPECT_EQ(result->notes, std::vector<std::string>{"device"});
    // Requested ahead of time, it begins at once, and again before each block.
    EXPECT_EQ(device.on.size(), interleave == 0 ? 2u : 3u);
    std::int64_t inside_ns = 0, all_ns = 0;
    const Coverage recorded(device.on);
    for (const auto& [start, end_ns] : windows_of(result->trace)) {
      inside_ns += recorded.inside_ns({start.begin_ns, end_ns});
      all_ns += end_ns - start.begin_ns;
    }
    EXPECT_EQ(inside_ns, all_ns);
    for (const TraceRecord& record : result->trace.records) {
      if (record.task == kNoTask) continue;
      EXPECT_TRUE(std::ranges::any_of(result->tasks, [&](const NumberedTask& task) {
        return record.step == task.step && record.task == task.task;
      }));
    }
    EXPECT_GE(result->tasks.size(), result->structure.tasks.size());
  }
}

TEST(ProfileSession, EndsTheDevicesRecordsWhenItIsStopped) {
  SimulatedRun job(1);
  DeviceLog device(job.clock);
  ProfileSession session({.clock = job.clock, .device = &device});
  ASSERT_TRUE(session.start({.first_step = 6, .steps = 6}));
  EXPECT_EQ(device.on.size(), 1u);
  session.stop();
  session.stop();
  EXPECT_TRUE(session.take());
  EXPECT_EQ(device.taken, 1);
  EXPECT_EQ(device.on.size(), 1u);
}

TEST(ProfileSession, OneSpanFollowsAnother) {
  SimulatedRun job(3);
  std::vector<ProfileResult> results;
  const auto start = [&](std::int64_t step) {
    EXPECT_TRUE(job.session.start({.first_step = step, .steps = 3}));
  };
  start(2);
  job.run.before_event = [&] {
    if (auto result = job.session.take()) {
      results.push_back(std::move(*result));
      if (results.size() == 1) start(12);
    }
  };
  const Simulation names = job.simulate_steps(24);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].trace.step_starts.front().step, 2);
  EXPECT_EQ(results[1].trace.step_starts.front().step, 12);
  for (const ProfileResult& result : results) {
    expect_true(result, job.run.recorder);
    expect_tasks(result);
    EXPECT_EQ(windows_of(result.trace).size(), 3u);
  }
}

TEST(ProfileSession, AFullBufferDropsAndCountsAndLeavesWholeWindows) {
  std::int64_t cut = 0, windows = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedRun job(seed, 1 + std::mt19937_64(seed)() % 400);
    ASSERT_TRUE(job.session.start({.first_step = 2, .steps = 6}));
    const Simulation names = job.simulate_steps(14);
    const auto result = job.session.take();
    ASSERT_TRUE(result);
    expect_true(*result, job.run.recorder);
    windows += std::ssize(windows_of(result->trace));
    if (steps_rise(job.run.recorder, 14) && windows_of(result->trace).size() < 6) {
      EXPECT_GT(result->trace.dropped, 0);
      ++cut;
    }
  }
  EXPECT_GT(cut, 10);
  EXPECT_GT(windows, 50);
}

TEST(ProfileSession, InterleavingComparesStepsThatNothingIsKeptOf) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedRun job(seed);
    job.run.obeys_detail = seed % 2 == 0;
    ASSERT_TRUE(job.session.start({.first_step = 5, .steps = 5, .interleave = 2}));
    const Simulation names = job.simulate_steps(5 + 3 * 9 + 4);
    ASSERT_TRUE(job.session.is_done());
    const auto result = job.session.take();
    expect_true(*result, job.run.recorder);
    if (!steps_rise(job.run.recorder, 36)) continue;
    expect_tasks(*result);
    std::vector<std::int64_t> profiled;
    for (const auto& [start, end_ns] : windows_of(result->trace)) profiled.push_back(start.step);
    EXPECT_EQ(profiled, (std::vector<std::int64_t>{5, 6, 14, 15, 23}));
    ASSERT_TRUE(result->overhead);
    EXPECT_EQ(result->overhead->profiled, 5);
    EXPECT_EQ(result->overhead->plain, 6);
    const auto median_ns = [&](const std::vector<std::int64_t>& steps) {
      std::vector<double> took;
      for (const std::int64_t step : steps) {
        took.push_back(static_cast<double>(*job.run.recorder.step_start_ns(step + 1) -
                                           *job.run.recorder.step_start_ns(step)));
      }
      return median(took);
    };
    EXPECT_EQ(result->overhead->profiled_ns, median_ns(profiled));
    // Two steps before and three after a block are in neither group.
    EXPECT_EQ(result->overhead->plain_ns, median_ns({10, 11, 19, 20, 27, 28}));
  }
}

SubmittedTask task_of(TaskId id, std::string_view name) {
  SubmittedTask task;
  task.id = id;
  task.name = name;
  return task;
}

/// A clock that counts its readings.
class AskedClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return ++asked; }
  void sleep_until_ns(std::int64_t) const override {}
  mutable std::int64_t asked = 0;
};

TEST(ProfileSession, DoesNothingWhileItIsOff) {
  const AskedClock clock;
  ProfileSession session({.clock = clock});
  const auto callbacks = [&] {
    session.submitted(task_of({1, 1}, "a"));
    session.ready({1, 1});
    session.record({.name = "a", .task = {1, 1}});
  };
  callbacks();
  EXPECT_EQ(clock.asked, 0);
  ASSERT_TRUE(session.start({.first_step = 0, .steps = 1}));
  const std::int64_t asked = clock.asked;
  callbacks();
  EXPECT_GT(clock.asked, asked);
  session.stop();
  EXPECT_TRUE(session.is_done());
  EXPECT_FALSE(session.start({.first_step = 9}));  // the first span is not taken
  EXPECT_TRUE(session.take());
  const std::int64_t at_end = clock.asked;
  callbacks();
  EXPECT_EQ(clock.asked, at_end);
  session.stop();
  EXPECT_FALSE(session.is_done());
}

TEST(ProfileSession, ASpanOutOfRangeIsRefused) {
  const SteadyClock clock;
  ProfileSession session({.clock = clock});
  for (const auto& [span, field] :
       std::vector<std::pair<ProfileSpan, const char*>>{{{.first_step = -1}, "first_step"},
                                                        {{.steps = 0}, "steps"},
                                                        {{.steps = kMaxProfiledSteps + 1}, "steps"},
                                                        {{.interleave = -1}, "interleave"}}) {
    const auto started = session.start(span);
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(started.error().message, HasSubstr(field));
  }
  ASSERT_TRUE(session.start({}));
  EXPECT_FALSE(session.start({}));
}

TEST(ProfileSession, NamesThatAreNoTextAreMadeOne) {
  const AskedClock clock;
  ProfileSession session({.clock = clock});
  ASSERT_TRUE(session.start({.first_step = 0, .steps = 1}));
  for (std::uint32_t step = 0; step < 4; ++step) {
    session.submitted(task_of({0, step}, "\xff"));
    const std::int64_t begin_ns = clock.now_ns();
    session.record({.name = "\xff",
                    .step = step,
                    .begin_ns = begin_ns,
                    .end_ns = clock.now_ns(),
                    .task = {0, step}});
  }
  const auto result = session.take();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->trace.names, std::vector<std::string>{"\xef\xbf\xbd"});
  EXPECT_EQ(step_structure_from_json(nlohmann::json::parse(to_json(result->structure).dump()))
                .value()
                .tasks.size(),
            1u);
}

TEST(ProfileSession, ItsStructureHasTheStepThatWasPlaced) {
  StepDescription step;
  step.data = {"x", "y"};
  step.data_places = {{.bytes = 512, .layer = 0}, {.bytes = 512}};
  step.tasks.push_back({.name = "task",
                        .collective = {},
                        .duration_ns = 1000,
                        .priority = 1,
                        .accesses = {read(DataId{0}), write(DataId{1})}});
  step.tasks.push_back({.name = "task",
                        .collective = {},
                        .duration_ns = 1000,
                        .accesses = {update(DataId{0}), read(DataId{1})},
                        .host_duration_ns = 2000});
  step.tasks[1].place.updates_layer = 0;
  step.device_memory_bytes = 4096;
  step.to_device = step.to_host = {.beta_ns_per_byte = 1};
  step = with_unique_names(step);
  StepDescription reported = step;
  for (StepTask& task : reported.tasks) {
    task.name = "task";
    task.duration_ns = task.host_duration_ns = 0;
  }
  reported.to_device = reported.to_host = {};
  for (const bool is_reported : {true, false}) {
    SCOPED_TRACE(is_reported);
    SimulatedRun simulated(1);
    simulated.step = step;
    simulated.config = {};
    StepDescription other = reported;
    other.tasks[0].priority = 0;
    simulated.session.placed(is_reported ? reported : other);
    ASSERT_TRUE(simulated.session.start({.first_step = 2, .steps = 3}));
    const auto done = simulated.simulate_steps(12);
    const auto result = simulated.session.take();
    ASSERT_TRUE(result);
    ASSERT_EQ(result->structure.tasks.size(), 4u) << "with two copies";
    ASSERT_EQ(result->structure.placed_from.has_value(), is_reported);
    if (!is_reported) {
      EXPECT_THAT(result->notes, testing::ElementsAre(HasSubstr("the profiled steps are others")));
      continue;
    }
    EXPECT_EQ(submitted_tasks(result->structure).size(), 2u);
    EXPECT_EQ(result->structure.placed_from->device_memory_bytes, 4096);
    EXPECT_EQ(result->structure.placed_from->data_places, step.data_places);
    EXPECT_EQ(result->structure.placed_from->tasks[1].place.updates_layer, 0);
    for (const TraceRecord& record : result->trace.records) {
      const auto lane = result->structure.tasks[static_cast<std::size_t>(record.task)].lane;
      EXPECT_EQ(is_copy(lane), record.kind == TraceKind::copy);
      EXPECT_EQ(lane == TaskLane::host, record.kind == TraceKind::compute && record.lane == 1);
    }
    EXPECT_TRUE(step_structure_from_json(to_json(result->structure)));
  }
}

}  // namespace
}  // namespace hocket
