// Tests the scheduler in jobs whose ranks run different programs: random ones, on ranks in memory
// and over Gloo, against the same job computed one task after the other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <vector>

#include "core/description/step_programs.h"
#include "core/sim/simulator.h"
#include "tests/core/host/gloo_ranks.h"
#include "tests/core/host/ranks.h"
#include "tests/core/random_job.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

constexpr std::size_t kItemValues = 3000;
constexpr int kStepsOfRanks = 3;

/// The values of a rank's data, and what its tasks do with them.
struct RankData {
  std::vector<std::vector<float>> items;

  RankData(std::size_t count, std::int64_t rank) {
    for (std::size_t item = 0; item < count; ++item) {
      auto& values = items.emplace_back();
      for (std::size_t i = 0; i < kItemValues; ++i)
        values.push_back(static_cast<float>(rank) + 0.5f * static_cast<float>(item * i % 7));
    }
  }

  std::span<float> range(const StepTask& task) {
    return std::span(items[task.accesses.front().data.index])
        .first(static_cast<std::size_t>(task.bytes) / sizeof(float));
  }
  std::span<float> received(const StepTask& task) { return items[task.accesses.back().data.index]; }

  void compute(const StepTask& task) {
    for (std::size_t i = 0; i < kItemValues; ++i) {
      float sum = 1;
      for (const Access& access : task.accesses)
        if (access.mode != AccessMode::write) sum += 0.125f * items[access.data.index][i];
      for (const Access& access : task.accesses)
        if (access.mode != AccessMode::read) items[access.data.index][i] = sum;
    }
  }
};

/// Returns how many values a member of an all-to-all sends to another: any number up to the bound
/// that the size of the task stands for.
std::size_t exchanged(const StepTask& task, std::size_t members, std::size_t from, std::size_t to) {
  const std::size_t most = static_cast<std::size_t>(task.bytes) / sizeof(float) / members;
  return (from * 911 + to * 577 + most / 2) % (most + 1);
}

/// Returns how many the member sends to each; with `receives`, how many it gets from each.
std::vector<std::size_t> exchanged_counts(const StepTask& task, std::size_t members,
                                          std::size_t own, bool receives) {
  std::vector<std::size_t> counts;
  for (std::size_t other = 0; other < members; ++other)
    counts.push_back(receives ? exchanged(task, members, other, own)
                              : exchanged(task, members, own, other));
  return counts;
}

std::size_t root_of(const StepTask& broadcast, std::size_t members) {
  return static_cast<std::size_t>(broadcast.bytes) / sizeof(float) % members;
}

/// Returns a random job whose communications are such as the scheduler has: each of one data item,
/// an all-to-all or a shift of two.
StepDescription random_job(std::uint64_t seed) {
  constexpr CollectiveKind kKinds[] = {CollectiveKind::all_reduce, CollectiveKind::broadcast,
                                       CollectiveKind::all_to_all, CollectiveKind::shift};
  StepDescription step = RandomJob(seed).make();
  const Mesh mesh = mesh_of(step);
  std::uint32_t count = 0;
  for (RankProgram& program : step.programs) {
    for (StepTask& task : program.tasks) {
      if (!task.collective) continue;
      std::int64_t values = task.bytes % static_cast<std::int64_t>(kItemValues) + 1;
      if (!is_message(*task.collective))
        task.collective = kKinds[static_cast<std::size_t>(values) % std::size(kKinds)];
      const std::int64_t members = mesh.size_of(task.group);
      // A bound for each member.
      if (task.collective == CollectiveKind::all_to_all) values = values / members * members;
      task.bytes = values * static_cast<std::int64_t>(sizeof(float));
      const DataId data{1 + count++ % 3}, other{1 + count % 3};
      task.accesses = {*task.collective == CollectiveKind::send      ? read(data)
                       : *task.collective == CollectiveKind::receive ? write(data)
                                                                     : update(data)};
      if (is_message(*task.collective)) continue;
      task.peer = std::nullopt;
      if (task.collective == CollectiveKind::shift)
        task.peer = MessagePeer{values % (2 * members - 1) - members + 1, true};
      if (task.collective == CollectiveKind::all_to_all || task.peer)
        task.accesses = {read(data), write(other)};
    }
  }
  return step;
}

std::size_t peer_of(const StepTask& task, const Mesh& mesh, std::int64_t rank) {
  const auto members = mesh.ranks_of(task.group, rank);
  const auto size = std::ssize(members);
  const auto own = std::ranges::find(members, rank) - members.begin();
  const std::int64_t index = task.peer->index;
  return static_cast<std::size_t>(task.peer->is_relative ? (own + index + size) % size : index);
}

/// Computes the job one task after the other.
class SerialJob {
 public:
  explicit SerialJob(const StepDescription& step)
      : mesh_(mesh_of(step)), programs_(program_steps(step)) {
    const auto program_of = programs_of_ranks(step).value();
    for (std::int64_t rank = 0; rank < step.ranks; ++rank) {
      program_of_.push_back(&programs_[program_of[static_cast<std::size_t>(rank)]]);
      data.emplace_back(program_of_.back()->data.size(), rank);
    }
  }

  void run_step() {
    next_.assign(data.size(), 0);
    while (advance()) {
    }
    for (std::size_t rank = 0; rank < data.size(); ++rank) ASSERT_EQ(task_of(rank), nullptr);
  }

  std::vector<RankData> data;

 private:
  const StepTask* task_of(std::size_t rank) const {
    const auto& tasks = program_of_[rank]->tasks;
    return next_[rank] < tasks.size() ? &tasks[next_[rank]] : nullptr;
  }

  bool advance() {
    bool has_advanced = false;
    for (std::size_t rank = 0; rank < data.size(); ++rank) {
      for (const StepTask* task; (task = task_of(rank)) && !task->collective; ++next_[rank]) {
        data[rank].compute(*task);
        has_advanced = true;
      }
      if (const StepTask* const task = task_of(rank)) has_advanced |= communicate(rank, *task);
    }
    return has_advanced;
  }

  /// Carries out what all of its ranks have come to.
  bool communicate(std::size_t rank, const StepTask& task) {
    const auto members = mesh_.ranks_of(task.group, static_cast<std::int64_t>(rank));
    if (is_message(*task.collective)) {
      if (*task.collective == CollectiveKind::receive) return false;
      const auto to =
          static_cast<std::size_t>(members[peer_of(task, mesh_, static_cast<std::int64_t>(rank))]);
      const StepTask* const other = task_of(to);
      if (!other || other->collective != CollectiveKind::receive || other->group != task.group ||
          std::cmp_not_equal(members[peer_of(*other, mesh_, static_cast<std::int64_t>(to))], rank))
        return false;
      std::ranges::copy(data[rank].range(task), data[to].range(*other).begin());
      ++next_[rank];
      ++next_[to];
      return true;
    }
    std::vector<std::span<float>> ranges, received;
    for (const std::int64_t member : members) {
      const auto at = static_cast<std::size_t>(member);
      const StepTask* const other = task_of(at);
      if (!other || other->collective != task.collective || other->group != task.group)
        return false;
      ranges.push_back(data[at].range(*other));
      received.push_back(data[at].received(*other));
    }
    if (task.collective == CollectiveKind::all_to_all) {
      exchange(task, ranges, received);
    } else if (task.collective == CollectiveKind::shift) {
      for (std::size_t m = 0; m < members.size(); ++m)
        std::ranges::copy(ranges[m], received[peer_of(task, mesh_, members[m])].begin());
    } else if (task.collective == CollectiveKind::broadcast) {
      const std::span<float> root = ranges[root_of(task, ranges.size())];
      for (const std::span<float> range : ranges)
        if (range.data() != root.data()) std::ranges::copy(root, range.begin());
    } else {
      sum(ranges);
    }
    for (const std::int64_t member : members) ++next_[static_cast<std::size_t>(member)];
    return true;
  }

  static void sum(const std::vector<std::span<float>>& ranges) {
    for (std::size_t i = 0; i < ranges.front().size(); ++i) {
      float sum = ranges.front()[i];
      for (std::size_t m = 1; m < ranges.size(); ++m) sum += ranges[m][i];
      for (const std::span<float> range : ranges) range[i] = sum;
    }
  }

  static void exchange(const StepTask& task, const std::vector<std::span<float>>& sent,
                       const std::vector<std::span<float>>& received) {
    const std::size_t members = sent.size();
    std::vector<std::size_t> next(members);
    for (std::size_t from = 0; from < members; ++from) {
      std::size_t begin = 0;
      for (std::size_t to = 0; to < members; ++to) {
        const std::size_t count = exchanged(task, members, from, to);
        std::ranges::copy(sent[from].subspan(begin, count),
                          received[to].begin() + static_cast<std::ptrdiff_t>(next[to]));
        begin += count;
        next[to] += count;
      }
    }
  }

  const Mesh mesh_;
  const std::vector<StepDescription> programs_;
  std::vector<const StepDescription*> program_of_;
  std::vector<std::size_t> next_;
};

/// The counts of the all-to-alls of a step, which the scheduler reads when they run.
using Counts = std::deque<std::vector<std::size_t>>;

void submit(Scheduler& scheduler, const StepDescription& program, const Mesh& mesh,
            std::span<const DataId> ids, RankData& data, Counts& counts) {
  for (const StepTask& task : program.tasks) {
    const TaskOptions options{.name = task.name, .priority = task.priority};
    std::vector<Access> accesses;
    for (const Access& access : task.accesses)
      accesses.push_back({ids[access.data.index], access.mode});
    if (!task.collective) {
      scheduler.compute(options, accesses, [&data, &task] { data.compute(task); });
      continue;
    }
    const DataId id = accesses.front().data;
    const std::span<float> values = data.range(task);
    const auto members = mesh.ranks_of(task.group, scheduler.rank());
    if (*task.collective == CollectiveKind::all_reduce) {
      scheduler.all_reduce(options, id, values, task.group);
    } else if (*task.collective == CollectiveKind::broadcast) {
      scheduler.broadcast(options, id, values, task.group, root_of(task, members.size()));
    } else if (*task.collective == CollectiveKind::all_to_all) {
      const auto own =
          static_cast<std::size_t>(std::ranges::find(members, scheduler.rank()) - members.begin());
      const auto& sent = counts.emplace_back(exchanged_counts(task, members.size(), own, false));
      const auto& received = counts.emplace_back(exchanged_counts(task, members.size(), own, true));
      scheduler.all_to_all(options, id, accesses.back().data,
                           {.sent = values,
                            .sent_counts = sent,
                            .received = data.received(task),
                            .received_counts = received,
                            .most_values = values.size() / members.size()},
                           task.group);
    } else if (*task.collective == CollectiveKind::shift) {
      const auto size = std::ssize(members);
      scheduler.shift(options, id, values, accesses.back().data,
                      data.received(task).first(values.size()), task.group,
                      static_cast<std::size_t>((task.peer->index + size) % size));
    } else if (*task.collective == CollectiveKind::send) {
      scheduler.send(options, id, values, task.group, peer_of(task, mesh, scheduler.rank()));
    } else {
      scheduler.receive(options, id, values, task.group, peer_of(task, mesh, scheduler.rank()));
    }
  }
}

ScheduleConfig random_config_of_ranks(std::mt19937_64& random) {
  ScheduleConfig config;
  config.partition_bytes = 4096;
  config.credit_bytes = std::int64_t{4096} << random() % 3;
  config.comm_channels = 1 + static_cast<int>(random() % 3);
  config.streams = 1 + static_cast<int>(random() % 2);
  config.order = random() % 2 ? CollectiveOrder::static_order : CollectiveOrder::fifo;
  return config;
}

/// Runs the steps of a rank, and returns the first error.
Result<void> run_rank(const StepDescription& step, const ScheduleConfig& config, bool captures,
                      Collective& collective, RankData& data) {
  const auto rank = static_cast<std::size_t>(collective.rank());
  const auto programs = program_steps(step);
  const StepDescription& program = programs[programs_of_ranks(step).value()[rank]];
  SchedulerOptions options;
  if (config.order == CollectiveOrder::static_order)
    options.static_order = static_order(step, config, collective.rank()).value();
  SteadyClock clock;
  HostExecutor executor(collective, clock);
  Scheduler scheduler(config, executor, std::move(options));
  std::vector<DataId> ids;
  for (std::size_t i = 0; i < program.data.size(); ++i) ids.push_back(scheduler.add_data());
  Counts counts;
  std::shared_ptr<Scheduler::Capture> capture;
  if (captures) {
    scheduler.begin_capture();
    submit(scheduler, program, collective.mesh(), ids, data, counts);
    capture = scheduler.end_capture();
  }
  for (int i = 0; i < kStepsOfRanks; ++i) {
    if (captures) {
      HOCKET_TRY(scheduler.launch(capture));
    } else {
      submit(scheduler, program, collective.mesh(), ids, data, counts);
      HOCKET_TRY(scheduler.end_step());
    }
  }
  return scheduler.synchronize();
}

TEST(RankPrograms, ComputeTheSameAsOneTaskAfterTheOther) {
  for (std::uint64_t seed = 1; seed <= rounds(120); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepDescription step = random_job(seed);
    const ScheduleConfig config = random_config_of_ranks(random);
    SerialJob serial(step);
    for (int i = 0; i < kStepsOfRanks; ++i) ASSERT_NO_FATAL_FAILURE(serial.run_step());
    run_local_mesh(mesh_of(step), [&](int rank, Collective& collective) {
      const auto& expected = serial.data[static_cast<std::size_t>(rank)].items;
      RankData data(expected.size(), rank);
      const auto ok = run_rank(step, config, seed % 2 == 0, collective, data);
      ASSERT_TRUE(ok) << ok.error().message;
      EXPECT_EQ(data.items, expected) << "rank " << rank;
    });
    ASSERT_FALSE(HasFailure());
  }
}

TEST(RankPrograms, ComputeTheSameOverGloo) {
  for (std::uint64_t seed = 1; seed <= rounds(40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepDescription step = random_job(seed);
    if (step.ranks > 8) continue;
    const ScheduleConfig config = random_config_of_ranks(random);
    SerialJob serial(step);
    for (int i = 0; i < kStepsOfRanks; ++i) ASSERT_NO_FATAL_FAILURE(serial.run_step());
    const MeetingFolder folder;
    run_gloo_mesh(mesh_of(step), folder.rendezvous(), [&](Collective& collective) {
      const auto& expected = serial.data[static_cast<std::size_t>(collective.rank())].items;
      RankData data(expected.size(), collective.rank());
      const auto ok = run_rank(step, config, seed % 2 == 0, collective, data);
      ASSERT_TRUE(ok) << ok.error().message;
      // Rings sum in another order.
      for (std::size_t item = 0; item < expected.size(); ++item) {
        for (std::size_t i = 0; i < kItemValues; ++i)
          ASSERT_NEAR(data.items[item][i], expected[item][i], 1e-4f * std::abs(expected[item][i]));
      }
    });
    ASSERT_FALSE(HasFailure());
  }
}

TEST(RankPrograms, EndWithAnErrorWhereARankFails) {
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepDescription step = random_job(seed);
    const ScheduleConfig config = random_config_of_ranks(random);
    const int failing = static_cast<int>(random() % static_cast<std::uint64_t>(step.ranks));
    const std::uint64_t fail_at = random() % 4;
    // The others must end at all; those that need nothing of the failing rank succeed.
    run_local_mesh(mesh_of(step), [&](int rank, Collective& collective) {
      ObservedCollective observed(collective, rank == failing ? fail_at : ~std::uint64_t{0});
      RankData data(4, rank);
      const auto ok = run_rank(step, config, seed % 2 == 0, observed, data);
      if (rank == failing && !ok) {
        EXPECT_THAT(ok.error().message, HasSubstr("injected failure"));
      }
    });
  }
}

/// Two ranks, and the configuration of the one that the test is about.
Result<void> exchange(const ScheduleConfig& config) {
  Result<void> first;
  run_local_ranks(2, [&](int rank, Collective& collective) {
    SteadyClock clock;
    HostExecutor executor(collective, clock);
    Scheduler scheduler(config, executor);
    const DataId data = scheduler.add_data();
    std::vector<float> values(256, static_cast<float>(rank));
    if (rank == 0) scheduler.send({.name = "on"}, data, values, CollectiveGroup::world, 1);
    if (rank == 1) scheduler.receive({.name = "from"}, data, values, CollectiveGroup::world, 0);
    auto ok = scheduler.end_step();
    if (ok) ok = scheduler.synchronize();
    if (ok) {
      EXPECT_EQ(values, std::vector<float>(256, 0));
    }
    if (rank == 0) first = ok;
  });
  return first;
}

TEST(RankPrograms, AreRefusedWhereTheConfigurationDoesNotFit) {
  EXPECT_TRUE(exchange({.order = CollectiveOrder::fifo}));
  EXPECT_THAT(exchange({.order = CollectiveOrder::negotiated}).error().message,
              HasSubstr("set order=fifo or order=static"));
  ScheduleConfig partitioned{.order = CollectiveOrder::fifo};
  partitioned.bucket_bytes = 1 << 20;
  EXPECT_THAT(exchange(partitioned).error().message, HasSubstr("neither partitioned nor placed"));
}

TEST(RankPrograms, GroupsHaveBlocksOfTheirOwn) {
  const Mesh mesh = Mesh::make({{"pipeline", 2}, {"data", 3}}, {6, 3}).value();
  const CollectiveGroup group = mesh.parse_group("data").value();
  run_local_mesh(mesh, [&](int rank, Collective& collective) {
    SteadyClock clock;
    HostExecutor executor(collective, clock);
    Scheduler scheduler({.partition_bytes = 4096, .order = CollectiveOrder::fifo}, executor);
    const DataId data = scheduler.add_data();
    std::vector<float> values(5000);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(rank) + static_cast<float>(i % 11);
    scheduler.reduce_scatter({.name = "scatter"}, data, values, group);
    scheduler.all_gather({.name = "gather"}, data, values, group);
    ASSERT_TRUE(scheduler.end_step());
    ASSERT_TRUE(scheduler.synchronize());
    const float sum = rank < 3 ? 0 + 1 + 2 : 3 + 4 + 5;
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], sum + 3 * static_cast<float>(i % 11)) << i;
  });
}

}  // namespace
}  // namespace hocket
