#include "core/partitioning/step_partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "core/plan/dependency_graph.h"
#include "tests/core/random_programs.h"
#include "tests/core/step_program.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::StartsWith;

struct NoFields {};

DependencyGraph<NoFields> graph_of(const StepDescription& step) {
  DependencyGraph<NoFields> graph;
  for (std::size_t i = 0; i < step.data.size(); ++i) graph.add_data();
  for (const StepTask& task : step.tasks) graph.add(task.accesses);
  return graph;
}

/// Returns a random order that the accesses of the tasks allow.
std::vector<std::uint32_t> random_order(const StepDescription& step, std::mt19937_64& random) {
  auto graph = graph_of(step);
  std::vector<std::uint32_t> waiting_for(step.tasks.size(), 0), ready, order;
  for (std::uint32_t i = 0; i < step.tasks.size(); ++i)
    graph.for_each_successor(i, [&](std::uint32_t next) { ++waiting_for[next]; });
  for (std::uint32_t i = 0; i < step.tasks.size(); ++i) {
    if (waiting_for[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    order.push_back(ready.back());
    ready.pop_back();
    graph.finish(graph.id_of(order.back()), [&](std::uint32_t next) { ready.push_back(next); });
  }
  return order;
}

std::vector<PieceOrigin> whole_origins(const StepDescription& step) {
  std::vector<PieceOrigin> origins;
  for (std::uint32_t i = 0; i < step.tasks.size(); ++i) {
    PieceOrigin origin{{i}, 0, 0, 0};
    const StepTask& task = step.tasks[i];
    // A range that extends beyond a block covers the whole block.
    if (task.collective) origin.end = task.bytes;
    origins.push_back(origin);
  }
  return origins;
}

struct Execution {
  std::vector<std::vector<StepInterpreter::Value>> values;
  std::vector<std::vector<Touched>> touched;  ///< indexed by task, then rank
};

Execution execute(const StepProgram& program, const StepDescription& step,
                  const std::vector<PieceOrigin>& origins,
                  const std::vector<std::uint32_t>& order) {
  StepInterpreter interpreter(program);
  Execution execution;
  execution.touched.resize(step.tasks.size());
  for (const std::uint32_t i : order)
    execution.touched[i] = interpreter.run(step.tasks[i], origins[i]);
  execution.values = interpreter.values();
  return execution;
}

std::vector<std::uint32_t> in_order(const StepDescription& step) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < step.tasks.size(); ++i) order.push_back(i);
  return order;
}

/// Returns the tasks that come after each task, directly or transitively.
std::vector<std::vector<bool>> reachable(const StepDescription& step) {
  const auto graph = graph_of(step);
  const std::size_t count = step.tasks.size();
  std::vector<std::vector<bool>> after(count, std::vector<bool>(count, false));
  for (std::size_t i = count; i-- > 0;) {
    graph.for_each_successor(static_cast<std::uint32_t>(i), [&](std::uint32_t next) {
      after[i][next] = true;
      for (std::size_t k = next; k < count; ++k) after[i][k] = after[i][k] || after[next][k];
    });
  }
  return after;
}

/// Returns whether the accesses conflict on any rank.
bool conflict(const std::vector<Touched>& a, const std::vector<Touched>& b) {
  for (std::size_t r = 0; r < a.size(); ++r) {
    for (std::size_t e = 0; e < a[r].read.size(); ++e) {
      const bool write_first = a[r].written[e] && (b[r].read[e] || b[r].written[e]);
      if (write_first || (a[r].read[e] && b[r].written[e])) return true;
    }
  }
  return false;
}

/// Expects pieces that touch the same element, with at least one write, to be ordered; pieces of
/// different tasks must follow the order of the tasks, whose accesses `plain` holds.
void expect_conflicts_are_ordered(const PartitionedStep& partitioned, const Execution& execution,
                                  const Execution& plain) {
  const auto after = reachable(partitioned.step);
  const auto& origins = partitioned.origins;
  for (std::size_t a = 0; a < origins.size(); ++a) {
    for (std::size_t b = a + 1; b < origins.size(); ++b) {
      if (!conflict(execution.touched[a], execution.touched[b])) continue;
      const std::string names =
          partitioned.step.tasks[a].name + " and " + partitioned.step.tasks[b].name;
      EXPECT_TRUE(after[a][b]) << names;
      if (origins[a].sources == origins[b].sources) continue;
      for (const std::uint32_t s : origins[a].sources) {
        for (const std::uint32_t t : origins[b].sources) {
          EXPECT_TRUE(s < t || !conflict(plain.touched[s], plain.touched[t])) << names;
        }
      }
    }
  }
}

/// Expects every task to be present once, as a whole or in pieces that cover it, and every stage of
/// a collective as well.
void expect_sources_are_covered(const StepDescription& step, const PartitionedStep& partitioned) {
  using StageKey = std::tuple<std::vector<std::uint32_t>, int, CollectiveGroup>;
  std::map<StageKey, std::vector<std::pair<std::int64_t, std::int64_t>>> ranges;
  std::map<std::vector<std::uint32_t>, std::int64_t> duration_ns;
  std::map<std::uint32_t, std::set<std::vector<std::uint32_t>>> found;
  for (std::size_t i = 0; i < partitioned.origins.size(); ++i) {
    const PieceOrigin& origin = partitioned.origins[i];
    const StepTask& piece = partitioned.step.tasks[i];
    const int kind = piece.collective ? static_cast<int>(*piece.collective) : -1;
    ranges[{origin.sources, kind, piece.group}].emplace_back(origin.begin, origin.end);
    duration_ns[origin.sources] += piece.duration_ns;
    for (const std::uint32_t source : origin.sources) found[source].insert(origin.sources);
  }
  for (std::uint32_t i = 0; i < step.tasks.size(); ++i) EXPECT_EQ(found[i].size(), 1u) << i;
  for (auto& [key, pieces] : ranges) {
    const auto& sources = std::get<0>(key);
    std::sort(pieces.begin(), pieces.end());
    EXPECT_EQ(pieces.front().first, 0);
    for (std::size_t k = 1; k < pieces.size(); ++k)
      EXPECT_EQ(pieces[k].first, pieces[k - 1].second);
    const StepTask& task = step.tasks[sources.front()];
    std::int64_t end = 0;
    if (task.collective) {
      for (const std::uint32_t source : sources) end += step.tasks[source].bytes;
      if (task.collective == CollectiveKind::reduce_scatter ||
          task.collective == CollectiveKind::all_gather)
        end = std::min(end, block_bytes(end, step.ranks));
    } else if (pieces.back().second != 0) {
      const auto& origin =
          *std::find_if(partitioned.origins.begin(), partitioned.origins.end(),
                        [&](const PieceOrigin& o) { return o.sources == sources; });
      const Dimension& dimension = task.place.dimensions[origin.dimension];
      EXPECT_NE(dimension.kind, DimensionKind::normalized);
      end = dimension.extent;
    }
    EXPECT_EQ(pieces.back().second, end);
    EXPECT_EQ(duration_ns[sources], task.duration_ns);
  }
}

TEST(StepPartition, ComputesTheSameInEveryOrderThatItsAccessesAllow) {
  std::uint64_t partitioned_steps = 0, divided_tasks = 0, buckets = 0;
  for (std::uint64_t seed = 1; seed <= rounds(2000) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const StepProgram program = DrawnProgram(random).make();
    const ScheduleConfig config = random_partitioning(random, program.step.ranks_per_host);
    const auto partitioned = partition_step(program.step, config);
    if (!partitioned) {
      EXPECT_EQ(partitioned.error().code, ErrorCode::invalid_argument);
      EXPECT_THAT(partitioned.error().message, StartsWith("regions."));
      continue;
    }
    ++partitioned_steps;
    for (const PieceOrigin& origin : partitioned->origins) {
      buckets += origin.sources.size() > 1;
      const StepTask& source = program.step.tasks[origin.sources.front()];
      divided_tasks += !source.collective && origin.begin > 0;
    }
    expect_sources_are_covered(program.step, *partitioned);

    const auto plain =
        execute(program, program.step, whole_origins(program.step), in_order(program.step));
    const auto straight =
        execute(program, partitioned->step, partitioned->origins, in_order(partitioned->step));
    EXPECT_EQ(straight.values, plain.values);
    expect_conflicts_are_ordered(*partitioned, straight, plain);
    for (int i = 0; i < 2; ++i) {
      const auto shuffled = execute(program, partitioned->step, partitioned->origins,
                                    random_order(partitioned->step, random));
      EXPECT_EQ(shuffled.values, plain.values);
    }
  }
  // Checks that most cases are neither refused nor trivial.
  EXPECT_GT(partitioned_steps, rounds(500));
  EXPECT_GT(divided_tasks, rounds(500));
  EXPECT_GT(buckets, rounds(50));
}

TEST(StepPartition, LeavesAStepAsItIsUnlessAKnobSaysOtherwise) {
  StepDescription step;
  step.layers = {{"layer", 1 << 20, 10, 20}};
  ScheduleConfig config;
  config.partition_bytes = 4096;
  EXPECT_FALSE(is_partitioned(config));
  const auto same = partition_step(step, config);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->step, expand(step));
  EXPECT_EQ(same->origins[2], (PieceOrigin{{2}, 0, 0, 1 << 20}));

  // Once the configuration partitions the step for another reason, collectives are cut as well.
  config.compute_order = ComputeOrder::critical_path;
  EXPECT_TRUE(is_partitioned(config));
  const auto cut = partition_step(step, config);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->step.tasks.size(), 2u + (1 << 20) / 4096);
}

TEST(StepPartition, GathersWhatTheNextForwardNeedsInItsOrderAfterAllReduceScatters) {
  StepDescription step;
  step.layers = {{"a", 4096, 10, 20}, {"b", 4096, 10, 20}};
  step.ranks = 2;
  ScheduleConfig config;
  config.primitive = CollectivePrimitive::reduce_scatter_all_gather;
  config.launch = CollectiveLaunch::deferred;
  const auto partitioned = partition_step(step, config);
  ASSERT_TRUE(partitioned);
  std::vector<std::string> names;
  for (const StepTask& task : partitioned->step.tasks) names.push_back(task.name);
  EXPECT_THAT(names,
              testing::ElementsAre("forward 0 a", "forward 1 b", "backward 1 b",
                                   "all_reduce 1 b reduce_scatter", "backward 0 a",
                                   "all_reduce 0 a reduce_scatter", "all_reduce 0 a all_gather",
                                   "all_reduce 1 b all_gather"));
}

TEST(StepPartition, NamesRegionAndFieldOfWhatDoesNotFit) {
  StepDescription step;
  step.layers = {{"a", 4096, 10, 20}};
  ScheduleConfig config;
  config.group_ranks = 2;
  auto refused = partition_step(step, config);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, StartsWith("group_ranks: "));
  config.group_ranks = 1;
  config.regions["aa"].priority = 0;
  refused = partition_step(step, config);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, StartsWith("regions.aa: "));
}

}  // namespace
}  // namespace hocket
