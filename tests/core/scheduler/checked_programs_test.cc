// Tests Scheduler::check() in random jobs whose ranks run different programs, in memory and over
// Gloo: those without a mistake pass it and run, and where one rank's program is changed, all ranks
// get one error, or the job runs to its end nevertheless.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/description/step_programs.h"
#include "core/programs/job_fold.h"
#include "core/sim/simulator.h"
#include "tests/core/host/gloo_ranks.h"
#include "tests/core/host/ranks.h"
#include "tests/core/scheduler/job_of_ranks.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Room for what a changed task may have more.
constexpr std::size_t kRoomValues = 2 * kItemValues;

/// A task of one rank, as it is submitted.
struct OwnTask {
  std::string name;
  std::optional<CollectiveKind> kind;
  CollectiveGroup group;
  ElementType type = ElementType::float32;
  std::size_t count = 0;  ///< values; for an all-to-all its bound
  std::size_t peer = 0;   ///< or the root, or the distance of a shift
  std::vector<Access> accesses;
};
using OwnProgram = std::vector<OwnTask>;

/// The programs of all ranks.
struct CheckedJob {
  Mesh mesh;
  ScheduleConfig config;
  std::vector<OwnProgram> programs;
  std::vector<std::optional<std::vector<std::uint32_t>>> orders;  // by rank
};

CheckedJob checked_job(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const StepDescription step = random_job_of_ranks(seed);
  CheckedJob job{mesh_of(step), random_config_of_ranks(random), {}, {}};
  const auto steps = program_steps(step);
  const auto program_of = programs_of_ranks(step).value();
  const bool are_names_own = random() % 2;
  constexpr ElementType kTypes[] = {ElementType::float32, ElementType::bfloat16,
                                    ElementType::float16};
  for (std::int64_t rank = 0; rank < step.ranks; ++rank) {
    OwnProgram& program = job.programs.emplace_back();
    for (const StepTask& task : steps[program_of[static_cast<std::size_t>(rank)]].tasks) {
      OwnTask& own = program.emplace_back();
      own.name = "t" + std::to_string(program.size());
      if (are_names_own) own.name += "@" + std::to_string(rank);
      own.accesses = task.accesses;
      own.kind = task.collective;
      if (!task.collective) continue;
      const auto members = static_cast<std::size_t>(job.mesh.size_of(task.group));
      own.group = task.group;
      own.type = kTypes[task.bytes / 4 % 3];
      own.count = static_cast<std::size_t>(task.bytes) / element_bytes(own.type);
      if (is_message(*task.collective)) own.peer = peer_of(task, job.mesh, rank);
      if (task.collective == CollectiveKind::shift)
        own.peer = static_cast<std::size_t>(task.peer->index + step.ranks * 2) % members;
      if (task.collective == CollectiveKind::broadcast) own.peer = root_of(task, members);
      if (task.collective == CollectiveKind::all_to_all) own.count /= members;
    }
  }
  job.orders.resize(job.programs.size());
  if (job.config.order != CollectiveOrder::static_order) return job;
  const JobFold fold = fold_job(step).value();
  for (std::size_t rank = 0; rank < job.orders.size(); ++rank) {
    const auto first = static_cast<std::size_t>(fold.classes[fold.class_of[rank]].first_rank);
    job.orders[rank] =
        first < rank
            ? job.orders[first]
            : static_order(step, job.config, fold.classes[fold.class_of[rank]].first_rank).value();
  }
  return job;
}

/// The memory of a rank, and what its tasks read while they run.
struct OwnMemory {
  std::vector<std::vector<float>> items =
      std::vector<std::vector<float>>(4, std::vector<float>(kRoomValues));
  std::deque<std::vector<std::size_t>> counts;

  ValueSpan values(DataId data, std::size_t count, ElementType type) {
    return {items[data.index].data(), count, type};
  }
};

AllToAll exchange_of(const OwnTask& task, std::size_t own, std::size_t members, OwnMemory& memory) {
  auto& sent = memory.counts.emplace_back();
  auto& received = memory.counts.emplace_back();
  std::size_t sent_values = 0, received_values = 0;
  for (std::size_t other = 0; other < members; ++other) {
    sent.push_back((own * 911 + other * 577) % (task.count + 1));
    received.push_back((other * 911 + own * 577) % (task.count + 1));
    sent_values += sent.back();
    received_values += received.back();
  }
  return {.sent = memory.values(task.accesses.front().data, sent_values, task.type),
          .sent_counts = sent,
          .received = memory.values(task.accesses.back().data, received_values, task.type),
          .received_counts = received,
          .most_values = task.count};
}

void submit_own(Scheduler& scheduler, const OwnTask& task, const Mesh& mesh,
                std::span<const DataId> ids, OwnMemory& memory) {
  const TaskOptions options{.name = task.name};
  std::vector<Access> accesses;
  for (const Access& access : task.accesses)
    accesses.push_back({ids[access.data.index], access.mode});
  if (!task.kind) return scheduler.compute(options, accesses, [] {});
  const DataId id = accesses.front().data;
  const ValueSpan values = memory.values(task.accesses.front().data, task.count, task.type);
  switch (*task.kind) {
    case CollectiveKind::all_reduce:
      return scheduler.all_reduce(options, id, values, task.group);
    case CollectiveKind::reduce_scatter:
      return scheduler.reduce_scatter(options, id, values, task.group);
    case CollectiveKind::broadcast:
      return scheduler.broadcast(options, id, values, task.group, task.peer);
    case CollectiveKind::send:
      return scheduler.send(options, id, values, task.group, task.peer);
    case CollectiveKind::receive:
      return scheduler.receive(options, id, values, task.group, task.peer);
    case CollectiveKind::shift: {
      // One that was another kind has a single item.
      const DataId from = task.accesses.front().data, last = task.accesses.back().data;
      const DataId to = last == from ? DataId{(from.index + 1) % 4} : last;
      return scheduler.shift(options, id, values, ids[to.index],
                             memory.values(to, task.count, task.type), task.group, task.peer);
    }
    default: {
      const GroupMembers members = group_members(mesh, task.group, scheduler.rank());
      return scheduler.all_to_all(options, id, accesses.back().data,
                                  exchange_of(task, members.own, members.ranks.size(), memory),
                                  task.group);
    }
  }
}

/// The results of a rank.
struct CheckOutcome {
  Result<void> checked, ran;
};

CheckOutcome run_checked(const CheckedJob& job, Collective& collective) {
  const auto rank = static_cast<std::size_t>(collective.rank());
  SteadyClock clock;
  HostExecutor executor(collective, clock);
  OwnMemory memory;
  Scheduler scheduler(job.config, executor, {.static_order = job.orders[rank]});
  std::vector<DataId> ids;
  for (std::size_t i = 0; i < memory.items.size(); ++i) ids.push_back(scheduler.add_data());
  scheduler.begin_capture();
  for (const OwnTask& task : job.programs[rank]) submit_own(scheduler, task, job.mesh, ids, memory);
  const auto step = scheduler.end_capture();
  CheckOutcome outcome{scheduler.check(step), {}};
  if (!outcome.checked) return outcome;
  for (int i = 0; i < 2 && outcome.ran; ++i) outcome.ran = scheduler.launch(step);
  if (outcome.ran) outcome.ran = scheduler.synchronize();
  return outcome;
}

std::string message_of(const Result<void>& result) {
  return result ? "no error" : result.error().message;
}

/// Runs the job on ranks in memory or over Gloo; returns the error that all of its ranks got.
Result<void> run_checked_job(const CheckedJob& job, bool over_gloo) {
  std::vector<CheckOutcome> outcomes(job.programs.size());
  const auto body = [&](Collective& collective) {
    outcomes[static_cast<std::size_t>(collective.rank())] = run_checked(job, collective);
  };
  if (over_gloo) {
    const MeetingFolder folder;
    run_gloo_mesh(job.mesh, folder.rendezvous(), body);
  } else {
    run_local_mesh(job.mesh, [&](int, Collective& collective) { body(collective); });
  }
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    EXPECT_EQ(message_of(outcomes[rank].checked), message_of(outcomes[0].checked))
        << "rank " << rank;
    EXPECT_EQ(message_of(outcomes[rank].ran), "no error") << "rank " << rank;
  }
  return outcomes[0].checked;
}

/// Changes something of one rank's communications; returns what, or nothing where it cannot.
std::string change_program(CheckedJob& job, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::size_t rank = below(job.programs.size());
  OwnProgram& program = job.programs[rank];
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < program.size(); ++i)
    if (program[i].kind) places.push_back(i);
  if (places.empty()) return {};
  const std::size_t place = places[below(places.size())], other = places[below(places.size())];
  const auto at = program.begin() + static_cast<std::ptrdiff_t>(place);
  OwnTask& task = *at;
  const auto members = static_cast<std::size_t>(job.mesh.size_of(task.group));
  const std::string on = " of rank " + std::to_string(rank) + "'s " + task.name;
  switch (below(9)) {
    case 0:
      program.erase(at);
      return "absence" + on;
    case 1:
      program.insert(at, OwnTask(task));
      return "repetition" + on;
    case 2:
      std::swap(task, program[other]);
      return "exchange" + on;
    case 3:
      task.count += 1 + below(3);
      return "count" + on;
    case 4:
      task.type = ElementType(below(3));
      return "type" + on;
    case 5:
      task.group.axes = below(4) == 0 ? AxisSet() : AxisSet::of(below(3));
      task.peer %= static_cast<std::size_t>(job.mesh.size_of(task.group));
      return "group" + on;
    case 6:
      task.peer = below(members);
      return "peer, root or distance" + on;
    case 7: {
      constexpr CollectiveKind kKinds[] = {
          CollectiveKind::all_reduce, CollectiveKind::broadcast, CollectiveKind::reduce_scatter,
          CollectiveKind::send,       CollectiveKind::receive,   CollectiveKind::shift};
      task.kind = kKinds[below(6)];
      return "kind" + on;
    }
    default: {
      auto& order = job.orders[rank];
      if (!order || order->empty()) return {};
      std::swap((*order)[below(order->size())], (*order)[below(order->size())]);
      return "static order of rank " + std::to_string(rank);
    }
  }
}

/// An error says which tasks: of both ranks, but where one of them has none.
void expect_tasks(const std::string& message, const std::string& changed) {
  const auto says = [&](const char* text) { return message.find(text) != std::string::npos; };
  std::ptrdiff_t names = 2;
  if (says("never takes part") || says("message to itself") || says(" in the order;")) names = 1;
  if (says("collectives, the order was made for")) names = 0;
  EXPECT_GE(std::ranges::count(message, '"') / 2, names) << changed << ": " << message;
  EXPECT_THAT(message, HasSubstr("rank"));
}

TEST(CheckedPrograms, JobsWithoutMistakesPassAndRun) {
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto ok = run_checked_job(checked_job(seed), false);
    ASSERT_TRUE(ok) << ok.error().message;
    ASSERT_FALSE(HasFailure());
  }
}

TEST(CheckedPrograms, ChangedJobsAreRefusedOnAllRanksOrRun) {
  std::uint64_t refused = 0, ran = 0;
  for (std::uint64_t seed = 1; seed <= rounds(300); ++seed) {
    std::mt19937_64 random(seed);
    CheckedJob job = checked_job(1 + seed % 100);
    const std::string changed = change_program(job, random);
    if (changed.empty()) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + changed);
    const auto ok = run_checked_job(job, false);
    ++(ok ? ran : refused);
    if (!ok) {
      EXPECT_EQ(ok.error().code, ErrorCode::invalid_argument) << ok.error().message;
      expect_tasks(ok.error().message, changed);
    }
    ASSERT_FALSE(HasFailure());
  }
  // Neither is rare.
  EXPECT_GT(refused, rounds(300) / 4);
  EXPECT_GT(ran, rounds(300) / 20);
}

TEST(CheckedPrograms, ChangedJobsAreRefusedOnAllRanksOrRunOverGloo) {
  for (std::uint64_t seed = 1; seed <= rounds(24); ++seed) {
    std::mt19937_64 random(seed);
    CheckedJob job = checked_job(seed);
    if (job.programs.size() > 8) continue;
    const std::string changed = seed % 3 == 0 ? "nothing" : change_program(job, random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + changed);
    const auto ok = run_checked_job(job, true);
    if (seed % 3 == 0) {
      ASSERT_TRUE(ok) << ok.error().message;
    }
    if (!ok) expect_tasks(ok.error().message, changed);
    ASSERT_FALSE(HasFailure());
  }
}

/// Runs `submit` as the step of each of some ranks, and returns what the check says.
Result<void> check_ranks(int ranks, const ScheduleConfig& config,
                         const std::function<void(Scheduler&, DataId, std::span<float>)>& submit,
                         const SchedulerOptions& options = {}) {
  std::vector<Result<void>> outcomes(static_cast<std::size_t>(ranks));
  run_local_ranks(ranks, [&](int rank, Collective& collective) {
    SteadyClock clock;
    HostExecutor executor(collective, clock);
    Scheduler scheduler(config, executor, options);
    const DataId data = scheduler.add_data();
    std::vector<float> values(256);
    scheduler.begin_capture();
    submit(scheduler, data, values);
    outcomes[static_cast<std::size_t>(rank)] = scheduler.check(scheduler.end_capture());
  });
  for (const Result<void>& outcome : outcomes)
    EXPECT_EQ(message_of(outcome), message_of(outcomes[0]));
  return outcomes[0];
}

TEST(CheckedPrograms, MessagesNameBothTasksTheirRanksPeersTypesAndBytes) {
  const auto ok = check_ranks(
      3, {.order = CollectiveOrder::fifo}, [](Scheduler& scheduler, DataId data, auto values) {
        if (scheduler.rank() == 0)
          scheduler.send({.name = "on"}, data, values, CollectiveGroup::world, 2);
        if (scheduler.rank() == 1) scheduler.compute({}, {read(data)}, [] {});
        if (scheduler.rank() == 2)
          scheduler.receive({.name = "from"}, data, values.first(64), CollectiveGroup::world, 0);
      });
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message,
              AllOf(HasSubstr("ranks 0 and 2 have different communications"),
                    HasSubstr("\"on\" (send of 1024 bytes of float32 to rank 2 in world)"),
                    HasSubstr("\"from\" (receive of 256 bytes of float32 from rank 0 in world)")));
}

TEST(CheckedPrograms, StepsOfAllRanksAreComparedUnderEveryOrder) {
  for (const CollectiveOrder order :
       {CollectiveOrder::fifo, CollectiveOrder::static_order, CollectiveOrder::negotiated}) {
    const auto run = [&](int differs) {
      return check_ranks(3, {.order = order}, [&](Scheduler& scheduler, DataId data, auto values) {
        scheduler.all_reduce({.name = "gradient"}, data, values);
        if (scheduler.rank() == differs)
          return scheduler.all_gather({.name = "extra"}, data, values);
        scheduler.all_reduce({.name = "loss"}, data, values.first(1));
      });
    };
    EXPECT_TRUE(run(-1));
    const auto refused = run(1);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message,
                AllOf(HasSubstr("ranks 0 and 1"), HasSubstr("\"loss\""), HasSubstr("\"extra\"")));
  }
}

TEST(CheckedPrograms, AStepWithoutCommunicationsIsNoneOfTheStaticOrder) {
  SchedulerOptions options;
  options.static_order = std::vector<std::uint32_t>{0};
  const auto run = [&](int communicating) {
    const auto submit = [&](Scheduler& scheduler, DataId data, auto values) {
      scheduler.compute({}, {read(data)}, [] {});
      if (scheduler.rank() >= communicating)
        scheduler.all_reduce({.name = "gradient"}, data, values);
    };
    return message_of(check_ranks(2, {.order = CollectiveOrder::static_order}, submit, options));
  };
  EXPECT_EQ(run(0), "no error");
  EXPECT_EQ(run(2), "no error");
  EXPECT_THAT(run(1), AllOf(HasSubstr("rank 0 never takes part in \"gradient\""),
                            HasSubstr("which rank 1 has")));
}

TEST(CheckedPrograms, ARankThatCannotRunItsStepIsTheErrorOfAll) {
  // Only rank 1 has a message, which a partitioned step must not have.
  ScheduleConfig config{.order = CollectiveOrder::fifo};
  config.bucket_bytes = 1 << 20;
  const auto ok = check_ranks(2, config, [](Scheduler& scheduler, DataId data, auto values) {
    scheduler.all_reduce({.name = "gradient"}, data, values);
    if (scheduler.rank() == 1)
      scheduler.send({.name = "on"}, data, values, CollectiveGroup::world, 0);
  });
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message,
              AllOf(HasSubstr("rank 1 cannot run its step"), HasSubstr("bucket_bytes")));
}

}  // namespace
}  // namespace hocket
