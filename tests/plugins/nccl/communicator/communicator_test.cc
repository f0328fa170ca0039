#include "plugins/nccl/communicator/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <thread>

#include "tests/plugins/nccl/communicator/memory_links.h"
#include "tests/plugins/nccl/control/fake_job_clients.h"

namespace hocket::nccl {
namespace {

/// Long enough to mean failure.
constexpr std::int64_t kLongestNs = 60'000'000'000;
/// The time between two calls of a job. Calls that follow each other at once overtake every gate
/// that is planned for them, when other work keeps the plugin's threads from running.
constexpr std::chrono::microseconds kIteration(100);

struct Closer {
  void operator()(Communicator* communicator) const { communicator->closed(); }
};
using OpenCommunicator = std::unique_ptr<Communicator, Closer>;

/// NCCL's table with Ring and Tree allowed for Simple.
struct Table {
  Table() {
    costs.fill(-1);
    view().at(abi::kRing, abi::kSimple) = 100;
    view().at(abi::kTree, abi::kSimple) = 200;
  }
  CostTable view() { return {costs.data(), abi::kAlgorithms, abi::kProtocols}; }
  Choice chosen() { return cheapest(view()); }

  std::array<float, 21> costs;
};

class CommunicatorTest : public ::testing::Test {
 protected:
  OpenCommunicator open(int rank, PluginOptions options = {},
                        std::optional<DeviceId> device = std::nullopt) {
    CommunicatorParts parts;
    parts.device = device;
    parts.say = [this, rank](const std::string& line) {
      const std::lock_guard lock(mutex_);
      said_.push_back(std::to_string(rank) + ": " + line);
    };
    parts.links = network_.links_of(static_cast<std::uint32_t>(rank));
    parts.now_ns = steady_ns;
    if (rank == 0) {
      auto clients = std::make_unique<FakeJobClients>();
      clients->starts["all_reduce 1MiB"] = {abi::kTree, abi::kSimple, 4};
      parts.clients = std::move(clients);
    }
    CommunicatorIdentity identity;
    identity.comm_id = 3;
    identity.rank = rank;
    identity.ranks = 2;
    identity.nodes = 1;
    meters_.push_back(pool_.take());
    mask_.attach(&nccl_mask_);
    meters_.back()->profiler_opened();
    return OpenCommunicator(new Communicator(identity, options, meters_.back(), std::move(parts)));
  }

  bool says(const std::string& start) {
    const std::lock_guard lock(mutex_);
    return std::any_of(said_.begin(), said_.end(),
                       [&](const std::string& line) { return line.starts_with(start); });
  }

  MemoryNetwork network_{2};
  measure::EventMask mask_;
  measure::MeterPool pool_{mask_};
  std::vector<measure::CollectiveMeter*> meters_;
  int nccl_mask_ = 0;
  std::mutex mutex_;
  std::vector<std::string> said_;  // guarded by mutex_
};

TEST_F(CommunicatorTest, WhatTheJobStartsWithIsAppliedOnAllRanksFromTheSameCall) {
  std::vector<OpenCommunicator> communicators;
  PluginOptions options;
  options.stays_on = true;
  for (int rank = 0; rank < 2; ++rank) communicators.push_back(open(rank, options));
  std::barrier barrier(2);
  std::array<std::vector<Choice>, 2> chosen;
  std::atomic<bool> ends{false};
  const auto train = [&](std::size_t rank) {
    const std::int64_t limit_ns = steady_ns() + kLongestNs;
    while (!ends) {
      std::this_thread::sleep_for(kIteration);
      Table table;
      int channels = 0;
      communicators[rank]->decide({.function = abi::kAllReduce, .bytes = 1 << 20}, table.view(),
                                  &channels);
      Choice choice = table.chosen();
      choice.channels = static_cast<std::uint8_t>(channels);
      chosen[rank].push_back(choice);
      barrier.arrive_and_wait();
      if (rank == 0) ends = choice.channels == 4 || steady_ns() > limit_ns;
      barrier.arrive_and_wait();
    }
  };
  std::thread other(train, 1);
  train(0);
  other.join();
  EXPECT_EQ(chosen[0], chosen[1]);
  EXPECT_EQ(chosen[0].back(), (Choice{abi::kTree, abi::kSimple, 4}));
  EXPECT_EQ(chosen[0].front(), (Choice{abi::kRing, abi::kSimple, 0}));
}

TEST_F(CommunicatorTest, RanksOfOneDeviceSwitchThePluginOffFromTheSameCall) {
  std::vector<OpenCommunicator> communicators;
  for (int rank = 0; rank < 2; ++rank) communicators.push_back(open(rank, {}, DeviceId{7}));
  std::barrier barrier(2);
  std::array<std::vector<Choice>, 2> chosen;
  std::atomic<bool> ends{false};
  const auto train = [&](std::size_t rank) {
    const std::int64_t limit_ns = steady_ns() + kLongestNs;
    while (!ends) {
      std::this_thread::sleep_for(kIteration);
      Table table;
      int channels = 0;
      communicators[rank]->decide({.function = abi::kAllReduce, .bytes = 1 << 20}, table.view(),
                                  &channels);
      chosen[rank].push_back(table.chosen());
      barrier.arrive_and_wait();
      if (rank == 0) ends = says("0: the plugin is off on all ranks") || steady_ns() > limit_ns;
      barrier.arrive_and_wait();
    }
  };
  std::thread other(train, 1);
  train(0);
  other.join();
  EXPECT_EQ(nccl_mask_, 0) << "no events are asked for";
  EXPECT_TRUE(says("0: NCCL is left alone: ranks 0 and 1 share a GPU"));
  EXPECT_TRUE(says("0: the plugin is off on all ranks"));
  EXPECT_EQ(chosen[0], chosen[1]);
  EXPECT_THAT(chosen[0], ::testing::Each(Choice{abi::kRing, abi::kSimple, 0}));
  communicators.clear();
  EXPECT_TRUE(says("0: the plugin's cost: "));
}

TEST_F(CommunicatorTest, UnknownFunctionsAndForbiddenChoicesAreLeftAlone) {
  OpenCommunicator communicator = open(1);
  for (const int function : {-1, 5, 77}) {
    Table table;
    int channels = 0;
    communicator->decide({.function = function, .bytes = 1024}, table.view(), &channels);
    EXPECT_EQ(table.chosen(), (Choice{abi::kRing, abi::kSimple, 0}));
    EXPECT_EQ(channels, 0);
  }
}

TEST_F(CommunicatorTest, ClosesWithoutTheOtherRank) {
  OpenCommunicator communicator = open(0);
  Table table;
  int channels = 0;
  communicator->decide({.function = abi::kAllReduce, .bytes = 1024}, table.view(), &channels);
  communicator.reset();
}

const char* no_environment(const char*) {
  return nullptr;
}
const char* some_environment(const char* name) {
  const std::string_view text = name;
  if (text == "HOCKET_NCCL_REPRODUCIBLE") return "1";
  if (text == "HOCKET_NCCL_ARMS") return "all";
  if (text == "HOCKET_NCCL_STEP_BACK") return "0";
  if (text == "HOCKET_NCCL_EXPLORE") return "0.1";
  return nullptr;
}
const char* wrong_environment(const char* name) {
  return std::string_view(name) == "HOCKET_NCCL_EXPLORE" ? "a lot" : "maybe";
}

TEST(PluginOptions, AreReadFromTheEnvironment) {
  const PluginOptions usual = read_options(no_environment);
  EXPECT_FALSE(usual.is_off || usual.is_reproducible || usual.all_arms || usual.stays_on);
  EXPECT_EQ(usual.explore, 0.03);
  EXPECT_EQ(usual.problem, "");
  const PluginOptions some = read_options(some_environment);
  EXPECT_TRUE(some.is_reproducible && some.all_arms && some.stays_on);
  EXPECT_EQ(some.explore, 0.1);
  EXPECT_TRUE(read_options([](const char* name) -> const char* {
                return std::string_view(name) == "HOCKET_NCCL" ? "off" : nullptr;
              }).is_off);
}

TEST(PluginOptions, WhatCannotBeReadIsNamedAndLeavesTheDefault) {
  const PluginOptions options = read_options(wrong_environment);
  EXPECT_FALSE(options.is_off || options.is_reproducible || options.all_arms);
  EXPECT_EQ(options.explore, 0.03);
  for (const char* name : {"HOCKET_NCCL=maybe", "HOCKET_NCCL_REPRODUCIBLE=maybe: expected 0 or 1",
                           "HOCKET_NCCL_ARMS=maybe", "HOCKET_NCCL_EXPLORE=a lot"})
    EXPECT_NE(options.problem.find(name), std::string::npos) << options.problem;
}

TEST(PluginOptions, AShareIsFromZeroToAHalf) {
  EXPECT_EQ(read_options([](const char* name) -> const char* {
              return std::string_view(name) == "HOCKET_NCCL_EXPLORE" ? "0.9" : nullptr;
            }).explore,
            0.03);
}

TEST(CallLog, KeepsOrderAndLosesWhatDoesNotFit) {
  auto log = std::make_unique<CallLog>();
  for (std::uint64_t i = 0; i < CallLog::kCapacity + 5; ++i) log->add({.call = i});
  LoggedCall call;
  for (std::uint64_t i = 0; i < CallLog::kCapacity; ++i) {
    ASSERT_TRUE(log->take(call));
    EXPECT_EQ(call.call, i);
  }
  EXPECT_FALSE(log->take(call));
  log->add({.call = 99});
  ASSERT_TRUE(log->take(call));
  EXPECT_EQ(call.call, 99u);
}

TEST(TableBoard, KeepsTheFirstTableThatWasAskedFor) {
  auto board = std::make_unique<TableBoard>();
  Table table;
  board->offer(7, table.view());
  EXPECT_FALSE(board->find(7));
  board->ask(7);
  EXPECT_FALSE(board->find(7));
  board->offer(7, table.view());
  table.view().at(abi::kRing, abi::kSimple) = 5;
  board->offer(7, table.view());
  ASSERT_TRUE(board->find(7));
  EXPECT_EQ(board->find(7)->view().at(abi::kRing, abi::kSimple), 100);
  EXPECT_FALSE(board->find(7)->view().allows(abi::kNvls, abi::kSimple));
}

}  // namespace
}  // namespace hocket::nccl
