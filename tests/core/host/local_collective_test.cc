#include "core/host/local_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/core/host/collective_laws.h"
#include "tests/core/host/ranks.h"

namespace hocket {
namespace {

TEST(LocalCollective, AnIndexMayComeAgainAtOnce) {
  run_local_ranks(3, [](int rank, Collective& collective) {
    for (int round = 0; round < 2000; ++round) {
      float value = static_cast<float>(round + rank);
      const auto ok = collective.all_reduce({&value, 1}, 0);
      ASSERT_TRUE(ok) << ok.error().message;
      ASSERT_EQ(value, static_cast<float>(3 * round + 3)) << "rank " << rank << " round " << round;
    }
  });
}

TEST(LocalCollective, SchedulersOneAfterTheOtherShareIt) {
  run_local_ranks(2, [](int, Collective& collective) {
    const SteadyClock clock;
    std::vector<float> values(100, 1);
    for (int round = 0; round < 20; ++round) {
      ScheduleConfig config;
      config.partition_bytes = 64 << round % 3;
      config.order = round % 2 ? CollectiveOrder::fifo : CollectiveOrder::negotiated;
      config.comm_channels = 2;
      HostExecutor executor(collective, clock);
      Scheduler scheduler(config, executor);
      scheduler.all_reduce({.name = "values", .priority = 0}, scheduler.add_data(), values);
      const auto ok = scheduler.synchronize();
      ASSERT_TRUE(ok) << ok.error().message;
      ASSERT_EQ(values, std::vector<float>(100, static_cast<float>(2 << round)));
    }
  });
}

constexpr std::int64_t kLimitNs = 60'000'000'000;

TEST(LocalCollective, CarriesOutEveryKindInEveryGroup) {
  const std::uint64_t seed = std::random_device()();
  for (const Mesh& mesh : law_meshes()) {
    run_local_mesh(
        mesh,
        [&](int, Collective& collective) { expect_laws_of_random_works(collective, seed, 30); },
        kLimitNs);
  }
}

TEST(LocalCollective, MessagesArriveInEveryGroup) {
  const std::uint64_t seed = std::random_device()();
  for (const Mesh& mesh : law_meshes()) {
    run_local_mesh(
        mesh, [&](int, Collective& collective) { expect_messages_arrive(collective, seed, 30); },
        kLimitNs);
  }
  run_local_ranks(
      3, [](int, Collective& collective) { expect_wrong_messages_are_refused(collective); });
}

// The one that fails a part carries out all others.
TEST(ObservedCollective, KeepsTheLaws) {
  const std::uint64_t seed = std::random_device()();
  for (const Mesh& mesh : law_meshes()) {
    run_local_mesh(
        mesh,
        [&](int, Collective& collective) {
          ObservedCollective observed(collective, seed + 1'000);
          expect_laws_of_random_works(observed, seed, 30);
          expect_messages_arrive(observed, seed + 100, 20);
          std::vector<float> values(4);
          EXPECT_FALSE(observed.all_reduce(values, seed + 1'000));
        },
        kLimitNs);
  }
}

TEST(LocalCollective, RanksWhoseValuesDifferInTypeAreToldSo) {
  run_local_ranks(2, [](int rank, Collective& collective) {
    std::vector<BFloat16> halves(4);
    std::vector<Float16> others(4);
    const auto ok = collective.run({.kind = CollectiveKind::all_gather,
                                    .values = rank == 0 ? ValueSpan(halves) : ValueSpan(others)});
    ASSERT_FALSE(ok);
    EXPECT_THAT(ok.error().message, testing::HasSubstr("the kind, type or size"));
  });
}

TEST(LocalCollective, RanksWhoseMessagesDifferInSizeAreToldSo) {
  run_local_ranks(2, [](int rank, Collective& collective) {
    std::vector<float> values(rank == 0 ? 4 : 5);
    const auto ok =
        collective.run({.kind = rank == 0 ? CollectiveKind::send : CollectiveKind::receive,
                        .values = values,
                        .peer = rank == 0 ? 1U : 0U});
    ASSERT_FALSE(ok);
    EXPECT_THAT(ok.error().message, testing::HasSubstr("ranks disagree"));
  });
}

TEST(LocalCollective, ChainsOfCollectivesAreSums) {
  const std::uint64_t seed = std::random_device()();
  for (const auto& [ranks, per_host] : {std::pair(2, 1), {2, 2}, {4, 2}, {6, 3}}) {
    run_local_ranks(
        ranks, [&](int, Collective& collective) { expect_chains_are_sums(collective, seed); },
        kLimitNs, per_host);
  }
}

TEST(LocalCollective, WhatAReduceScatterLeavesUndefinedIsNoNumber) {
  run_local_ranks(2, [](int rank, Collective& collective) {
    std::vector<float> values(32, 1);
    ASSERT_TRUE(collective.run({.kind = CollectiveKind::reduce_scatter, .values = values}));
    for (int i = 0; i < 32; ++i)
      EXPECT_EQ(std::isnan(values[static_cast<std::size_t>(i)]), i / 16 != rank) << i;
  });
}

TEST(LocalCollective, RanksThatMeanDifferentCollectivesAreToldSo) {
  for (const int difference : {0, 1, 2}) {
    run_local_ranks(2, [&](int rank, Collective& collective) {
      std::vector<float> values(100 + (difference == 0 ? static_cast<std::size_t>(rank) : 0));
      CollectiveWork work{.kind = CollectiveKind::all_gather, .values = values};
      if (difference == 1 && rank == 0) work.kind = CollectiveKind::reduce_scatter;
      if (difference == 2 && rank == 0) work.end = 16;
      const auto ok = collective.run(work);
      ASSERT_FALSE(ok);
      EXPECT_EQ(ok.error().code, ErrorCode::invalid_argument);
      EXPECT_THAT(ok.error().message, testing::HasSubstr("ranks disagree"));
    });
  }
}

TEST(LocalCollective, RefusesAKindThatNobodyCarriesOut) {
  run_local_ranks(1, [](int, Collective& collective) {
    const auto ok = collective.run({.kind = CollectiveKind::push, .values = {}});
    ASSERT_FALSE(ok);
    EXPECT_THAT(ok.error().message, testing::HasSubstr("push cannot be carried out"));
  });
}

TEST(LocalCollective, AbortEndsAGroupThatIsNotComplete) {
  run_local_ranks(
      4,
      [](int rank, Collective& collective) {
        std::vector<float> values(100);
        if (rank == 3) {
          collective.abort();
          return;
        }
        const auto group = rank == 2 ? CollectiveGroup::inside : CollectiveGroup::world;
        EXPECT_FALSE(collective.run({.group = group, .values = values}));
      },
      kLimitNs, 2);
}

}  // namespace
}  // namespace hocket
