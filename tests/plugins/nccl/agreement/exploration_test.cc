// All interleavings of small jobs, with one fault of each kind at any moment. Larger ones (millions
// of states, minutes) are explored if the environment variable HOCKET_NCCL_EXPLORE is set.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/plugins/nccl/agreement/small_world.h"

namespace hocket::nccl {
namespace {

bool is_thorough() {
  return std::getenv("HOCKET_NCCL_EXPLORE") != nullptr;
}

struct Explored {
  std::uint64_t states = 0;
  std::uint64_t ends = 0;
  std::uint64_t gone_through = 0;
  std::uint64_t stayed = 0;
  std::uint64_t passed = 0;
  std::uint64_t excepted = 0;
  std::string broken;
  std::string path;
};

std::string text_of(const std::vector<SmallWorld::Step>& path) {
  static constexpr const char* kNames[] = {"call",  "to_member", "to_arbiter", "between",
                                           "fault", "heal",      "time"};
  std::string text;
  for (const SmallWorld::Step& step : path) {
    text += std::string(kNames[static_cast<int>(step.what)]) + " " + std::to_string(step.rank) +
            (step.detail ? "/" + std::to_string(step.detail) : "") + ", ";
  }
  return text;
}

class Explorer {
 public:
  Explored run(const SmallWorld& world) {
    visit(world);
    explored_.states = seen_.size();
    return explored_;
  }

 private:
  void visit(const SmallWorld& world) {
    if (!explored_.broken.empty() || !seen_.insert(hash_(world.state())).second) return;
    const std::string broken = world.broken();
    if (world.is_at_end()) {
      ++explored_.ends;
      explored_.gone_through += world.outcome().has_gone_through();
      explored_.stayed += world.outcome().has_stayed();
      explored_.excepted += world.is_excepted();
      explored_.passed += world.outcome().stayed == StayReason::passed;
    }
    if (!broken.empty()) {
      explored_.broken = broken;
      explored_.path = text_of(path_);
      return;
    }
    for (const SmallWorld::Step& step : world.steps()) {
      SmallWorld next = world;
      path_.push_back(step);
      next.take(step);
      visit(next);
      path_.pop_back();
    }
  }

  std::hash<std::string> hash_;
  std::unordered_set<std::size_t> seen_;
  std::vector<SmallWorld::Step> path_;
  Explored explored_;
};

Explored explore(const std::string& name, const WorldOptions& options) {
  const Explored explored = Explorer().run(SmallWorld(options));
  std::cout << name << ": " << options.ranks << " ranks, fault at rank " << options.faulty_rank
            << ", run-ahead " << options.run_ahead << ": " << explored.states << " states, "
            << explored.ends << " ends (" << explored.gone_through << " gone through, "
            << explored.stayed << " stayed, " << explored.excepted << " excepted)\n";
  EXPECT_EQ(explored.broken, "") << name << ", " << options.ranks << " ranks, fault at rank "
                                 << options.faulty_rank << ", steps: " << explored.path;
  return explored;
}

TEST(Exploration, WithoutFaultsAndTimeAProposalGoesThroughUnlessItWasPassed) {
  for (const std::uint32_t ranks : {2u, 3u}) {
    WorldOptions options;
    options.ranks = ranks;
    options.calls = is_thorough() ? 4 : 3;
    options.free_units = 0;
    for (options.run_ahead = 1; options.run_ahead <= 2; ++options.run_ahead) {
      const Explored explored = explore("no fault", options);
      EXPECT_GT(explored.gone_through, 0u);
      EXPECT_GT(explored.passed, 0u);
      EXPECT_EQ(explored.gone_through + explored.passed, explored.ends);
    }
  }
}

struct Case {
  const char* name;
  WorldFault fault;
  bool at_rank_0;
};

constexpr Case kCases[] = {
    {"no fault", WorldFault::none, false},
    {"link cut", WorldFault::link_cut, false},
    {"link cut and restored", WorldFault::link_cut_and_restored, false},
    {"cut off", WorldFault::cut_off, false},
    {"killed", WorldFault::killed, false},
    {"rank 0 killed", WorldFault::killed, true},
    {"stopped", WorldFault::stopped, false},
    {"rank 0 stopped", WorldFault::stopped, true},
    {"extra call", WorldFault::extra_call, false},
    {"extra call of rank 0", WorldFault::extra_call, true},
    {"goodbye", WorldFault::goodbye, false},
    {"goodbye of rank 0", WorldFault::goodbye, true},
    {"refusal", WorldFault::refusal, false},
    {"abstention", WorldFault::abstention, false},
};

TEST(Exploration, TwoRanksWithAFaultOfEachKind) {
  for (const Case& c : kCases) {
    WorldOptions options;
    options.calls = is_thorough() ? 4 : 3;
    options.fault = c.fault;
    options.faulty_rank = c.at_rank_0 ? 0 : 1;
    for (options.run_ahead = 1; options.run_ahead <= 2; ++options.run_ahead) {
      explore(c.name, options);
    }
  }
}

TEST(Exploration, ThreeRanksWithAFaultOfEachKind) {
  for (const Case& c : kCases) {
    WorldOptions options;
    options.ranks = 3;
    options.calls = 3;
    options.fault = c.fault;
    options.faulty_rank = c.at_rank_0 ? 0 : 1;
    options.free_units = is_thorough() ? 1 : 0;
    if (c.fault == WorldFault::link_cut_and_restored && !is_thorough()) continue;
    explore(c.name, options);
  }
}

}  // namespace
}  // namespace hocket::nccl
