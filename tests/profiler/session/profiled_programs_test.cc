// Tests that the profile of a job whose ranks communicate in groups and by messages has the groups
// and the pairs that the simulation of its step has, on ranks in memory and over Gloo.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/programs/simulated_timeline.h"
#include "core/trace/message_ends.h"
#include "core/trace/paired_collectives.h"
#include "profiler/session/profile_session.h"
#include "tests/core/host/gloo_ranks.h"
#include "tests/core/host/ranks.h"
#include "tests/core/scheduler/rank_programs.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

/// A run has eight steps, and its profile the second to the sixth. All that the fourth ran began
/// within these, since at most two steps run at once.
constexpr int kRunSteps = 8;
constexpr std::int64_t kLookedAt = 3;

StepDescription with_names(StepDescription step) {
  for (RankProgram& program : step.programs)
    for (std::size_t i = 0; i < program.tasks.size(); ++i)
      program.tasks[i].name = "task " + std::to_string(i);
  return step;
}

/// Runs a rank of `step` under a session, and returns its profile.
std::optional<ProfileResult> profiled(const StepDescription& step, const ScheduleConfig& config,
                                      Submits submits, Collective& collective) {
  SteadyClock clock;
  ProfileSession session({.clock = clock,
                          .rank = collective.rank(),
                          .ranks = collective.world_size(),
                          .mesh = collective.mesh(),
                          .host = "host",
                          .capacity = 1 << 14});
  EXPECT_TRUE(session.start({.first_step = 1, .steps = 5}));
  RankData data(4, collective.rank());
  std::optional<ProfileResult> result;
  const auto take = [&] {
    session.stop();
    result = session.take();
  };
  const auto ok =
      run_rank(step, config, submits, collective, data,
               {.steps = kRunSteps, .trace = &session, .observer = &session, .at_end = take});
  EXPECT_TRUE(ok) << ok.error().message;
  return result;
}

std::vector<RankTrace> simulated_traces(const StepDescription& step, const ScheduleConfig& config) {
  std::vector<RankTrace> traces;
  for (std::int64_t rank = 0; rank < step.ranks; ++rank) {
    SimulatedTimeline timeline(step, rank);
    const auto simulation = simulate(
        step,
        {.config = config, .iterations = kRunSteps, .trace = &timeline, .watched_rank = rank});
    EXPECT_TRUE(simulation) << simulation.error().message;
    traces.push_back(timeline.take());
  }
  return traces;
}

/// A part of a communication: its kind, its task's name, bytes, and the name and ranks of its
/// group.
using Part = std::tuple<std::optional<CollectiveKind>, std::string, std::int64_t, std::string,
                        std::vector<std::int64_t>>;

/// Returns the parts of the step that is looked at, in order.
std::vector<Part> parts_of(const RankTrace& trace) {
  std::vector<Part> parts;
  for (const TraceRecord& record : trace.records) {
    if (record.kind != TraceKind::communication || record.step != kLookedAt) continue;
    const TraceGroup group = record.group == kAllRanks
                                 ? TraceGroup{}
                                 : trace.groups.at(static_cast<std::size_t>(record.group));
    parts.emplace_back(record.collective, trace.names.at(record.name), record.bytes, group.name,
                       group.ranks);
  }
  std::ranges::sort(parts);
  return parts;
}

/// Returns the pairs of parts of the step that is looked at: of each, its rank, its task's name and
/// bytes. Expects that none lacks a part.
std::vector<std::vector<std::tuple<std::size_t, std::string, std::int64_t>>> pairs_of(
    const std::vector<RankTrace>& traces) {
  std::vector<std::vector<std::tuple<std::size_t, std::string, std::int64_t>>> pairs;
  const PairedCollectives paired(traces);
  for (std::size_t i = 0; i < paired.size(); ++i) {
    const MemberGroup& group = paired.groups()[paired[i].group];
    auto& pair = pairs.emplace_back();
    for (std::size_t member = 0; member < group.traces.size(); ++member) {
      const TraceRecord* const part = paired[i].parts[member];
      if (!part || part->step != kLookedAt) continue;
      const std::size_t trace = group.traces[member];
      pair.emplace_back(trace, traces[trace].names.at(part->name), part->bytes);
    }
    if (pair.empty()) {
      pairs.pop_back();
      continue;
    }
    EXPECT_TRUE(paired.is_complete(i)) << group.name << " " << paired[i].sequence;
    EXPECT_TRUE(paired.is_alike(i)) << group.name << " " << paired[i].sequence;
    EXPECT_EQ(pair.size(), group.traces.size()) << group.name << " " << paired[i].sequence;
  }
  std::ranges::sort(pairs);
  return pairs;
}

/// Returns how many messages were paired.
std::size_t expect_as_simulated(const StepDescription& step, const ScheduleConfig& config,
                                const std::vector<RankTrace>& profiles) {
  const std::vector<RankTrace> simulated = simulated_traces(step, config);
  std::size_t messages = 0;
  for (std::size_t rank = 0; rank < profiles.size(); ++rank) {
    EXPECT_EQ(parts_of(profiles[rank]), parts_of(simulated[rank])) << "rank " << rank;
    for (const TraceRecord& record : profiles[rank].records)
      messages += record.step == kLookedAt && message_ends(profiles[rank], record).has_value();
  }
  EXPECT_EQ(pairs_of(profiles), pairs_of(simulated));
  return messages;
}

TEST(ProfiledPrograms, HaveTheGroupsAndPairsOfTheSimulation) {
  std::size_t messages = 0;
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepDescription step = with_names(random_job_of_ranks(seed));
    const ScheduleConfig config = random_config_of_ranks(random);
    std::vector<RankTrace> traces(static_cast<std::size_t>(step.ranks));
    run_local_mesh(mesh_of(step), [&](int rank, Collective& collective) {
      auto profile = profiled(step, config, Submits(seed % 3), collective);
      ASSERT_TRUE(profile);
      traces[static_cast<std::size_t>(rank)] = std::move(profile->trace);
    });
    messages += expect_as_simulated(step, config, traces);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(messages, 50u);
}

TEST(ProfiledPrograms, HaveThemOverGloo) {
  for (std::uint64_t seed = 1; seed <= rounds(12); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepDescription step = with_names(random_job_of_ranks(seed));
    if (step.ranks > 8) continue;
    const ScheduleConfig config = random_config_of_ranks(random);
    std::vector<RankTrace> traces(static_cast<std::size_t>(step.ranks));
    const MeetingFolder folder;
    run_gloo_mesh(mesh_of(step), folder.rendezvous(), [&](Collective& collective) {
      auto profile = profiled(step, config, Submits(seed % 3), collective);
      ASSERT_TRUE(profile);
      traces[static_cast<std::size_t>(collective.rank())] = std::move(profile->trace);
    });
    expect_as_simulated(step, config, traces);
    ASSERT_FALSE(HasFailure());
  }
}

/// Returns the programs of two stages on two ranks each, which send each other activations and
/// gradients, and sum gradients among the ranks of a stage.
StepDescription small_pipeline() {
  StepDescription step;
  step.mesh = {{"pipeline", 2}, {"data", 2}};
  step.ranks = 4;
  step.ranks_per_host = 2;
  step.cluster = Cluster{{1e9, 1000}, {1e9, 1000}, CollectiveAlgorithm::ring};
  const auto communication = [](std::string name, CollectiveKind kind, const char* axis,
                                Access access) {
    StepTask task;
    task.name = std::move(name);
    task.collective = kind;
    task.bytes = 6000;
    task.group = {AxisSet::of(axis == std::string("data") ? 1 : 0), GroupTier::whole};
    task.accesses = {access};
    return task;
  };
  for (std::int64_t stage = 0; stage < 2; ++stage) {
    RankProgram program;
    program.at = {{"pipeline", {stage}}};
    program.data = {"stage", "activations", "gradients"};
    const auto message = [&](std::string name, bool sends, DataId data) {
      StepTask task =
          communication(std::move(name), sends ? CollectiveKind::send : CollectiveKind::receive,
                        "pipeline", sends ? read(data) : write(data));
      task.peer = MessagePeer{1 - stage, false};
      program.tasks.push_back(std::move(task));
    };
    for (const std::string batch : {"0", "1"}) {
      message("activations " + batch, stage == 0, {1});
      program.tasks.push_back(computation("work " + batch, 1000));
    }
    for (const std::string batch : {"0", "1"}) message("gradients " + batch, stage == 1, {2});
    program.tasks.push_back(communication("sum", CollectiveKind::all_reduce, "data", update({2})));
    step.programs.push_back(std::move(program));
  }
  return step;
}

TEST(ProfiledPrograms, TellWhoSentWhatToWhom) {
  const StepDescription step = small_pipeline();
  const ScheduleConfig config{
      .partition_bytes = 4096, .credit_bytes = 16384, .order = CollectiveOrder::fifo};
  std::vector<ProfileResult> profiles(4);
  run_local_mesh(mesh_of(step), [&](int rank, Collective& collective) {
    auto profile = profiled(step, config, Submits::each_time, collective);
    ASSERT_TRUE(profile);
    profiles[static_cast<std::size_t>(rank)] = std::move(*profile);
  });
  std::vector<RankTrace> traces;
  for (const ProfileResult& profile : profiles) traces.push_back(profile.trace);
  EXPECT_EQ(expect_as_simulated(step, config, traces), 4u * 2u * 4u);
  std::vector<std::string> names;
  for (const TraceGroup& group : traces[3].groups) names.push_back(group.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("1 to 3", "3 to 1", "data"));
  // A prediction would take all of this for communication of all ranks.
  EXPECT_TRUE(profiles[0].structure.tasks.empty());
  ASSERT_EQ(profiles[0].notes.size(), 1u);
  EXPECT_THAT(profiles[0].notes[0], HasSubstr("no step is predicted from this profile"));
}

}  // namespace
}  // namespace hocket
