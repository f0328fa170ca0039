#include "plugins/nccl/communicator/rank_agreement.h"

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <chrono>
#include <map>
#include <random>

#include "plugins/nccl/agreement/call_digest.h"
#include "tests/plugins/nccl/communicator/memory_links.h"

namespace hocket::nccl {
namespace {

RankAgreementOptions options_of(std::uint32_t rank, std::uint32_t ranks) {
  RankAgreementOptions options;
  options.member.rank = rank;
  options.member.ranks = ranks;
  options.member.comm_id = 5;
  options.member.isolation_ns = 3'000'000'000;
  options.tick_ns = 20'000'000;
  options.now_ns = steady_ns;
  return options;
}

/// Ranks as threads that make calls, each followed by a barrier as a collective is, until told to
/// stop, and record which setting was in force at each call.
class Job {
 public:
  explicit Job(std::uint32_t ranks) : network(ranks), settings(ranks), barrier_(ranks) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      agreements.push_back(
          std::make_unique<RankAgreement>(options_of(rank, ranks), network.links_of(rank)));
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      threads_.emplace_back([this, rank] { call(rank); });
  }
  ~Job() { end(); }

  void end() {
    stops_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    // Rank 0 last, as its arbiter is needed by the others.
    while (!agreements.empty()) agreements.pop_back();
  }

  bool wait_until(const std::function<bool()>& done) {
    const std::int64_t end_ns = steady_ns() + 20'000'000'000;
    while (!done()) {
      if (steady_ns() > end_ns) return false;
      std::this_thread::yield();
    }
    return true;
  }

  /// Proposes once it is possible; returns the version, 0 after a long time.
  std::uint64_t propose(const Schedule& schedule) {
    Proposed proposed;
    wait_until([&] { return (proposed = agreements[0]->propose(schedule)).version != 0; });
    return proposed.version;
  }
  Outcome outcome_of(std::uint64_t version) {
    wait_until([&] {
      const Outcome outcome = agreements[0]->outcome();
      return outcome.version == version && !outcome.is_pending;
    });
    return agreements[0]->outcome();
  }

  /// Proposes until a proposal is not refused at its first gate, as it is where ranks are late on a
  /// busy machine.
  Outcome outcome_of(const Schedule& schedule) {
    Outcome outcome;
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t version = propose(schedule);
      EXPECT_GT(version, 0u);
      outcome = outcome_of(version);
      if (outcome.gates_gone > 0) break;
    }
    return outcome;
  }

  MemoryNetwork network;
  std::vector<std::unique_ptr<RankAgreement>> agreements;
  std::vector<std::vector<std::string>> settings;   // by rank and call; to be read after end()
  std::atomic<std::uint64_t> odd_call{UINT64_MAX};  ///< that rank 1 makes differently

 private:
  void call(std::uint32_t rank) {
    std::uint64_t digest = call_digest::kEmpty;
    std::string setting;
    for (std::uint64_t call = 0; !ends_; ++call) {
      const bool is_odd = rank == 1 && call >= odd_call;
      digest = call_digest::add(digest, 4, is_odd ? 1 : 1024, 1);
      if (const SettingInForce* changed = agreements[rank]->begin_call(digest))
        setting = changed->payload;
      settings[rank].push_back(setting);
      barrier_.arrive_and_wait();
      if (rank == 0) ends_ = stops_.load();
      barrier_.arrive_and_wait();
    }
  }

  std::barrier<> barrier_;
  std::atomic<bool> stops_{false};
  bool ends_ = false;  // written by rank 0 between two barriers
  std::vector<std::thread> threads_;
};

Schedule to(const std::string& payload) {
  return {.payloads = {payload}, .entries = {{.after_calls = 0, .payload = 0}}};
}

TEST(RankAgreement, AllRanksChangeAtTheSameCall) {
  for (const std::uint32_t ranks : {2u, 5u}) {
    Job job(ranks);
    for (const char* payload : {"a", "b", "c"})
      EXPECT_TRUE(job.outcome_of(to(payload)).has_gone_through());
    job.end();
    for (std::uint32_t rank = 1; rank < ranks; ++rank)
      EXPECT_EQ(job.settings[rank], job.settings[0]);
    EXPECT_EQ(job.settings[0].back(), "c");
  }
}

TEST(RankAgreement, AScheduleReturnsByItself) {
  Job job(3);
  const Outcome outcome =
      job.outcome_of(Schedule{.payloads = {"tried", "present"},
                              .entries = {{.after_calls = 0, .payload = 0},
                                          {.after_calls = 50, .payload = 1, .is_return = true}}});
  EXPECT_GT(outcome.gates_gone, 0u);
  job.end();
  // Ranks that are late at the return gate of a busy machine stay at what they tried, together.
  if (outcome.has_gone_through()) {
    // One whose outcome was not there in time, so that another one followed, may have gone, too.
    const auto tried = std::ranges::count(job.settings[2], "tried");
    EXPECT_GT(tried, 0);
    EXPECT_EQ(tried % 50, 0);
    EXPECT_EQ(job.settings[2].back(), "present");
  }
  EXPECT_EQ(job.settings[2], job.settings[0]);
}

TEST(RankAgreement, LinksThatAreCutNeverMakeTheRanksDiffer) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Job job(4);
  int gone = 0;
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t version = job.propose(to("round " + std::to_string(round)));
    ASSERT_GT(version, 0u);
    const std::uint32_t rank = 1 + random() % 3;
    const bool cuts = random() % 2 == 0;
    const std::uint64_t until = job.agreements[0]->count() + random() % 2000;
    job.wait_until([&] {
      return job.agreements[0]->count() >= until || !job.agreements[0]->outcome().is_pending;
    });
    if (cuts) job.network.cut(rank);
    const Outcome outcome = job.outcome_of(version);
    gone += outcome.has_gone_through();
    if (cuts) job.network.join(rank);
  }
  EXPECT_GT(gone, 0);
  job.end();
  for (int rank = 1; rank < 4; ++rank)
    EXPECT_EQ(job.settings[static_cast<std::size_t>(rank)], job.settings[0]);
}

TEST(RankAgreement, DifferentCallsFreezeThePresentSetting) {
  Job job(2);
  EXPECT_TRUE(job.outcome_of(to("a")).has_gone_through());
  job.odd_call = job.agreements[0]->count() + 10;
  job.wait_until([&] { return job.agreements[0]->count() > job.odd_call + 10; });
  Outcome outcome;
  for (int i = 0; i < 20 && outcome.stayed != StayReason::digests_differ; ++i)
    outcome = job.outcome_of(job.propose(to("b")));
  EXPECT_EQ(outcome.stayed, StayReason::digests_differ);
  EXPECT_NE(job.agreements[0]->arbiter_frozen(), "");
  job.end();
  EXPECT_EQ(job.settings[0].back(), "a");
  EXPECT_EQ(job.settings[1].back(), "a");
}

/// Waits for a message of that type, which the test then plays rank 1 with.
template <class Wanted>
Wanted next(Links& links) {
  while (true) {
    for (const LinkEvent& event : links.wait(20'000'000'000)) {
      if (const auto* wanted = std::get_if<Wanted>(&event.message);
          wanted != nullptr && event.kind == LinkEvent::Kind::message)
        return *wanted;
    }
  }
}

TEST(RankAgreement, TheVerdictOfALastArrivalIsSentAtOnce) {
  MemoryNetwork network(2);
  RankAgreementOptions options = options_of(0, 2);
  // No tick would send it.
  options.tick_ns = 3'600'000'000'000;
  RankAgreement first(options, network.links_of(0));
  const auto second = network.links_of(1);
  second->send(0, Hello{.rank = 1, .ranks = 2, .comm_id = 5});
  second->send(0, Pong{next<Ping>(*second).number, 0});
  Proposed proposed;
  while ((proposed = first.propose(to("a"))).version == 0) std::this_thread::yield();
  const Proposal proposal = next<Proposal>(*second);
  const std::uint64_t gate = proposal.gates[0].call;
  second->send(0, Arrived{proposal.version, 0, gate, gate});
  // When these have come, the arrival has, too, and no tick looks at calls that have just begun.
  second->send(0, Statistics{"any"});
  while (first.take_statistics().empty()) std::this_thread::yield();
  for (std::uint64_t call = 0; call <= gate; ++call) first.begin_call(call);
  EXPECT_EQ(next<Verdict>(*second), (Verdict{proposal.version, 0, true}));
}

TEST(RankAgreement, ClosingEndsAWaitAtAGate) {
  MemoryNetwork network(2);
  RankAgreement first(options_of(0, 2), network.links_of(0));
  RankAgreement second(options_of(1, 2), network.links_of(1));
  Proposed proposed;
  while ((proposed = first.propose(to("a"))).version == 0) std::this_thread::yield();
  std::atomic<bool> returned{false};
  std::thread caller([&] {
    for (std::uint64_t i = 0; i <= proposed.first_call; ++i) second.begin_call(i);
    returned = true;
  });
  while (second.count() <= proposed.first_call) std::this_thread::yield();
  second.close();
  caller.join();
  EXPECT_TRUE(returned);
}

TEST(RankAgreement, StatisticsReachRankZero) {
  MemoryNetwork network(2);
  RankAgreement first(options_of(0, 2), network.links_of(0));
  RankAgreementOptions options = options_of(1, 2);
  std::atomic<int> sent{0};
  options.next_statistics = [&] { return sent++ < 3 ? "bytes " + std::to_string(sent) : ""; };
  RankAgreement second(options, network.links_of(1));
  std::vector<std::string> received;
  while (received.empty()) {
    for (auto& each : first.take_statistics()) received.push_back(each.bytes);
    // Messages from before the link are lost.
    if (sent > 3 && received.empty()) sent = 0;
    std::this_thread::yield();
  }
  EXPECT_EQ(received[0].substr(0, 6), "bytes ");
}

TEST(RankAgreement, EachRankIntroducesItselfOverEachLink) {
  MemoryNetwork network(2);
  std::array<RankAgreementOptions, 2> options = {options_of(0, 2), options_of(1, 2)};
  for (RankAgreementOptions& each : options)
    each.introduction = "rank " + std::to_string(each.member.rank);
  RankAgreement first(options[0], network.links_of(0));
  RankAgreement second(options[1], network.links_of(1));
  std::map<std::string, int> received;
  const auto receive_until = [&](const std::function<bool()>& done) {
    while (!done()) {
      for (auto& each : first.take_statistics())
        received[std::to_string(each.rank) + ": " + each.bytes]++;
      std::this_thread::yield();
    }
  };
  receive_until([&] { return received.size() == 2; });
  network.cut(1);
  network.join(1);
  receive_until([&] { return received["1: rank 1"] >= 2; });
  EXPECT_EQ(received["0: rank 0"], 1);
  EXPECT_EQ(received.size(), 2u);
}

}  // namespace
}  // namespace hocket::nccl
