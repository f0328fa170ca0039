// The parts of the host that decide without processes: NCCL's order of a group, splits, the model
// of time, workloads, faults, histograms, and the barrier of one communicator.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "tests/plugins/nccl/host/faults.h"
#include "tests/plugins/nccl/host/model/reference_run.h"
#include "tests/plugins/nccl/host/model/stream_clocks.h"
#include "tests/plugins/nccl/host/model/task_order.h"
#include "tests/plugins/nccl/host/shared/process_group.h"
#include "tests/plugins/nccl/host/shared/run_record.h"

namespace hocket::nccl_host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Task task(int function, std::uint64_t bytes, int ranks, const char* datatype = "") {
  Step step{.function = function, .bytes = bytes};
  if (std::string_view(datatype) == "bfloat16") step.datatype = {"ncclBfloat16", 2};
  return task_of(step, ranks);
}

std::vector<std::uint64_t> sizes(const std::vector<Task>& tasks, int ranks) {
  std::vector<std::uint64_t> result;
  for (const Aggregate& aggregate : aggregates(tasks, ranks)) result.push_back(aggregate.bytes);
  return result;
}

TEST(TaskOrder, NeighboursInSizeAreDecidedTogetherAndAscend) {
  constexpr std::uint64_t kKib = 1024, kMib = 1024 * kKib;
  const int ranks = 4;
  EXPECT_THAT(sizes({task(kAllReduce, 3 * kMib, ranks), task(kAllReduce, 64 * kKib, ranks),
                     task(kAllReduce, kMib, ranks)},
                    ranks),
              ElementsAre(64 * kKib, 4 * kMib));
  // Four times the first is too large.
  EXPECT_THAT(sizes({task(kAllReduce, kMib, ranks), task(kAllReduce, 4 * kMib, ranks)}, ranks),
              ElementsAre(kMib, 4 * kMib));
  EXPECT_THAT(
      sizes({task(kAllReduce, kMib, ranks), task(kAllReduce, 4 * kMib - 1024, ranks)}, ranks),
      ElementsAre(5 * kMib - 1024));
}

TEST(TaskOrder, TheFunctionWithTheMostTrafficComesFirst) {
  constexpr std::uint64_t kMib = 1 << 20;
  const int ranks = 4;
  const auto functions = [&](std::uint64_t all_reduce, std::uint64_t all_gather) {
    std::vector<int> result;
    for (const Aggregate& aggregate : aggregates(
             {task(kAllGather, all_gather, ranks), task(kAllReduce, all_reduce, ranks)}, ranks)) {
      result.push_back(aggregate.tasks[0].function);
    }
    return result;
  };
  // An all-reduce counts twice.
  EXPECT_THAT(functions(3 * kMib, 4 * kMib), ElementsAre(kAllReduce, kAllGather));
  EXPECT_THAT(functions(kMib, 4 * kMib), ElementsAre(kAllGather, kAllReduce));
}

TEST(TaskOrder, TypesAreDecidedApartExceptWhereOnlyBytesMove) {
  const int ranks = 4;
  EXPECT_THAT(
      aggregates({task(kAllReduce, 4096, ranks), task(kAllReduce, 4096, ranks, "bfloat16")}, ranks),
      SizeIs(2));
  EXPECT_THAT(
      aggregates({task(kAllGather, 4096, ranks), task(kAllGather, 4096, ranks, "bfloat16")}, ranks),
      SizeIs(1));
}

TEST(TaskOrder, HoldsItsLawsForRandomGroups) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const int ranks = 2 + static_cast<int>(random() % 15);
    std::vector<Task> tasks;
    std::uint64_t bytes = 0;
    for (unsigned i = 0; i < 1 + random() % 12; ++i) {
      tasks.push_back(task(static_cast<int>(random() % kFunctions),
                           ranks * 4 * (1 + random() % (1U << (random() % 24))), ranks));
    }
    std::size_t count = 0;
    std::vector<std::pair<int, std::string>> groups;
    for (const Aggregate& aggregate : aggregates(tasks, ranks)) {
      const Task& first = aggregate.tasks[0];
      for (const Task& each : aggregate.tasks) {
        EXPECT_EQ(each.function, first.function);
        EXPECT_LT(each.count, 4 * first.count);
        // The sort is only to a quarter of a power of two.
        EXPECT_GE(each.count * 5 / 4 + 1024, first.count);
      }
      count += aggregate.tasks.size();
      bytes += aggregate.bytes;
      groups.emplace_back(first.function, first.datatype.name);
    }
    EXPECT_EQ(count, tasks.size());
    std::uint64_t expected_bytes = 0;
    for (const Task& each : tasks) {
      const bool has_parts = each.function == kAllGather || each.function == kReduceScatter;
      expected_bytes += each.count * each.datatype.bytes * (has_parts ? ranks : 1);
    }
    EXPECT_EQ(bytes, expected_bytes);
    // Each function comes in one run.
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    auto distinct = groups;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    EXPECT_EQ(groups.size(), distinct.size());
  }
}

TEST(Membership, RowsAndColumnsPartTheWorld) {
  const Workload workload = parse_workload(built_in_workload("two-comms", 8));
  ASSERT_THAT(workload.communicators, SizeIs(3));
  EXPECT_THAT(members(workload, 1, 5, 8), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(members(workload, 2, 5, 8), ElementsAre(1, 5));
  const Membership row = membership(workload, 1, 5, 8, 4),
                   column = membership(workload, 2, 5, 8, 4);
  EXPECT_EQ(row.rank, 1);
  EXPECT_EQ(row.nodes, 2);
  EXPECT_EQ(row.part, 1);
  EXPECT_EQ(column.rank, 1);
  EXPECT_EQ(column.nodes, 2);
}

TEST(WorkloadText, BuiltInOnesParseForAllRanks) {
  for (const char* name : {"ddp", "fsdp", "small", "two-comms", "edge"}) {
    for (const int ranks : {1, 2, 3, 7, 64}) {
      EXPECT_NO_THROW(parse_workload(built_in_workload(name, ranks))) << name << " " << ranks;
    }
  }
  EXPECT_THAT(built_in_workload("another", 2), IsEmpty());
}

TEST(WorkloadText, WrongTextIsRefused) {
  for (const char* text :
       {"", "iteration", "compute 5", "iteration\ncompute x", "iteration\ncompute -1",
        "iteration\nall-reduce nobody 4KiB", "iteration\nall-reduce world 4parsec",
        "iteration\nall-reduce world", "iteration\nall-reduce world 4 float99", "iteration\ngroup",
        "iteration\nend", "iteration\nreplay x", "iteration\ncapture x", "iteration\nend-capture",
        "comm x split nobody by 2\niteration\ncompute 1",
        "comm x split world by 0\niteration\ncompute 1", "comm world world\niteration\ncompute 1",
        "iteration\nfly"}) {
    EXPECT_THROW(parse_workload(text), std::invalid_argument) << text;
  }
}

TEST(CostModel, TheSmallestAcceptedEntryWins) {
  CostTable table;
  for (auto& row : table) std::fill(std::begin(row), std::end(row), -1.0F);
  EXPECT_EQ(CostModel::smallest(table).algorithm, -1);
  table[kTree][kSimple] = 5;
  table[kRing][kLl] = 5;
  // The first of equal ones is taken.
  EXPECT_EQ(CostModel::smallest(table), (Choice{kTree, kSimple, 0}));
  table[kPat][kSimple] = 0;
  EXPECT_EQ(CostModel::smallest(table), (Choice{kPat, kSimple, 0}));
  table[kPat][kSimple] = 3.7e9F;
  table[kTree][kSimple] = -0.5F;
  EXPECT_EQ(CostModel::smallest(table), (Choice{kRing, kLl, 0}));
  // An hour is too long even where nothing else is left.
  table[kRing][kLl] = -1;
  EXPECT_EQ(CostModel::smallest(table).algorithm, -1);
}

TEST(CostModel, OnlyWhatExistsIsAllowed) {
  const auto allowed = [](const ModelOptions& options, const Shape& shape) {
    CostTable table;
    CostModel(options).predict(shape, 1, table);
    std::vector<int> result;
    for (int a = 0; a < kAlgorithms; ++a) {
      for (int p = 0; p < kProtocols; ++p) {
        if (table[a][p] >= 0)
          result.push_back(a * 10 + p);
        else
          EXPECT_EQ(table[a][p], -1);
      }
    }
    return result;
  };
  ModelOptions options;
  EXPECT_THAT(allowed(options, {kAllReduce, 1024, 4, 1}), ElementsAre(0, 1, 2, 10, 11, 12));
  EXPECT_THAT(allowed(options, {kAllGather, 1024, 4, 1}), ElementsAre(10, 11, 12));
  options.allowed[kRing][kLl128] = false;
  options.allowed[kPat] = options.allowed[kNvls] = {true, true, true};
  EXPECT_THAT(allowed(options, {kAllGather, 1024, 4, 1}), ElementsAre(10, 12, 42, 62));
  EXPECT_THAT(allowed(options, {kBroadcast, 1024, 4, 2}), ElementsAre(10, 12));
}

TEST(CostModel, TheBestIsNoSlowerThanAnyAndTheDefaultIsSometimesSlower) {
  for (const std::uint64_t seed : {8, 3, 15}) {
    const CostModel model({.seed = seed});
    int slower = 0;
    for (std::uint64_t bytes = 4096; bytes <= (32U << 20); bytes *= 2) {
      const Shape shape{kAllReduce, bytes, 4, 1};
      const double best_us = model.true_us(shape, model.best_choice(shape));
      for (const Choice& choice : model.choices(shape)) {
        EXPECT_LE(best_us, model.true_us(shape, choice));
      }
      slower += model.true_us(shape, model.default_choice(shape)) > 1.1 * best_us;
    }
    EXPECT_GE(slower, 3) << seed;
  }
}

TEST(StreamClocks, ComputationBesideCollectivesIsSlower) {
  const CostModel model({.slowdown = 0.1});
  StreamClocks clocks(model, 2);
  clocks.compute(10);
  EXPECT_DOUBLE_EQ(clocks.computation_us(), 10);
  // Ten channels double the time: 5 of 30 pass before, 10 of work take 20, the rest follows.
  clocks.occupy(0, 15, 35, 10);
  clocks.compute(30);
  EXPECT_DOUBLE_EQ(clocks.computation_us(), 10 + 5 + 20 + 15);
  EXPECT_DOUBLE_EQ(clocks.ready_us(0), 50);
  clocks.occupy(1, 50, 90, 4);
  EXPECT_DOUBLE_EQ(clocks.ready_us(1), 90);
  clocks.wait(0);
  EXPECT_DOUBLE_EQ(clocks.computation_us(), 50);
  clocks.wait_for_all();
  EXPECT_DOUBLE_EQ(clocks.computation_us(), 90);
}

TEST(ReferenceRun, WhatIsBestAloneIsNotBestInTheIteration) {
  Options options;
  options.ranks = 4;
  options.workload = parse_workload(built_in_workload("ddp", 4));
  const CostModel model(options.model);
  const Settings usual = default_settings(options, model);
  Settings alone = usual;
  for (auto& [shape, choice] : alone) choice = model.best_choice(shape);
  const double best_us = iteration_us(options, model, best_settings(options, model));
  EXPECT_LT(best_us, 0.95 * iteration_us(options, model, usual));
  EXPECT_LT(best_us, 0.995 * iteration_us(options, model, alone));
}

TEST(Faults, TextAndFaultAreTheSame) {
  EXPECT_EQ(to_string(parse_fault(FaultKind::kill, "3@17")), "--kill 3@17");
  EXPECT_EQ(to_string(parse_fault(FaultKind::stop, "0@5:40")), "--stop 0@5:40");
  EXPECT_EQ(to_string(parse_fault(FaultKind::uneven, "2")), "--uneven 2");
  for (const char* text : {"", "3", "@1", "3@", "x@1", "3@1:5", "-1@2"}) {
    EXPECT_THROW(parse_fault(FaultKind::kill, text), std::invalid_argument) << text;
  }
  EXPECT_THROW(parse_fault(FaultKind::stop, "3@1"), std::invalid_argument);
}

TEST(Faults, RandomOnesFollowFromTheSeed) {
  const auto texts = [](std::uint64_t seed) {
    std::vector<std::string> result;
    for (const Fault& fault : random_faults("stop,kill,extra-call", 50, seed, 4, 100)) {
      EXPECT_LT(fault.rank, 4);
      EXPECT_LT(fault.call, 100U);
      result.push_back(to_string(fault));
    }
    return result;
  };
  EXPECT_EQ(texts(7), texts(7));
  EXPECT_NE(texts(7), texts(8));
  const auto all = texts(7);
  EXPECT_LE(std::count_if(all.begin(), all.end(),
                          [](const std::string& text) { return text.starts_with("--kill"); }),
            1);
  EXPECT_THROW(random_faults("rain", 1, 1, 1, 1), std::invalid_argument);
}

TEST(HistogramOfTimes, QuantilesAreCloseAbove) {
  Histogram histogram;
  EXPECT_EQ(histogram.at(0.5), 0U);
  for (int ns = 1; ns <= 10000; ++ns) histogram.add(ns);
  EXPECT_EQ(histogram.count(), 10000U);
  EXPECT_EQ(histogram.max_ns(), 10000U);
  for (const double quantile : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    EXPECT_GE(static_cast<double>(histogram.at(quantile)), quantile * 10000);
    EXPECT_LE(static_cast<double>(histogram.at(quantile)), quantile * 10000 * 1.07);
  }
  histogram.add(-5);
  EXPECT_EQ(histogram.at(0), 0U);
}

class ProcessGroupOfThree : public ::testing::Test {
 protected:
  ProcessGroupOfThree() { group_->prepare(arena_, *run_, 0, 3); }

  /// Meets `rounds` times on each of `ranks`, with what `arrival` returns for rank and round.
  template <class Arrive>
  void meet(const std::vector<int>& ranks, int rounds, Arrive arrival) {
    std::vector<std::thread> threads;
    for (const int rank : ranks) {
      threads.emplace_back([=, this] {
        for (int round = 0; round < rounds; ++round) {
          const auto outcome = group_->meet(rank, arrival(rank, round));
          if (!outcome) return;
          EXPECT_EQ(outcome->arrival.sequence, static_cast<std::uint64_t>(round));
          EXPECT_EQ(outcome->start_us, 10.0 * round + ranks.back());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  static Arrival equal(int rank, int round) {
    return {.sequence = static_cast<std::uint64_t>(round),
            .shape = {kAllReduce, 64, 3, 1},
            .choice = {kRing, kSimple, 2},
            .ready_us = 10.0 * round + rank};
  }

  SharedArena arena_{1 << 20};
  RunState* run_ = arena_.make<RunState>();
  ProcessGroup* group_ = arena_.make<ProcessGroup>();
};

TEST_F(ProcessGroupOfThree, TheLastRankSetsTheStart) {
  meet({0, 1, 2}, 500, equal);
  EXPECT_EQ(run_->mismatches, 0U);
  EXPECT_EQ(run_->collectives, 500U);
}

TEST_F(ProcessGroupOfThree, EachDifferenceIsAMismatch) {
  meet({0, 1, 2}, 12, [](int rank, int round) {
    Arrival arrival = equal(rank, round);
    if (rank != 2) return arrival;
    if (round == 1) arrival.choice.algorithm = kTree;
    if (round == 3) arrival.choice.protocol = kLl;
    if (round == 5) arrival.choice.channels = 3;
    if (round == 7) arrival.shape.bytes = 65;
    if (round == 9) arrival.shape.function = kReduce;
    if (round == 11) arrival.sequence = 99;
    return arrival;
  });
  EXPECT_EQ(run_->mismatches, 6U);
  ASSERT_EQ(run_->kept_mismatches, 6);
  EXPECT_EQ(run_->kept[0].ranks[1], 2);
  EXPECT_EQ(run_->kept[0].arrivals[1].choice.algorithm, kTree);
}

TEST_F(ProcessGroupOfThree, WhoLeftIsNotWaitedFor) {
  group_->leave(2);
  meet({0, 1}, 100, equal);
  EXPECT_EQ(run_->collectives, 100U);
}

TEST_F(ProcessGroupOfThree, LeavingEndsTheWaitOfTheOthers) {
  std::thread leaves([&] { group_->leave(2); });
  meet({0, 1}, 1, equal);
  leaves.join();
  EXPECT_EQ(run_->collectives, 1U);
}

TEST_F(ProcessGroupOfThree, AnAbortEndsTheWait) {
  std::thread aborts([&] { run_->aborted = 1; });
  EXPECT_FALSE(group_->meet(0, equal(0, 0)));
  aborts.join();
}

}  // namespace
}  // namespace hocket::nccl_host
