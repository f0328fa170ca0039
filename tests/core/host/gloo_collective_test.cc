#include "core/host/gloo_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <future>
#include <numeric>
#include <random>
#include <thread>

#include "core/host/host_executor.h"
#include "core/host/tcp_store.h"
#include "core/scheduler/scheduler.h"
#include "tests/core/host/collective_laws.h"
#include "tests/core/host/gloo_ranks.h"
#include "tests/reserved_port.h"

namespace hocket {
namespace {

using std::chrono::milliseconds;

void expect_sums_and_messages(Collective& collective) {
  const int n = collective.world_size();
  for (std::uint64_t index = 0; index < 8; ++index) {
    std::vector<float> values(1 + 1000 * index);
    std::iota(values.begin(), values.end(), static_cast<float>(collective.rank()));
    ASSERT_TRUE(collective.all_reduce(values, index));
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], static_cast<float>(n * (n - 1) / 2) +
                               static_cast<float>(n) * static_cast<float>(i));
    }
  }
  for (const std::string& message :
       {std::string("hello"), std::string(), std::string(100'000, 'x')}) {
    if (collective.rank() == 0) {
      ASSERT_TRUE(collective.tell(message));
    } else {
      EXPECT_EQ(collective.hear().value(), message);
    }
  }
}

TEST(GlooCollective, SumsAndMessagesThroughAFileRendezvous) {
  for (int world_size : {2, 3}) {
    MeetingFolder folder;
    run_gloo_ranks(world_size, folder.rendezvous(), expect_sums_and_messages);
  }
}

TEST(GlooCollective, SumsAndMessagesThroughATcpRendezvous) {
  const ReservedPort port;
  run_gloo_ranks(2, "tcp://127.0.0.1:" + std::to_string(port.port()), expect_sums_and_messages);
}

TEST(GlooCollective, RanksWithOneSecretMeetAndOthersAreRefused) {
  const ReservedPort port;
  GlooOptions first = gloo_options(0, 2, "tcp://127.0.0.1:" + std::to_string(port.port()));
  first.ranks.secret = "between us";
  GlooOptions second = first;
  second.ranks.rank = 1;
  std::jthread rank0([&] {
    const auto collective = connect_gloo(first);
    ASSERT_TRUE(collective) << collective.error().message;
    expect_sums_and_messages(**collective);
  });
  GlooOptions stranger = second;
  stranger.ranks.secret = "guessed";
  const auto refused = connect_gloo(stranger);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              testing::HasSubstr("HOCKET_RENDEZVOUS_SECRET of this rank differs from rank 0's"));
  const auto collective = connect_gloo(second);
  ASSERT_TRUE(collective) << collective.error().message;
  expect_sums_and_messages(**collective);
}

TEST(GlooCollective, ARankThatNeverComesIsATimeout) {
  MeetingFolder folder;
  const auto alone = connect_gloo(gloo_options(0, 2, folder.rendezvous(), milliseconds(300)));
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, ErrorCode::timed_out);
  EXPECT_THAT(alone.error().message,
              testing::HasSubstr("rank 0 of 2 could not connect to all others"));
}

TEST(GlooCollective, ARendezvousThatCannotBeUsedIsRefusedByName) {
  for (const char* wrong :
       {"", "file:", "tcp://host", "tcp://host:0", "tcp://host:99999", "udp://a:1"}) {
    EXPECT_EQ(connect_gloo(gloo_options(0, 2, wrong)).error().code, ErrorCode::invalid_argument)
        << wrong;
  }
  EXPECT_THAT(connect_gloo(gloo_options(0, 2, "file:/no/such/folder")).error().message,
              testing::HasSubstr("no such folder"));
}

/// Pairs of the number of ranks and the ranks per host.
constexpr std::pair<int, int> kGrids[] = {{2, 1}, {2, 2}, {4, 1}, {4, 2}, {4, 4}, {6, 2}};

TEST(GlooCollective, CarriesOutEveryKindInEveryGroup) {
  const std::uint64_t seed = std::random_device()();
  for (const Mesh& mesh : law_meshes()) {
    MeetingFolder folder;
    run_gloo_mesh(mesh, folder.rendezvous(), [&](Collective& collective) {
      expect_laws_of_random_works(collective, seed, 40);
    });
  }
}

TEST(GlooCollective, MessagesArriveInEveryGroup) {
  const std::uint64_t seed = std::random_device()();
  for (const Mesh& mesh : law_meshes()) {
    MeetingFolder folder;
    run_gloo_mesh(mesh, folder.rendezvous(),
                  [&](Collective& collective) { expect_messages_arrive(collective, seed, 40); });
  }
  MeetingFolder folder;
  run_gloo_ranks(3, folder.rendezvous(), expect_wrong_messages_are_refused);
}

TEST(GlooCollective, MessagesGoOverTheInterfaceThatIsNamed) {
  const std::uint64_t seed = std::random_device()();
  MeetingFolder folder;
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      GlooOptions given = gloo_options(rank, 2, folder.rendezvous());
      given.interface = "lo";
      const auto collective = connect_gloo(given);
      ASSERT_TRUE(collective) << collective.error().message;
      expect_messages_arrive(**collective, seed, 20);
    });
  }
}

TEST(GlooCollective, AReceiveOfAnotherSizeIsAnErrorThatNamesBoth) {
  MeetingFolder folder;
  run_gloo_ranks(2, folder.rendezvous(), [](Collective& collective) {
    std::vector<float> values(collective.rank() == 0 ? 3 : 5);
    const bool sends = collective.rank() == 0;
    const auto done =
        collective.run({.kind = sends ? CollectiveKind::send : CollectiveKind::receive,
                        .values = values,
                        .index = 9,
                        .peer = sends ? 1U : 0U});
    if (sends) {
      EXPECT_TRUE(done);
    } else {
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
      EXPECT_THAT(done.error().message, testing::HasSubstr("rank 0 sent 12 bytes as message 9, "
                                                           "and this rank receives 20"));
    }
  });
}

TEST(GlooCollective, GroupsMayUseOneIndexAtOnce) {
  const Mesh mesh = Mesh::make({{"data", 2}, {"tensor", 2}}, {4, 2}).value();
  MeetingFolder folder;
  run_gloo_mesh(mesh, folder.rendezvous(), [](Collective& collective) {
    std::vector<std::jthread> groups;
    for (const CollectiveGroup group :
         {CollectiveGroup{AxisSet::of(0)}, CollectiveGroup{AxisSet::of(1)}, CollectiveGroup::world,
          CollectiveGroup::inside}) {
      groups.emplace_back([&collective, group] {
        for (std::uint64_t index = 0; index < 40; ++index) {
          std::vector<float> values(1000, static_cast<float>(collective.rank()));
          ASSERT_TRUE(collective.run({.kind = CollectiveKind::all_reduce,
                                      .group = group,
                                      .values = values,
                                      .end = 1000,
                                      .index = index}));
          float sum = 0;
          for (const std::int64_t rank : collective.mesh().ranks_of(group, collective.rank()))
            sum += static_cast<float>(rank);
          ASSERT_EQ(values, std::vector<float>(1000, sum));
        }
      });
    }
  });
}

TEST(GlooCollective, AxesThatDoNotFitTheRanksAreRefused) {
  GlooOptions refused = gloo_options(0, 4, "file:/tmp");
  refused.axes = {{"data", 3}};
  EXPECT_THAT(connect_gloo(refused).error().message, testing::HasSubstr("the 4 ranks"));
}

TEST(GlooCollective, ChainsOfCollectivesAreSums) {
  const std::uint64_t seed = std::random_device()();
  for (const auto& [ranks, per_host] : kGrids) {
    MeetingFolder folder;
    run_gloo_ranks(
        ranks, folder.rendezvous(),
        [&](Collective& collective) { expect_chains_are_sums(collective, seed); }, per_host);
  }
}

TEST(GlooCollective, LongPiecesTravelInSeveralSegments) {
  MeetingFolder folder;
  run_gloo_ranks(3, folder.rendezvous(), [](Collective& collective) {
    // 400,000 values per rank: more than three segments.
    std::vector<float> values(1'200'000);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i % 1000 * static_cast<std::size_t>(collective.rank()));
    ASSERT_TRUE(run_chain(collective, kScatteredChain, values, 0));
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], static_cast<float>(i % 1000 * 3)) << i;
  });
}

TEST(GlooCollective, PartsUnderWayAtOnceDoNotMix) {
  const std::uint64_t seed = std::random_device()();
  MeetingFolder folder;
  run_gloo_ranks(
      4, folder.rendezvous(),
      [&](Collective& collective) {
        // More parts at once than connections, so some share one.
        std::vector<std::jthread> channels;
        for (std::uint64_t channel = 0; channel < 5; ++channel) {
          channels.emplace_back([&, channel] {
            for (std::uint64_t round = 0; round < 20; ++round) {
              LawWork law(collective, seed + round * 5 + channel);
              const auto ok = collective.run(law.work);
              ASSERT_TRUE(ok) << ok.error().message;
              law.check();
            }
          });
        }
      },
      2);
}

TEST(GlooCollective, AnIndexMayComeAgainAtOnce) {
  const std::uint64_t seed = std::random_device()();
  MeetingFolder folder;
  run_gloo_ranks(
      4, folder.rendezvous(),
      [&](Collective& collective) {
        for (std::uint64_t round = 0; round < 60; ++round) {
          LawWork law(collective, seed + round);
          law.work.index = 3;
          const auto ok = collective.run(law.work);
          ASSERT_TRUE(ok) << ok.error().message;
          law.check();
        }
      },
      2);
}

TEST(GlooCollective, RanksThatDisagreeOnTheirHostsCountOneByOne) {
  MeetingFolder folder;
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&, rank] {
      auto collective = connect_gloo(
          gloo_options(rank, 4, folder.rendezvous(), milliseconds(20'000), rank == 1 ? 1 : 2));
      ASSERT_TRUE(collective) << collective.error().message;
      EXPECT_EQ((*collective)->ranks_per_host(), 1) << "rank " << rank;
    });
  }
  ranks.clear();
  MeetingFolder other;
  run_gloo_ranks(
      4, other.rendezvous(),
      [](Collective& collective) { EXPECT_EQ(collective.ranks_per_host(), 2); }, 2);
}

TEST(GlooCollective, RanksPerHostThatDoNotDivideTheRanksAreRefused) {
  for (const int wrong : {0, -1, 3}) {
    GlooOptions refused = gloo_options(0, 4, "file:/tmp");
    refused.ranks.ranks_per_host = wrong;
    EXPECT_THAT(connect_gloo(refused).error().message,
                testing::HasSubstr("expected a number that divides the 4 ranks, found " +
                                   std::to_string(wrong)));
  }
}

TEST(GlooCollective, AbortEndsARingThatIsNotComplete) {
  for (const auto& link : kLongestChain) {
    MeetingFolder folder;
    run_gloo_ranks(
        4, folder.rendezvous(),
        [&](Collective& collective) {
          // In each group one rank does not take part.
          if (collective.rank() == 0 || collective.rank() == 3) return;
          std::vector<float> values(400'000);
          std::jthread waiting([&] {
            const auto ok = collective.run(
                {.kind = link.kind, .group = link.group, .values = values, .index = 1});
            EXPECT_FALSE(ok);
          });
          collective.abort();
        },
        2);
  }
}

/// Runs steps of one all-reduce each until an error or `steps`.
Result<void> run_steps(Collective& collective, CollectiveOrder order, int steps,
                       const std::function<void(int)>& before) {
  SteadyClock clock;
  HostExecutor executor(collective, clock);
  std::vector<float> values(50'000, 1);
  Scheduler scheduler({.partition_bytes = 65536, .comm_channels = 2, .order = order}, executor);
  const DataId data = scheduler.add_data();
  for (int step = 0; step < steps; ++step) {
    before(step);
    scheduler.all_reduce({.name = "values"}, data, values);
    if (auto ok = scheduler.end_step(); !ok) return ok;
  }
  return scheduler.synchronize();
}

#ifndef HOCKET_SANITIZED  // forks while the sanitizers' own threads run
TEST(GlooCollective, ARankThatDiesEndsTheOthersWithAReason) {
  for (const auto order : {CollectiveOrder::fifo, CollectiveOrder::negotiated}) {
    for (const int dying : {0, 2}) {
      SCOPED_TRACE(testing::Message() << to_string(order) << ", rank " << dying << " dies");
      MeetingFolder folder;
      std::vector<pid_t> ranks;
      for (int rank = 0; rank < 3; ++rank) {
        const pid_t pid = fork();
        if (pid == 0) {
          auto collective = connect_gloo(gloo_options(rank, 3, folder.rendezvous()));
          if (!collective) _exit(10);
          const auto ok = run_steps(**collective, order, 1000, [&](int step) {
            if (rank == dying && step == 20) _exit(20);
          });
          _exit(!ok && !ok.error().message.empty() ? 30 : 0);
        }
        ranks.push_back(pid);
      }
      for (int rank = 0; rank < 3; ++rank) {
        int status = 0;
        waitpid(ranks[static_cast<std::size_t>(rank)], &status, 0);
        ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
        EXPECT_EQ(WEXITSTATUS(status), rank == dying ? 20 : 30) << "rank " << rank;
      }
    }
  }
}
#endif

#ifndef HOCKET_SANITIZED  // forks while the sanitizers' own threads run
TEST(GlooCollective, ARankThatDiesIsNamedToWhoWaitsForItsMessage) {
  MeetingFolder folder;
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      auto collective = connect_gloo(gloo_options(rank, 3, folder.rendezvous()));
      if (!collective) _exit(10);
      if (rank == 2) _exit(20);
      std::vector<float> values(100'000);
      const auto ok = (*collective)
                          ->run({.kind = rank == 0 ? CollectiveKind::receive : CollectiveKind::send,
                                 .values = values,
                                 .peer = 2});
      // A message may still find room in the connection.
      if (ok) _exit(rank == 0 ? 11 : 30);
      if (ok.error().code != ErrorCode::unavailable) _exit(12);
      _exit(ok.error().message.find("rank 2") == std::string::npos ? 13 : 30);
    }
    ranks.push_back(pid);
  }
  for (int rank = 0; rank < 3; ++rank) {
    int status = 0;
    waitpid(ranks[static_cast<std::size_t>(rank)], &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), rank == 2 ? 20 : 30) << "rank " << rank;
  }
}
#endif

#ifndef HOCKET_SANITIZED  // forks while the sanitizers' own threads run
TEST(GlooCollective, ARankThatDiesInAChainEndsTheOthersWithAReason) {
  constexpr int kRanks = 4;
  for (const int dying : {0, 3}) {
    MeetingFolder folder;
    std::vector<pid_t> ranks;
    for (int rank = 0; rank < kRanks; ++rank) {
      const pid_t pid = fork();
      if (pid == 0) {
        auto collective =
            connect_gloo(gloo_options(rank, kRanks, folder.rendezvous(), milliseconds(20'000), 2));
        if (!collective) _exit(10);
        std::vector<float> values(50'000);
        for (std::uint64_t round = 0; round < 1000; ++round) {
          if (rank == dying && round == 20) _exit(20);
          const auto ok = run_chain(**collective, kLongestChain, values, round * 4);
          if (ok) continue;
          // Aborts like an executor: the others may wait for this rank, not for the one that is
          // gone.
          (*collective)->abort();
          _exit(ok.error().message.find("another rank is gone") == 0 ? 30 : 40);
        }
        _exit(0);
      }
      ranks.push_back(pid);
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      int status = 0;
      waitpid(ranks[static_cast<std::size_t>(rank)], &status, 0);
      ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
      EXPECT_EQ(WEXITSTATUS(status), rank == dying ? 20 : 30) << "rank " << rank;
    }
  }
}
#endif

TEST(GlooCollective, ASilentPeerIsATimeoutNotAHang) {
  MeetingFolder folder;
  std::promise<void> done;
  std::jthread silent([&, finished = done.get_future()]() mutable {
    auto collective = connect_gloo(gloo_options(1, 2, folder.rendezvous()));
    EXPECT_TRUE(collective);
    finished.wait();
  });
  // Long enough to connect on a busy machine; the timeout also applies to connecting.
  auto collective = connect_gloo(gloo_options(0, 2, folder.rendezvous(), milliseconds(3000)));
  EXPECT_TRUE(collective);
  const auto ok = collective ? run_steps(**collective, CollectiveOrder::fifo, 3, [](int) {})
                             : Result<void>(failure(collective.error()));
  done.set_value();
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, ErrorCode::timed_out) << ok.error().message;
}

TEST(GlooCollective, ManyStepsInPriorityOrderEndWellOnEveryRank) {
  MeetingFolder folder;
  run_gloo_ranks(3, folder.rendezvous(), [](Collective& collective) {
    const auto ok = run_steps(collective, CollectiveOrder::negotiated, 200, [](int) {});
    EXPECT_TRUE(ok) << ok.error().message;
  });
}

}  // namespace
}  // namespace hocket
