#include "client/live/switch_agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace hocket {
namespace {

using Standing = SwitchAgreement::Standing;

/// Returns a payload of arbitrary bytes and random length.
std::string random_payload(std::mt19937_64& random) {
  const std::size_t size = random() % 8 == 0 ? random() % 3000 : random() % 300;
  std::string payload(size, '\0');
  for (char& c : payload) c = static_cast<char>(random());
  return payload;
}

/// Ranks that submit, contribute and tally in any order that a job allows: a rank submits step s
/// after ballot s − 2 is tallied, and contributes to ballot s after step s is submitted and ballot
/// s − 1 tallied.
class Job {
 public:
  struct Rank {
    std::unique_ptr<SwitchAgreement> agreement;
    std::int64_t submitted = 0, contributed = 0;
    std::string runs;                ///< running payload; initially "initial"
    std::vector<std::string> steps;  ///< payload of each step
    std::set<std::string> accepted{"initial"};
    std::optional<ProfileOrder> heard;
    /// Profiles announced: ballot, and number of steps submitted then.
    std::vector<std::pair<std::int64_t, ProfileOrder>> profiles;
  };

  explicit Job(int world_size, std::uint64_t seed = 0, bool refuses = false) : ranks_(world_size) {
    for (int r = 0; r < world_size; ++r) {
      Rank& rank = ranks_[r];
      rank.runs = "initial";
      const auto accept = [&rank, refuses, r, seed](const std::string& payload) -> Result<void> {
        const auto hash = std::hash<std::string>()(payload) ^ (seed + static_cast<unsigned>(r));
        if (refuses && hash % 8 == 0) return failure(ErrorCode::invalid_argument, "not here");
        rank.accepted.insert(payload);
        return {};
      };
      rank.agreement = std::make_unique<SwitchAgreement>(r, world_size, accept);
    }
  }

  SwitchAgreement& zero() { return *ranks_[0].agreement; }
  std::vector<Rank>& ranks() { return ranks_; }

  bool submit(Rank& rank) {
    if (rank.submitted > rank.agreement->ballots() + 1) return false;
    if (const auto due = rank.agreement->due(rank.submitted)) {
      rank.runs = due->id == 0 ? "initial" : due->payload;
    }
    rank.steps.push_back(rank.runs);
    ++rank.submitted;
    return true;
  }

  bool contribute(Rank& rank) {
    if (rank.contributed == rank.submitted) return false;
    if (rank.contributed > rank.agreement->ballots()) return false;
    std::vector<float> ballot(rank.agreement->slots());
    rank.agreement->contribute(ballot);
    auto& [sum, ranks] = sums_[rank.contributed++];
    sum.resize(ballot.size());
    for (std::size_t i = 0; i < ballot.size(); ++i) sum[i] += ballot[i];
    if (++ranks == ranks_.size() && spoil) spoil(sum);
    return true;
  }

  bool tally(Rank& rank) {
    const auto ballot = rank.agreement->ballots();
    if (ballot == rank.contributed || sums_[ballot].second < ranks_.size()) return false;
    rank.agreement->tally(sums_[ballot].first);
    if (rank.agreement->profile() != rank.heard) {
      rank.heard = rank.agreement->profile();
      rank.profiles.emplace_back(ballot, *rank.heard);
      EXPECT_GT(rank.heard->first_step, rank.submitted) << "it has begun, or is about to";
    }
    return true;
  }

  /// Runs one step of all ranks, one rank after the other.
  void step() {
    for (Rank& rank : ranks_) submit(rank), contribute(rank);
    for (Rank& rank : ranks_) tally(rank);
  }

  std::function<void(std::vector<float>&)> spoil;

 private:
  std::vector<Rank> ranks_;
  std::map<std::int64_t, std::pair<std::vector<float>, std::size_t>> sums_;
};

void spoil_sometimes(std::mt19937_64& random, std::vector<float>& sum) {
  if (random() % 10 > 0) return;
  const float values[] = {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(),
                          0.5f,
                          -1.0f,
                          1e9f,
                          70'000.0f};
  sum[random() % (random() % 2 ? sum.size() : 6)] = values[random() % 6];
}

/// The main invariant, over random jobs: no step runs with two configurations, and none runs with
/// one that a rank did not accept.
TEST(SwitchAgreement, NoStepEverRunsWithTwoConfigurations) {
  std::size_t switches = 0, refusals = 0, replaced = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Job job(1 + static_cast<int>(seed % 5), seed, seed % 3 == 0);
    if (seed % 4 == 1) job.spoil = [&](auto& sum) { spoil_sometimes(random, sum); };
    std::vector<int> ids{0};
    std::string newest;
    for (int turn = 0; turn < 1500; ++turn) {
      auto& rank = job.ranks()[random() % job.ranks().size()];
      if (const auto action = random() % 3; action == 0) {
        job.submit(rank);
      } else {
        action == 1 ? job.contribute(rank) : job.tally(rank);
      }
      SwitchAgreement& zero = job.zero();
      if (zero.standing() == Standing::agreed) {
        const auto& [id, payload] =
            zero.running().id == ids.back() ? zero.running() : *zero.other();
        EXPECT_EQ(id, ids.back());
        EXPECT_EQ(payload, newest);
      }
      refusals += zero.standing() == Standing::refused;
      if (random() % 40 == 0) {
        replaced += zero.standing() == Standing::undecided;
        newest = random_payload(random);
        ids.push_back(zero.propose(newest));
      }
      if (random() % 30 == 0)
        zero.select(ids[ids.size() - 1 - random() % std::min<std::size_t>(ids.size(), 3)]);
      if (random() % 200 == 0) zero.withdraw();
    }
    const auto& of_zero = job.ranks()[0].steps;
    for (std::size_t s = 1; s < of_zero.size(); ++s) switches += of_zero[s] != of_zero[s - 1];
    for (const auto& rank : job.ranks()) {
      for (std::size_t s = 0; s < std::min(rank.steps.size(), of_zero.size()); ++s) {
        ASSERT_EQ(rank.steps[s], of_zero[s]) << "step " << s;
        for (const auto& other : job.ranks()) ASSERT_TRUE(other.accepted.contains(rank.steps[s]));
      }
    }
  }
  EXPECT_GT(switches, 1000u);
  EXPECT_GT(refusals, 100u);
  EXPECT_GT(replaced, 100u);
}

/// Random jobs: all ranks learn of the same profiles after the same ballots, and no rank learns of
/// a step that it has already begun (Job::tally).
TEST(SwitchAgreement, AllRanksHearOfAProfileInTime) {
  std::size_t heard = 0, lost = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Job job(1 + static_cast<int>(seed % 5), seed);
    if (seed % 2 == 1) job.spoil = [&](auto& sum) { spoil_sometimes(random, sum); };
    std::vector<ProfileOrder> ordered;
    for (int turn = 0; turn < 1500; ++turn) {
      auto& rank = job.ranks()[random() % job.ranks().size()];
      if (const auto action = random() % 3; action == 0) {
        job.submit(rank);
      } else {
        action == 1 ? job.contribute(rank) : job.tally(rank);
      }
      const auto next = job.zero().ballots();
      if (random() % 40 > 0 || (!ordered.empty() && ordered.back().first_step >= next)) continue;
      ordered.push_back({next + 4 + static_cast<std::int64_t>(random() % 20),
                         1 + static_cast<int>(random() % SwitchAgreement::kMaxProfiledSteps)});
      job.zero().order_profile(ordered.back().first_step, ordered.back().steps);
    }
    const auto& of_zero = job.ranks()[0].profiles;
    heard += of_zero.size();
    for (const auto& order : ordered) {
      if (order.first_step >= job.zero().ballots()) continue;
      lost += std::ranges::none_of(of_zero, [&](const auto& seen) { return seen.second == order; });
    }
    for (const auto& [ballot, order] : of_zero) {
      // A corrupted number that happens to be valid cannot be distinguished from an order.
      const bool is_forged = seed % 2 == 1 && order.first_step - ballot == 70'000;
      EXPECT_EQ(std::ranges::count(ordered, order), is_forged ? 0 : 1);
      EXPECT_GE(order.first_step, ballot + SwitchAgreement::kFewestStepsAhead);
    }
    for (const auto& rank : job.ranks()) {
      const auto tallied = rank.agreement->ballots();
      const auto known = std::ranges::count_if(
          of_zero, [&](const auto& profile) { return profile.first < tallied; });
      const auto both = std::min(known, std::ssize(rank.profiles));
      EXPECT_TRUE(std::equal(of_zero.begin(), of_zero.begin() + both, rank.profiles.begin()));
      if (tallied <= job.zero().ballots()) {
        EXPECT_EQ(std::ssize(rank.profiles), known);
      }
    }
  }
  EXPECT_GT(heard, 500u);
  EXPECT_LT(lost, heard / 10) << "orders are repeated";
}

TEST(SwitchAgreement, StepsOfProfilesAreExactHoweverLongTheJobHasRun) {
  Job job(2);
  for (int i = 0; i < 50; ++i) job.step();
  const ProfileOrder order{50 + SwitchAgreement::kMaxId, SwitchAgreement::kMaxProfiledSteps};
  job.zero().order_profile(order.first_step, order.steps);
  for (int i = 0; i < 7; ++i) job.step();
  for (const auto& rank : job.ranks()) EXPECT_EQ(rank.agreement->profile(), order);
}

TEST(SwitchAgreement, AnOrderToProfileDelaysNoSwitch) {
  for (int ahead = 4; ahead < 12; ++ahead) {
    Job job(2);
    job.zero().order_profile(ahead, 1);
    const int id = job.zero().propose(std::string(3000, 'x'));
    for (int i = 0; i < 13; ++i) job.step();
    EXPECT_EQ(job.zero().standing(), Standing::agreed) << ahead;
    job.zero().select(id);
    for (int i = 0; i < 3; ++i) job.step();
    EXPECT_EQ(job.ranks()[1].agreement->running().id, id);
  }
}

TEST(SwitchAgreement, GarbageOrdersNoProfile) {
  constexpr std::size_t kAhead = 4, kSteps = 5;  // fields of a ballot
  const float no_number = std::numeric_limits<float>::quiet_NaN();
  const std::pair<float, float> wrong[] = {{2, 10},     {0, 10},   {10, 0},        {10.5f, 10},
                                           {10, 1e5f},  {1e9f, 3}, {no_number, 1}, {-4, 10},
                                           {10, 0.25f}, {10, -1},  {10, no_number}};
  for (const auto& [ahead, steps] : wrong) {
    SwitchAgreement zero(0, 1, [](const auto&) { return Result<void>(); });
    std::vector<float> ballot(zero.slots());
    zero.contribute(ballot);
    ballot[kAhead] = ahead;
    ballot[kSteps] = steps;
    zero.tally(ballot);
    EXPECT_FALSE(zero.profile()) << ahead << " " << steps;
    zero.contribute(ballot);
    ballot[kAhead] = 10;
    ballot[kSteps] = 7;
    zero.tally(ballot);
    EXPECT_EQ(zero.profile(), (ProfileOrder{11, 7}));
  }
}

TEST(SwitchAgreement, TakesAsManyStepsAsItSays) {
  for (const std::size_t bytes : {0u, 1u, 255u, 256u, 257u, 3000u, 65536u}) {
    for (const int world_size : {1, 4}) {
      SCOPED_TRACE(bytes);
      Job job(world_size);
      job.step();  // so that the proposal is made before ballot 1
      const std::string payload(bytes, '\xff');
      const int id = job.zero().propose(payload);
      const auto chunks = std::max<std::size_t>(1, (bytes + 255) / 256);
      for (std::size_t i = 0; i < chunks; ++i) job.step();
      EXPECT_EQ(job.zero().standing(), Standing::undecided);
      job.step();
      EXPECT_EQ(job.zero().standing(), Standing::agreed);
      job.zero().select(id);
      for (int i = 0; i < 3; ++i) job.step();
      for (const auto& rank : job.ranks()) {
        EXPECT_EQ(rank.steps[rank.steps.size() - 2], "initial");
        EXPECT_EQ(rank.steps.back(), payload);
      }
    }
  }
}

TEST(SwitchAgreement, GoesBackAndForthBetweenTwo) {
  Job job(3);
  const int id = job.zero().propose("new");
  for (int i = 0; i < 2; ++i) job.step();
  std::string history;
  for (int i = 0; i < 12; ++i) {
    job.zero().select(i / 3 % 2 == 0 ? id : 0);
    job.step();
    history += job.ranks()[2].runs == "new" ? 'n' : 'i';
  }
  EXPECT_EQ(history, "iinnniiinnni");
}

TEST(SwitchAgreement, AWithdrawnProposalVanishesForAll) {
  Job job(2);
  job.zero().propose(std::string(2000, 'x'));
  job.step();
  job.zero().withdraw();
  for (int i = 0; i < 20; ++i) job.step();
  EXPECT_EQ(job.zero().standing(), Standing::none);
  for (const auto& rank : job.ranks()) {
    EXPECT_FALSE(rank.agreement->other());
    EXPECT_EQ(rank.accepted.size(), 1u);
  }
}

TEST(SwitchAgreement, WhatWasReplacedIsNotAgreedAnyMore) {
  Job job(2);
  job.zero().propose("a");
  job.step();
  job.zero().propose("b");
  job.step();
  EXPECT_FALSE(job.zero().other());
  job.step();
  EXPECT_EQ(job.zero().other()->payload, "b");
}

TEST(SwitchAgreement, NeedsTheAnswerOfEveryRank) {
  SwitchAgreement zero(0, 2, [](const auto&) { return Result<void>(); });
  const int id = zero.propose("x");
  std::vector<float> ballot(zero.slots());
  for (int i = 0; i < 5; ++i) zero.contribute(ballot), zero.tally(ballot);
  EXPECT_EQ(zero.standing(), Standing::undecided) << "rank 1 has said nothing";
  zero.contribute(ballot);
  ballot.back() = static_cast<float>(id);
  zero.tally(ballot);
  EXPECT_EQ(zero.standing(), Standing::agreed);
}

TEST(SwitchAgreement, SaysWhichRankRefuses) {
  SwitchAgreement zero(0, 2, [](const auto&) { return Result<void>(); });
  SwitchAgreement one(
      1, 2, [](const auto&) -> Result<void> { return failure(ErrorCode::invalid_argument, "no"); });
  zero.propose("x");
  std::vector<float> a(zero.slots()), b(zero.slots());
  for (int ballot = 0; ballot < 2; ++ballot) {
    zero.contribute(a), one.contribute(b);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    zero.tally(a), one.tally(a);
  }
  EXPECT_EQ(zero.standing(), Standing::refused);
  EXPECT_EQ(zero.refused_by(), 1);
  EXPECT_FALSE(one.other());
}

}  // namespace
}  // namespace hocket
