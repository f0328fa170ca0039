// Tests the contract of core/collective/parameter_servers.h with servers in memory, over emulated
// links and over TCP.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <optional>
#include <random>
#include <thread>

#include "tests/core/servers/rank_values.h"
#include "tests/core/servers/servers_world.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

enum class Kind { local, emulated, tcp };

class ServersContract : public testing::TestWithParam<Kind> {
 protected:
  static std::unique_ptr<ServersWorld> world(const ServersSetup& setup) {
    if (GetParam() == Kind::local) return std::make_unique<LocalWorld>(setup);
    if (GetParam() == Kind::emulated) return std::make_unique<EmulatedWorld>(setup);
    return std::make_unique<TcpWorld>(setup);
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, ServersContract,
                         testing::Values(Kind::local, Kind::emulated, Kind::tcp),
                         [](const auto& kind) {
                           if (kind.param == Kind::emulated) return "OverEmulatedLinks";
                           return kind.param == Kind::local ? "InMemory" : "OverTcp";
                         });

void expect_fails(const auto& result, ErrorCode code, const std::vector<std::string>& parts) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code) << result.error().message;
  for (const auto& part : parts) EXPECT_THAT(result.error().message, HasSubstr(part));
}

/// Parts of several collectives of random sizes, spread over the servers.
struct Job {
  Job(std::uint64_t seed, const ServersSetup& setup) : seed(seed), ranks(setup.ranks) {
    std::mt19937_64 random(seed);
    for (std::uint64_t part = 0; part < 24; ++part) {
      const std::size_t limits[] = {1, 4, 2000, 150'000};
      parts.push_back({.collective = part / 4,
                       .offset_bytes = static_cast<std::int64_t>(part % 4) * 4096,
                       .server = static_cast<int>(random() % setup.servers)});
      sizes.push_back(random() % limits[random() % 4]);
    }
  }

  /// A different order on each rank and thread.
  std::vector<std::size_t> order(int rank, int thread) const {
    std::vector<std::size_t> order(parts.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(rank * 10 + thread));
    if (rank > 0) std::shuffle(order.begin(), order.end(), random);
    return order;
  }

  /// Pushes those parts that `thread` of `threads` pushes.
  void push(ParameterServers& servers, int thread, int threads) const {
    for (const std::size_t i : order(servers.rank(), thread)) {
      if (static_cast<int>(i) % threads != thread) continue;
      const auto ok = servers.push(parts[i], rank_values(seed * 100 + i, servers.rank(), sizes[i]));
      ASSERT_TRUE(ok) << ok.error().message;
    }
  }

  /// Pulls the sums of a server, each on a thread of its own.
  void pull_all(ParameterServers& servers, int server) const {
    std::vector<std::jthread> pulls;
    auto left = std::ranges::count(parts, server, &ServedPart::server);
    for (; left > 0; --left) {
      const auto next = servers.next_sum(server);
      ASSERT_TRUE(next) << next.error().message;
      ASSERT_TRUE(*next);
      pulls.emplace_back([this, &servers, part = **next] { pull(servers, part); });
    }
  }

  void pull(ParameterServers& servers, const ServedPart& part) const {
    const auto found = std::ranges::find(parts, part);
    ASSERT_NE(found, parts.end());
    const auto i = static_cast<std::size_t>(found - parts.begin());
    std::vector<float> sum(sizes[i]);
    const auto ok = servers.pull(part, sum);
    ASSERT_TRUE(ok) << ok.error().message;
    expect_same_bits(sum, sum_of_ranks(seed * 100 + i, ranks, sizes[i]));
  }

  const std::uint64_t seed;
  const int ranks;
  std::vector<ServedPart> parts;
  std::vector<std::size_t> sizes;
};

TEST_P(ServersContract, EveryRankGetsTheSumInTheOrderOfRanks) {
  for (std::uint64_t seed = 0; seed < rounds(12); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ServersSetup setup;
    setup.ranks = 1 + static_cast<int>(seed % 4);
    setup.servers = 1 + static_cast<int>(seed / 2 % 3);
    const int threads = 1 + static_cast<int>(seed / 3 % 3);
    const Job job(seed, setup);
    const auto servers_of_all = world(setup);
    run_ranks(*servers_of_all, setup.ranks, [&](int, ParameterServers& servers) {
      ASSERT_EQ(servers.world_size(), setup.ranks);
      ASSERT_EQ(servers.servers(), setup.servers);
      std::vector<std::jthread> channels;
      for (int server = 0; server < setup.servers; ++server)
        channels.emplace_back([&, server] { job.pull_all(servers, server); });
      for (int thread = 0; thread < threads; ++thread)
        channels.emplace_back([&, thread] { job.push(servers, thread, threads); });
    });
    if (HasFailure()) return;
  }
}

/// Updates of a tensor that is cut otherwise each time, by ranks that push a part each in turn.
class UpdatedTensor {
 public:
  UpdatedTensor(std::uint64_t seed, int ranks)
      : seed_(seed), ranks_(ranks), size_(1 + seed * 977 % 5000), first_(size_), second_(size_) {
    const OptimizerStep steps[] = {
        {.kind = OptimizerKind::sgd, .gradient_scale = 0.5, .learning_rate = 0.1},
        {.kind = OptimizerKind::sgd, .learning_rate = 0.1, .momentum = 0.9},
        {.kind = OptimizerKind::adamw, .learning_rate = 0.01}};
    update_ = {.tensor = static_cast<std::uint32_t>(seed % 3), .step = steps[seed % 3]};
  }

  void run(ParameterServers& servers, int number) const {
    PartUpdate update = update_;
    update.step.update = number;
    std::mt19937_64 random(seed_ * 100 + static_cast<std::uint64_t>(number));
    const std::vector<float> own = rank_values(key(number), servers.rank(), size_);
    for (std::size_t begin = 0; begin < size_;) {
      const std::size_t size = std::min(size_ - begin, 1 + random() % 2000);
      const ServedPart part{.collective = static_cast<std::uint64_t>(number),
                            .offset_bytes = static_cast<std::int64_t>(begin * sizeof(float))};
      const auto pushed = servers.push(part, std::span(own).subspan(begin, size), &update);
      ASSERT_TRUE(pushed) << pushed.error().message;
      const auto step = summed(servers, part, size);
      ASSERT_TRUE(step) << step.error().message;
      expect_same_bits(*step, std::span(expected_).subspan(begin, size));
      begin += size;
    }
  }

  /// Computes what the ranks get of an update, which follows the ones before.
  void expect(int number) {
    OptimizerStep step = update_.step;
    step.update = number;
    expected_ = sum_of_ranks(key(number), ranks_, size_);
    const auto moment = [&](std::vector<float>& values, int index) {
      return index < state_values(step) ? std::span<float>(values) : std::span<float>();
    };
    apply_optimizer_step(step, expected_, moment(first_, 0), moment(second_, 1));
  }

 private:
  std::uint64_t key(int number) const { return seed_ * 1000 + static_cast<std::uint64_t>(number); }

  const std::uint64_t seed_;
  const int ranks_;
  const std::size_t size_;
  PartUpdate update_;
  std::vector<float> first_, second_, expected_;
};

TEST_P(ServersContract, ASumBecomesTheStepOfAnOptimizerHoweverItsTensorIsCut) {
  for (std::uint64_t seed = 0; seed < rounds(6); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const int ranks = 1 + static_cast<int>(seed / 3 % 2);
    const auto servers = world({.ranks = ranks});
    std::vector<std::unique_ptr<ParameterServers>> joined;
    for (int rank = 0; rank < ranks; ++rank) joined.push_back(servers->join(rank));
    UpdatedTensor tensor(seed, ranks);
    for (int number = 1; number <= 4; ++number) {
      tensor.expect(number);
      std::vector<std::jthread> threads;
      for (const auto& rank : joined) threads.emplace_back([&] { tensor.run(*rank, number); });
    }
    if (HasFailure()) return;
  }
}

TEST_P(ServersContract, RanksThatWantDifferentUpdatesAreBothTold) {
  const std::vector<float> values(10);
  const PartUpdate update{.tensor = 1, .step = {.learning_rate = 0.1}};
  PartUpdate other = update;
  other.step.learning_rate = 0.2;
  for (const PartUpdate* const second : std::initializer_list<const PartUpdate*>{&other, nullptr}) {
    const auto servers = world({.ranks = 2});
    const auto zero = servers->join(0), one = servers->join(1);
    const ServedPart part{.collective = 3};
    ASSERT_TRUE(zero->push(part, values, &update));
    const std::vector<std::string> why = {"parameter server 0", "rank 1 wants another update",
                                          "than rank 0"};
    expect_fails(one->push(part, values, second), ErrorCode::invalid_argument, why);
    expect_fails(summed(*zero, part), ErrorCode::invalid_argument, why);
  }
}

TEST_P(ServersContract, AnUpdateThatNoOptimizerHasIsNotPushed) {
  const auto servers = world({.ranks = 1});
  const auto rank = servers->join(0);
  const PartUpdate update{.step = {.update = 0}};
  expect_fails(rank->push({}, std::vector<float>(10), &update), ErrorCode::invalid_argument,
               {"count from 1"});
  EXPECT_EQ(exchange_ones(*rank, {}).value(), std::vector<float>(10, 1)) << "the job goes on";
}

TEST_P(ServersContract, TheStateOfAnOptimizerStaysWithinTheLimit) {
  const auto servers = world({.ranks = 1, .limit_bytes = 100'000});
  const auto rank = servers->join(0);
  const auto update = [&](std::uint32_t tensor, std::size_t size) {
    const PartUpdate update{.tensor = tensor, .step = {.kind = OptimizerKind::adamw}};
    const ServedPart part{.collective = tensor};
    auto pushed = rank->push(part, std::vector<float>(size), &update);
    return pushed ? summed(*rank, part, size) : Result<std::vector<float>>(failure(pushed.error()));
  };
  EXPECT_TRUE(update(0, 5000));
  expect_fails(update(1, 5000), ErrorCode::unavailable,
               {"40", "bytes of the optimiser's state", "limit of a server's memory is 100000"});
}

TEST_P(ServersContract, AWaitThatIsTooLongNamesTheRanksThatAreMissing) {
  const auto servers = world({.ranks = 3, .timeout_ns = kShortNs});
  const auto zero = servers->join(0), one = servers->join(1), two = servers->join(2);
  const ServedPart part{.collective = 5, .offset_bytes = 16};
  for (int times = 0; times < 2; ++times) {
    expect_fails(times == 0 ? exchange_ones(*zero, part) : summed(*zero, part),
                 ErrorCode::timed_out,
                 {"parameter server 0", "waited 30 ms for collective 5 at offset 16",
                  "not pushed by rank 1, rank 2;"});
  }
  expect_fails(exchange_ones(*one, part), ErrorCode::timed_out, {"not pushed by rank 2;"});
  ASSERT_TRUE(push_ones(*two, part));
  for (auto* const rank : {&*zero, &*one, &*two})
    EXPECT_EQ(summed(*rank, part).value(), std::vector<float>(10, 3));
}

TEST_P(ServersContract, ARankThatHasPushedNothingMayWaitForever) {
  const auto servers = world({.ranks = 2, .timeout_ns = kShortNs / 10});
  const auto zero = servers->join(0), one = servers->join(1);
  std::jthread waiting([&] { EXPECT_EQ(zero->next_sum(0).value(), std::nullopt); });
  for (int times = 0; times < 3; ++times)
    expect_fails(times == 0 ? exchange_ones(*one, {}) : summed(*one, {}), ErrorCode::timed_out, {});
  zero->end_waiting();
}

TEST_P(ServersContract, AnEndOfWaitingLosesNoSum) {
  for (std::uint64_t round = 0; round < rounds(20); ++round) {
    const auto servers_of_all = world({.ranks = 2, .servers = 2});
    run_ranks(*servers_of_all, 2, [](int rank, ParameterServers& servers) {
      std::vector<std::jthread> waiting;
      std::vector<std::vector<std::uint64_t>> sums(2);
      const auto wait = [&] {
        for (const int server : {0, 1}) {
          waiting.emplace_back([&, server] {
            while (sums[static_cast<std::size_t>(server)].size() < 20) {
              const auto next = servers.next_sum(server);
              ASSERT_TRUE(next) << next.error().message;
              if (!*next) return;
              ASSERT_EQ((*next)->server, server);
              sums[static_cast<std::size_t>(server)].push_back((*next)->collective);
            }
          });
        }
      };
      wait();
      for (std::uint64_t part = 0; part < 40; ++part) {
        EXPECT_TRUE(push_ones(servers, {.collective = part, .server = static_cast<int>(part % 2)}));
        if (part % 4 != static_cast<std::uint64_t>(rank)) continue;
        servers.end_waiting();
        waiting.clear();
        EXPECT_EQ(servers.next_sum(0).value(), std::nullopt);
        servers.begin_waiting();
        wait();
      }
      waiting.clear();
      for (const int server : {0, 1}) {
        auto& found = sums[static_cast<std::size_t>(server)];
        std::ranges::sort(found);
        ASSERT_EQ(found.size(), 20U);
        for (std::uint64_t i = 0; i < 20; ++i) {
          ASSERT_EQ(found[i], 2 * i + static_cast<std::uint64_t>(server));
          std::vector<float> values(10);
          ASSERT_TRUE(servers.pull({.collective = found[i], .server = server}, values));
          ASSERT_EQ(values, std::vector<float>(10, 2));
        }
      }
    });
    if (HasFailure()) return;
  }
}

TEST_P(ServersContract, RanksThatDisagreeAboutASizeAreAllTold) {
  const auto servers_of_all = world({.ranks = 3});
  run_ranks(*servers_of_all, 3, [](int rank, ParameterServers& servers) {
    const ServedPart part{.collective = 2, .offset_bytes = 8};
    expect_fails(exchange_ones(servers, part, rank == 1 ? 11 : 10), ErrorCode::invalid_argument,
                 {"parameter server 0", "collective 2 at offset 8", "44 bytes", "40 bytes"});
  });
}

TEST_P(ServersContract, RefusesWhatMakesNoSenseAndStaysUsable) {
  const auto servers = world({.ranks = 1, .limit_bytes = 1'000'000});
  const auto rank = servers->join(0);
  const ServedPart part{.collective = 2};
  std::vector<float> values(10);
  expect_fails(rank->pull(part, values), ErrorCode::invalid_argument,
               {"parameter server 0", "rank 0 pulls 40 bytes of collective 2", "no sum"});
  ASSERT_TRUE(push_ones(*rank, part));
  expect_fails(push_ones(*rank, part, 12), ErrorCode::invalid_argument,
               {"parameter server 0", "rank 0 pushes 48 bytes of collective 2 at offset 0",
                "second time", "40 bytes"});
  expect_fails(push_ones(*rank, {.collective = 3}, 300'000), ErrorCode::unavailable,
               {"parameter server 0", "rank 0's 1200000 bytes", "limit of sums is 1000000 bytes"});
  expect_fails(rank->pull(part, std::span(values).first(9)), ErrorCode::invalid_argument,
               {"parameter server 0", "36 bytes", "40 bytes"});
  EXPECT_EQ(summed(*rank, part).value(), std::vector<float>(10, 1));
}

TEST_P(ServersContract, ARankThatLeavesOrAbortsFailsThePartsThatNeedIt) {
  for (const bool aborts : {false, true}) {
    for (std::uint64_t round = 0; round < rounds(20); ++round) {
      const auto servers_of_all = world({.ranks = 3, .servers = 2});
      std::latch all_pushed(3), both_told(2);
      run_ranks(*servers_of_all, 3, [&](int rank, ParameterServers& servers) {
        EXPECT_TRUE(push_ones(servers, {.collective = 0}));
        all_pushed.arrive_and_wait();
        if (rank == 2) {
          if (aborts) servers.abort();
          return;
        }
        EXPECT_EQ(summed(servers, {.collective = 0}).value(), std::vector<float>(10, 3));
        for (std::uint64_t collective = 1; collective < 4; ++collective) {
          const ServedPart part{.collective = collective,
                                .server = static_cast<int>(collective % 2)};
          expect_fails(exchange_ones(servers, part), ErrorCode::unavailable,
                       {aborts ? "rank 2 is gone" : "rank 2 has left"});
        }
        both_told.arrive_and_wait();
      });
    }
  }
}

TEST_P(ServersContract, AbortEndsCallsThatWaitAndLaterOnes) {
  for (std::uint64_t round = 0; round < rounds(20); ++round) {
    const auto servers = world({.ranks = 2, .servers = 3});
    const auto zero = servers->join(0), one = servers->join(1);
    std::vector<std::jthread> waiting;
    for (const int server : {0, 1, 2}) {
      waiting.emplace_back([&, server] {
        (void)push_ones(*zero, {.server = server});
        expect_fails(zero->next_sum(server), ErrorCode::unavailable, {"rank 0 has aborted"});
      });
    }
    zero->abort();
    waiting.clear();
    std::vector<float> values(10);
    expect_fails(push_ones(*zero, {.collective = 7}), ErrorCode::unavailable,
                 {"rank 0 has aborted"});
    expect_fails(zero->next_sum(0), ErrorCode::unavailable, {"rank 0 has aborted"});
    expect_fails(zero->pull({}, values), ErrorCode::unavailable, {"rank 0 has aborted"});
    expect_fails(exchange_ones(*one, {.collective = 7}), ErrorCode::unavailable,
                 {"rank 0 is gone"});
  }
}

}  // namespace
}  // namespace hocket
