#include "plugins/nccl/control/class_tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/plugins/nccl/control/fake_job_clients.h"

namespace hocket::nccl {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr Choice kRingSimple{abi::kRing, abi::kSimple, 0};
constexpr Choice kTreeSimple{abi::kTree, abi::kSimple, 0};
constexpr std::int64_t kMs = 1'000'000;

/// Ranks that go through every gate as soon as its call is made.
class FakeRanks final : public Ranks {
 public:
  Proposed propose(const Schedule& schedule) override {
    schedules.push_back(schedule);
    if (refuses) return {.why_not = "a rank has no link"};
    std::uint64_t first = calls + 3;
    if (schedule.period_calls > 0) {
      while ((first - schedule.boundary_call) % schedule.period_calls != 0) ++first;
    }
    gates.clear();
    for (const auto& entry : schedule.entries) gates.push_back(first + entry.after_calls);
    current = {.version = current.version + 1, .is_pending = true};
    return {.version = current.version, .first_call = first};
  }
  Outcome outcome() override { return current; }
  std::string frozen() override { return reason; }
  std::vector<Arbiter::RankStatistics> take_statistics() override {
    return std::exchange(statistics, {});
  }

  void called(std::uint64_t call) {
    calls = call + 1;
    if (!current.is_pending || call != gates[current.gates_gone]) return;
    if (stays != StayReason::none) {
      current.is_pending = false;
      current.stayed = stays;
      return;
    }
    ++current.gates_gone;
    current.is_pending = current.gates_gone < gates.size();
  }

  std::vector<Schedule> schedules;
  std::vector<std::uint64_t> gates;
  Outcome current;
  std::uint64_t calls = 0;
  std::string reason;
  bool refuses = false;
  StayReason stays = StayReason::none;
  std::vector<Arbiter::RankStatistics> statistics;
};

struct Call {
  int function = abi::kAllReduce;
  std::uint64_t bytes = 0;
};

class ControlTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kMiB = 1 << 20;

  ControlTest() {
    options_.ranks = 2;
    options_.nodes = 1;
    options_.say = [this](const std::string& line) { said_.push_back(line); };
  }

  void start() { control_.emplace(options_, ranks_, tables_, clients_); }

  /// Makes one iteration of calls that takes `iteration_ns`, and lets the control act after each.
  void iterate(const std::vector<Call>& calls, std::int64_t iteration_ns = 100 * kMs) {
    if (!control_) start();
    for (const Call& call : calls) {
      now_ns_ += iteration_ns / static_cast<std::int64_t>(calls.size());
      const CollectiveClass of = class_of(call.function, call.bytes);
      offer(of, call.bytes);
      ranks_.called(calls_);
      control_->add_call({.call = calls_++,
                          .token = call.bytes * 8 + static_cast<std::uint64_t>(call.function),
                          .ns = now_ns_,
                          .class_index = of.index()});
      control_->advance(now_ns_);
    }
  }
  void iterate(int iterations, const std::vector<Call>& calls,
               std::int64_t iteration_ns = 100 * kMs) {
    for (int i = 0; i < iterations; ++i) iterate(calls, iteration_ns);
  }

  /// Lets the ranks begin to count launches without comparing what this costs.
  void begin_counting(const std::vector<Call>& calls) {
    options_.has_profiler = true;
    options_.steps_back = false;
    start();
    while (control_->in_force().events != Events::counted) iterate(calls);
    ranks_.schedules.clear();
  }

  /// NCCL's table: Ring/Simple is predicted best, Tree/LL forbidden.
  void offer(const CollectiveClass& of, std::uint64_t bytes) {
    std::array<float, 21> costs;
    costs.fill(-1);
    const CostTable table{costs.data(), abi::kAlgorithms, abi::kProtocols};
    const auto us = static_cast<float>(bytes) / 1e4f;
    table.at(abi::kRing, abi::kSimple) = us;
    table.at(abi::kRing, abi::kLl) = 3 * us;
    table.at(abi::kTree, abi::kSimple) = 2 * us;
    tables_.offer(of.index(), table);
  }

  FakeJob& job(const std::string& name) { return *clients_.jobs.at(name); }
  Choice in_force(const std::string& name) {
    return control_->in_force().of(job(name).description.of);
  }

  ControlOptions options_;
  FakeRanks ranks_;
  TableBoard tables_;
  FakeJobClients clients_;
  std::optional<Control> control_;
  std::vector<std::string> said_;
  std::uint64_t calls_ = 0;
  std::int64_t now_ns_ = 1;
};

TEST_F(ControlTest, OpensJobsForTheClassesThatMatter) {
  iterate(20, {{.bytes = 16 * kMiB}, {.bytes = 8 * kMiB}, {.bytes = 64}});
  EXPECT_THAT(clients_.jobs, SizeIs(2));
  EXPECT_TRUE(clients_.jobs.contains("all_reduce 16MiB"));
  EXPECT_TRUE(clients_.jobs.contains("all_reduce 8MiB"));
  EXPECT_DOUBLE_EQ(job("all_reduce 16MiB").description.explore, 0.015);
}

TEST_F(ControlTest, JobsAreToldOncePerSecondWhatThePluginCosts) {
  double percent = -1;
  options_.own_cost_percent = [&] { return percent; };
  const std::vector<Call> calls = {{.bytes = 16 * kMiB}, {.bytes = 8 * kMiB}};
  iterate(20, calls);
  EXPECT_THAT(job("all_reduce 16MiB").costs_percent, IsEmpty()) << "it is not known";
  percent = 0.25;
  iterate(10, calls);
  EXPECT_THAT(job("all_reduce 16MiB").costs_percent, ElementsAre(0.25));
  percent = 0.5;
  iterate(10, calls);
  EXPECT_THAT(job("all_reduce 16MiB").costs_percent, ElementsAre(0.25, 0.5));
  EXPECT_THAT(job("all_reduce 8MiB").costs_percent, ElementsAre(0.25, 0.5));
}

TEST_F(ControlTest, AJobIsToldWhatNcclAllowsAndPredicts) {
  iterate(20, {{.bytes = 16 * kMiB}, {.bytes = 16 * kMiB}, {.bytes = 64}});
  const ClassJob& description = job("all_reduce 16MiB").description;
  EXPECT_THAT(description.arms, Not(IsEmpty()));
  EXPECT_THAT(description.allowed, ElementsAre("default", "ring_simple", "tree_simple", "ring_ll"));
  EXPECT_THAT(description.tried, ElementsAre("default", "tree_simple", "ring_ll"));
  // Two collectives of 1.68 ms in an iteration of 100 ms.
  ASSERT_THAT(description.predicted, SizeIs(3));
  EXPECT_EQ(description.predicted[0].arm, "default");
  EXPECT_NEAR(static_cast<double>(description.predicted[0].iteration_ns), 100e6, 1e5);
  EXPECT_NEAR(static_cast<double>(description.predicted[1].iteration_ns), 103.36e6, 1e5);
}

TEST_F(ControlTest, ReproducibleLeavesReductionsAlone) {
  options_.is_reproducible = true;
  iterate(20, {{.function = abi::kAllGather, .bytes = 16 * kMiB}, {.bytes = 8 * kMiB}});
  EXPECT_THAT(clients_.jobs, SizeIs(1));
  EXPECT_TRUE(clients_.jobs.contains("all_gather 16MiB"));
}

TEST_F(ControlTest, WhatAJobStartsWithIsProposedForGood) {
  clients_.starts["all_reduce 16MiB"] = kTreeSimple;
  iterate(30, {{.bytes = 16 * kMiB}, {.bytes = 64}});
  ASSERT_THAT(ranks_.schedules, SizeIs(1));
  EXPECT_THAT(ranks_.schedules[0].entries, SizeIs(1));
  EXPECT_EQ(ranks_.schedules[0].period_calls, 2u) << "it begins with an iteration";
  EXPECT_EQ(in_force("all_reduce 16MiB"), kTreeSimple);
}

TEST_F(ControlTest, IterationsCountOnlyWithWhatTheJobWants) {
  clients_.starts["all_reduce 16MiB"] = kTreeSimple;
  ranks_.refuses = true;
  iterate(30, {{.bytes = 16 * kMiB}, {.bytes = 64}});
  EXPECT_THAT(job("all_reduce 16MiB").iterations_ns, IsEmpty());
  ranks_.refuses = false;
  iterate(30, {{.bytes = 16 * kMiB}, {.bytes = 64}});
  EXPECT_THAT(job("all_reduce 16MiB").iterations_ns, Each(100 * kMs));
  EXPECT_THAT(job("all_reduce 16MiB").iterations_ns, Not(IsEmpty()));
}

TEST_F(ControlTest, ATryIsProposedWithItsEndAndInGrowingBlocks) {
  const std::vector<Call> calls = {{.bytes = 16 * kMiB}, {.bytes = 64}};
  iterate(20, calls);
  FakeJob& tries = job("all_reduce 16MiB");
  tries.is_trying = true;
  tries.choice = kTreeSimple;
  iterate(60, calls);
  ASSERT_GE(ranks_.schedules.size(), 3u);
  std::uint64_t before = 0;
  for (const Schedule& schedule : ranks_.schedules) {
    ASSERT_THAT(schedule.entries, SizeIs(2));
    EXPECT_TRUE(schedule.entries[1].is_return);
    EXPECT_EQ(decode_setting(schedule.payloads[1])->of(tries.description.of), Choice());
    const std::uint64_t block = schedule.entries[1].after_calls / calls.size();
    EXPECT_EQ(block,
              before == 0 ? Control::kFirstTried : std::min(2 * before, Control::kMostTried));
    before = block;
  }
}

TEST_F(ControlTest, WhatIsKeptIsProposedForGood) {
  const std::vector<Call> calls = {{.bytes = 16 * kMiB}, {.bytes = 64}};
  iterate(20, calls);
  FakeJob& tries = job("all_reduce 16MiB");
  tries.is_trying = true;
  tries.choice = kTreeSimple;
  iterate(10, calls);
  tries.is_trying = false;
  iterate(40, calls);
  EXPECT_THAT(ranks_.schedules.back().entries, SizeIs(1));
  EXPECT_EQ(in_force("all_reduce 16MiB"), kTreeSimple);
}

TEST_F(ControlTest, OneJobTriesAtATimeAndAloneIsToldOfIterations) {
  const std::vector<Call> calls = {{.bytes = 16 * kMiB}, {.bytes = 8 * kMiB}};
  iterate(20, calls);
  FakeJob& first = job("all_reduce 16MiB");
  FakeJob& second = job("all_reduce 8MiB");
  EXPECT_TRUE(second.description.may_try());
  first.is_trying = true;
  EXPECT_FALSE(second.description.may_try());
  const std::size_t before = first.iterations_ns.size(),
                    before_second = second.iterations_ns.size();
  iterate(5, calls);
  EXPECT_EQ(first.iterations_ns.size(), before + 5);
  EXPECT_EQ(second.iterations_ns.size(), before_second);
}

TEST_F(ControlTest, AfterAKeptChoiceTheNextTryWaitsForItsBaseline) {
  const std::vector<Call> calls = {{.bytes = 16 * kMiB}, {.bytes = 8 * kMiB}};
  iterate(20, calls);
  FakeJob& first = job("all_reduce 16MiB");
  first.is_trying = true;
  first.choice = kTreeSimple;
  iterate(20, calls);
  // The verdict comes with an iteration.
  first.after_iteration = [](FakeJob& own) { own.is_trying = false; };
  iterate(10, calls);
  EXPECT_FALSE(job("all_reduce 8MiB").description.may_try());
  iterate(2 * Control::kIterationsBefore, calls);
  EXPECT_TRUE(job("all_reduce 8MiB").description.may_try());
}

TEST_F(ControlTest, IterationsAtAndJustAfterAGateDoNotCount) {
  const std::vector<Call> calls = {{.bytes = 16 * kMiB}, {.bytes = 64}};
  iterate(20, calls, 30 * kMs);
  FakeJob& tries = job("all_reduce 16MiB");
  std::vector<bool> with_tree;
  tries.after_iteration = [&](FakeJob& own) {
    with_tree.push_back(in_force("all_reduce 16MiB") == kTreeSimple);
    EXPECT_EQ(own.choice, in_force("all_reduce 16MiB"));
  };
  tries.is_trying = true;
  tries.choice = kTreeSimple;
  iterate(8, calls, 30 * kMs);
  // In the first block of four, the first two begin within kDrainNs after the gate, and the last
  // one ends at the gate of the return.
  EXPECT_THAT(with_tree, ElementsAre(true));
}

TEST_F(ControlTest, ACommunicatorThatIsFrozenIsLeftAndThatIsSaidOnce) {
  clients_.starts["all_reduce 16MiB"] = kTreeSimple;
  ranks_.reason = "ranks 1 and 2 have made different calls";
  iterate(40, {{.bytes = 16 * kMiB}, {.bytes = 64}});
  EXPECT_THAT(ranks_.schedules, IsEmpty());
  int times = 0;
  for (const std::string& line : said_) times += line.find("ranks 1 and 2 have made") != line.npos;
  EXPECT_EQ(times, 1);
  EXPECT_FALSE(job("all_reduce 16MiB").description.may_try());
}

TEST_F(ControlTest, AProposalThatStaysIsMadeAgainLater) {
  clients_.starts["all_reduce 16MiB"] = kTreeSimple;
  ranks_.stays = StayReason::timed_out;
  iterate(40, {{.bytes = 16 * kMiB}, {.bytes = 64}});
  EXPECT_EQ(in_force("all_reduce 16MiB"), Choice());
  EXPECT_THAT(said_, ::testing::Contains(HasSubstr("did not arrive in time")));
  const std::size_t before = ranks_.schedules.size();
  EXPECT_LE(before, 5u);
  ranks_.stays = StayReason::none;
  iterate(20, {{.bytes = 16 * kMiB}, {.bytes = 64}});
  EXPECT_GT(ranks_.schedules.size(), before);
  EXPECT_EQ(in_force("all_reduce 16MiB"), kTreeSimple);
}

TEST_F(ControlTest, AnotherLoopDoesNotCountAndHasItsOwnJobsInTheEnd) {
  const std::vector<Call> training = {{.bytes = 16 * kMiB}, {.bytes = 64}};
  const std::vector<Call> other = {{.bytes = 4 * kMiB}, {.bytes = 32}};
  iterate(30, training);
  const std::size_t counted = job("all_reduce 16MiB").iterations_ns.size();
  // It takes about as many calls as there were to be sure of another period.
  iterate(130, other, 40 * kMs);
  EXPECT_EQ(job("all_reduce 16MiB").iterations_ns.size(), counted);
  EXPECT_TRUE(job("all_reduce 16MiB").is_open);
  iterate(4 * Control::kOfOtherKind, other, 40 * kMs);
  EXPECT_FALSE(job("all_reduce 16MiB").is_open);
  EXPECT_TRUE(job("all_reduce 4MiB").is_open);
}

/// Returns the ranks' messages about their devices; equal letters are one device.
std::vector<Arbiter::RankStatistics> devices(const std::string& letters) {
  std::vector<Arbiter::RankStatistics> said;
  for (std::size_t rank = 0; rank < letters.size(); ++rank) {
    const DeviceId device = {static_cast<unsigned char>(letters[rank])};
    said.push_back({.rank = static_cast<std::uint32_t>(rank), .bytes = encode_device(device)});
  }
  return said;
}

TEST_F(ControlTest, RanksThatShareADeviceAgreeToSwitchThePluginOff) {
  ranks_.statistics = devices("aa");
  iterate(30, {{.bytes = 16 * kMiB}, {.bytes = 64}});
  EXPECT_THAT(clients_.jobs, IsEmpty());
  ASSERT_THAT(ranks_.schedules, SizeIs(1));
  ASSERT_THAT(ranks_.schedules[0].entries, SizeIs(1));
  EXPECT_TRUE(decode_setting(ranks_.schedules[0].payloads[0])->is_off);
  EXPECT_TRUE(control_->is_off());
  EXPECT_THAT(said_, ElementsAre(HasSubstr("ranks 0 and 1 share a GPU")));
}

TEST_F(ControlTest, ADeviceEachLeavesEverythingAsItIs) {
  clients_.starts["all_reduce 16MiB"] = kTreeSimple;
  ranks_.statistics = devices("ab");
  iterate(30, {{.bytes = 16 * kMiB}, {.bytes = 64}});
  EXPECT_EQ(in_force("all_reduce 16MiB"), kTreeSimple);
  EXPECT_FALSE(control_->is_off());
}

TEST_F(ControlTest, WhatIsTriedEndsBeforeThePluginIsSwitchedOff) {
  const std::vector<Call> calls = {{.bytes = 16 * kMiB}, {.bytes = 64}};
  iterate(20, calls);
  FakeJob& tries = job("all_reduce 16MiB");
  tries.is_trying = true;
  tries.choice = kTreeSimple;
  while (in_force("all_reduce 16MiB") != kTreeSimple) iterate(calls);
  ranks_.statistics = devices("aa");
  iterate(calls);
  EXPECT_FALSE(tries.is_open);
  EXPECT_EQ(in_force("all_reduce 16MiB"), kTreeSimple) << "the return gate lies ahead";
  iterate(20, calls);
  EXPECT_EQ(in_force("all_reduce 16MiB"), Choice());
  EXPECT_TRUE(control_->is_off());
}

TEST_F(ControlTest, RanksThatDoNotAgreeToSwitchOffAreAskedAgain) {
  ranks_.statistics = devices("aa");
  ranks_.stays = StayReason::timed_out;
  iterate(20, {{.bytes = 64}});
  EXPECT_FALSE(control_->is_off());
  ranks_.stays = StayReason::none;
  iterate(20, {{.bytes = 64}});
  EXPECT_TRUE(control_->is_off());
  const std::size_t before = ranks_.schedules.size();
  iterate(20, {{.bytes = 64}});
  EXPECT_THAT(ranks_.schedules, SizeIs(before));
}

TEST_F(ControlTest, NothingIsChangedBeforeIterationsWithAndWithoutEventsWereCompared) {
  options_.has_profiler = true;
  clients_.starts["all_reduce 16MiB"] = kTreeSimple;
  const std::vector<Call> calls = {{.bytes = 16 * kMiB}, {.bytes = 64}};
  start();
  while (control_->in_force().events == Events::none) iterate(calls);
  EXPECT_GE(calls_ / calls.size(), PluginGuard::kCompared);
  EXPECT_FALSE(job("all_reduce 16MiB").description.may_try());
  iterate(28, calls);
  std::vector<Events> events;
  for (const Schedule& schedule : ranks_.schedules) {
    ASSERT_THAT(schedule.entries, SizeIs(1));
    const auto setting = decode_setting(schedule.payloads[0]);
    events.push_back(setting->events);
    const bool is_last = events.size() == ranks_.schedules.size();
    EXPECT_EQ(setting->of(job("all_reduce 16MiB").description.of),
              is_last ? kTreeSimple : Choice());
  }
  EXPECT_THAT(events, ElementsAre(Events::asked, Events::counted, Events::counted));
  EXPECT_EQ(in_force("all_reduce 16MiB"), kTreeSimple);
  EXPECT_TRUE(job("all_reduce 16MiB").description.may_try());
}

TEST_F(ControlTest, WhileItComparesJobsAreToldOfIterationsWithNcclsChoices) {
  options_.has_profiler = true;
  iterate(25, {{.bytes = 16 * kMiB}, {.bytes = 64}});
  EXPECT_THAT(job("all_reduce 16MiB").iterations_ns, Not(IsEmpty()));
}

TEST_F(ControlTest, EventsThatMakeIterationsSlowerSwitchThePluginOff) {
  options_.has_profiler = true;
  const std::vector<Call> calls = {{.bytes = 16 * kMiB}, {.bytes = 64}};
  start();
  std::vector<Events> phases;
  for (int i = 0; i < 300 && !control_->is_off(); ++i) {
    const Events events = control_->in_force().events;
    if (phases.empty() || phases.back() != events) phases.push_back(events);
    iterate(calls, events == Events::none ? 100 * kMs : 110 * kMs);
  }
  EXPECT_TRUE(control_->is_off());
  for (const auto& [name, job] : clients_.jobs) EXPECT_FALSE(job->is_open) << name;
  EXPECT_THAT(said_, ::testing::Contains(HasSubstr(
                         "NCCL is left alone: iterations take 10 % longer while NCCL reports")));
  EXPECT_EQ(std::count(phases.begin(), phases.end(), Events::counted), 3);
}

TEST_F(ControlTest, TimingThatMakesIterationsSlowerIsNotRepeated) {
  const std::vector<Call> calls = {{.bytes = 16 * kMiB}, {.bytes = 64}};
  begin_counting(calls);
  const auto run = [&](int iterations) {
    for (int i = 0; i < iterations; ++i) {
      const bool is_timed = control_->in_force().events == Events::timed;
      iterate(calls, is_timed ? 130 * kMs : 100 * kMs);
    }
  };
  run(4000);
  const std::size_t windows = ranks_.schedules.size();
  EXPECT_GE(windows, 3u);
  EXPECT_LE(windows, 6u);
  run(4000);
  EXPECT_THAT(ranks_.schedules, SizeIs(windows));
  EXPECT_THAT(said_, ::testing::Contains(HasSubstr("are not timed any more: iterations in which "
                                                   "they are timed take 30 % longer"))
                         .Times(1));
  job("all_reduce 16MiB").wanted_profile = 5;
  run(100);
  EXPECT_THAT(ranks_.schedules, SizeIs(windows));
  EXPECT_EQ(job("all_reduce 16MiB").wanted_profile, 0);
  EXPECT_FALSE(control_->is_off()) << "iterations are judged without them";
}

TEST_F(ControlTest, WithoutALibraryNothingIsProposed) {
  clients_.refuses = true;
  iterate(60, {{.bytes = 16 * kMiB}, {.bytes = 64}});
  EXPECT_THAT(ranks_.schedules, IsEmpty());
  EXPECT_FALSE(control_->has_jobs());
}

/// Times that rank `rank` sends of `count` collectives from number `first` on.
Arbiter::RankStatistics sent(int rank, std::uint64_t first, std::int64_t time_ns,
                             std::uint64_t bytes, std::uint64_t count = 4) {
  measure::RankCollectives collectives{.rank = rank, .collectives = {}};
  for (std::uint64_t i = 0; i < count; ++i) {
    collectives.collectives.push_back({.sequence = first + i,
                                       .bytes = bytes,
                                       .time_ns = time_ns,
                                       .start_ns = static_cast<std::int64_t>(50 * i) * kMs,
                                       .function = abi::kAllReduce,
                                       .algorithm = abi::kRing,
                                       .protocol = abi::kSimple,
                                       .channels = 8,
                                       .timed_channels = 8});
  }
  return {.rank = static_cast<std::uint32_t>(rank), .bytes = measure::encode(collectives)};
}

TEST_F(ControlTest, CollectivesAreMeasuredForAWhileAndTold) {
  const std::vector<Call> calls = {{.bytes = 16 * kMiB}, {.bytes = 64}};
  begin_counting(calls);
  iterate(70, calls);
  ASSERT_THAT(ranks_.schedules, SizeIs(1));
  EXPECT_EQ(ranks_.schedules[0].entries[1].after_calls, 10 * calls.size());
  EXPECT_EQ(decode_setting(ranks_.schedules[0].payloads[0])->events, Events::timed);
  EXPECT_EQ(decode_setting(ranks_.schedules[0].payloads[1])->events, Events::counted);
  EXPECT_TRUE(ranks_.schedules[0].entries[1].is_return);
  for (int rank = 0; rank < 2; ++rank)
    ranks_.statistics.push_back(sent(rank, 100, (2 - rank) * kMs, 16 * kMiB, 20));
  iterate(60, calls);
  ASSERT_THAT(job("all_reduce 16MiB").measurements, SizeIs(1));
  EXPECT_THAT(job("all_reduce 16MiB").waited_ns, SizeIs(10));
  EXPECT_THAT(job("all_reduce 16MiB").waited_ns, Each(ElementsAre(2 * kMs, 0)));
  const ClassMeasurement& measured = job("all_reduce 16MiB").measurements[0];
  EXPECT_EQ(measured.transfer_us, 1000);
  EXPECT_EQ(measured.waiting_us, 1000);
  EXPECT_EQ(measured.ran, "ring_simple, 8 channels");
  EXPECT_EQ(measured.calls_per_iteration, 1u);
}

TEST_F(ControlTest, AProfileIsMeasuredWhenItIsWantedAndSaved) {
  const std::vector<Call> calls = {{.bytes = 16 * kMiB}, {.bytes = 64}};
  begin_counting(calls);
  job("all_reduce 16MiB").wanted_profile = 5;
  iterate(3, calls);
  ASSERT_THAT(ranks_.schedules, SizeIs(1));
  EXPECT_EQ(decode_setting(ranks_.schedules[0].payloads[0])->events, Events::timed);
  EXPECT_EQ(ranks_.schedules[0].entries[1].after_calls, 5 * calls.size());
  for (int rank = 0; rank < 2; ++rank)
    ranks_.statistics.push_back(sent(rank, 100, (2 - rank) * kMs, 16 * kMiB));
  iterate(40, calls);
  ASSERT_THAT(job("all_reduce 16MiB").profiles, SizeIs(1));
  EXPECT_THAT(job("all_reduce 16MiB").profiles[0], Each(HasSubstr("all_reduce 16MiB")));
}

TEST_F(ControlTest, WithoutRepeatingCallsCollectivesAreJudged) {
  options_.has_profiler = true;
  start();
  std::uint64_t size = 9 * kMiB;
  const auto run = [&](int calls) {
    // All of one class, but no two sizes alike.
    for (int i = 0; i < calls; ++i) iterate({{.bytes = ++size}}, kMs);
  };
  run(2100);
  ASSERT_TRUE(clients_.jobs.contains("all_reduce 16MiB"));
  run(1000);
  EXPECT_EQ(control_->in_force().events, Events::timed);
  for (int rank = 0; rank < 2; ++rank)
    ranks_.statistics.push_back(sent(rank, 100, (2 - rank) * kMs, size));
  run(1);
  EXPECT_THAT(job("all_reduce 16MiB").iterations_ns, ElementsAre(4 * kMs));
}

}  // namespace
}  // namespace hocket::nccl
