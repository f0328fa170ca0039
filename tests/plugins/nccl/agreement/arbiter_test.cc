#include "plugins/nccl/agreement/arbiter.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hocket::nccl {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// An arbiter of three ranks, which have joined with 100 calls.
class ArbiterTest : public ::testing::Test {
 protected:
  static ArbiterOptions options() {
    ArbiterOptions options;
    options.ranks = 3;
    options.comm_id = 7;
    options.gate_timeout_ns = 1000 * kMs;
    options.ping_interval_ns = 100 * kMs;
    options.fresh_ns = 500 * kMs;
    options.silent_ns = 300 * kMs;
    options.margin_calls = 8;
    options.max_margin_calls = 16;
    options.lead_ns = 0;
    options.max_step_ns = 100 * kMs;
    return options;
  }

  void SetUp() override {
    for (std::uint32_t rank = 0; rank < 3; ++rank) join(rank);
    pass(100 * kMs);
    arbiter_.take_actions();
  }

  void join(std::uint32_t rank) { receive(rank, Hello{rank, 3, 7, kProtocolVersion, 100, 0}); }
  void receive(std::uint32_t from, const Message& message) {
    arbiter_.receive(from, message, now_ns_);
  }
  void lose(std::uint32_t rank) { arbiter_.link_lost(rank, now_ns_); }
  void arrive(std::uint32_t rank, std::uint32_t gate, std::uint64_t digest = 1) {
    receive(rank, Arrived{arbiter_.outcome().version, gate, first_call_ + 10 * gate, digest});
  }

  /// Lets time pass. Ranks that do not answer pings are `silent`.
  void pass(std::int64_t time_ns) {
    for (const std::int64_t end_ns = now_ns_ + time_ns; now_ns_ < end_ns;) {
      now_ns_ += 50 * kMs;
      arbiter_.tick(now_ns_);
      for (Send& send : arbiter_.take_actions()) {
        if (const auto* ping = std::get_if<Ping>(&send.message)) {
          for (std::uint32_t rank = 0; rank < 3; ++rank) {
            if (rank != silent_) receive(rank, Pong{ping->number, count_});
          }
        } else {
          actions_.push_back(std::move(send));
        }
      }
    }
  }

  /// Proposes the window of ten calls, from call 108 on if it is the first.
  void propose_window() {
    const Proposed proposed = arbiter_.propose(window_, now_ns_);
    ASSERT_EQ(proposed.why_not, "");
    first_call_ = proposed.first_call;
    arbiter_.take_actions();
  }

  /// Returns the verdicts sent to all since the last call.
  std::vector<bool> verdicts() {
    for (Send& send : arbiter_.take_actions()) actions_.push_back(std::move(send));
    std::vector<bool> found;
    for (const Send& send : std::exchange(actions_, {})) {
      const auto* verdict = std::get_if<Verdict>(&send.message);
      if (verdict == nullptr || send.to != kEveryone) continue;
      EXPECT_EQ(verdict->version, arbiter_.outcome().version);
      found.push_back(verdict->go);
    }
    return found;
  }

  void expect_stayed(StayReason reason, std::uint32_t rank) {
    EXPECT_EQ(verdicts(), std::vector<bool>{false});
    EXPECT_FALSE(arbiter_.outcome().is_pending);
    EXPECT_EQ(text_of(arbiter_.outcome().stayed), text_of(reason));
    EXPECT_EQ(arbiter_.outcome().rank, rank);
  }

  /// Proposes the window and lets its first gate go.
  void enter_window() {
    propose_window();
    for (std::uint32_t rank = 0; rank < 3; ++rank) arrive(rank, 0);
    ASSERT_EQ(verdicts(), std::vector<bool>{true});
  }

  Arbiter arbiter_{options()};
  std::int64_t now_ns_ = 0;
  std::uint64_t count_ = 100;
  std::uint64_t first_call_ = 108;
  std::uint32_t silent_ = 99;
  std::vector<Send> actions_;
  const Schedule window_{{"candidate", "present"}, {{0, 0, false}, {10, 1, true}}};
};

TEST_F(ArbiterTest, ProposesOnlyWhenAllHaveJoinedAndAnsweredLately) {
  EXPECT_EQ(arbiter_.why_not(now_ns_), "");
  now_ns_ += 501 * kMs;
  EXPECT_EQ(arbiter_.why_not(now_ns_), "") << "the process did not run";
  silent_ = 1;
  pass(600 * kMs);
  EXPECT_EQ(arbiter_.why_not(now_ns_), "a rank has not answered lately");
  EXPECT_EQ(arbiter_.propose(window_, now_ns_).version, 0u);
  silent_ = 99;
  pass(200 * kMs);
  EXPECT_EQ(arbiter_.why_not(now_ns_), "");
  lose(2);
  EXPECT_EQ(arbiter_.why_not(now_ns_), "a rank has no link");
  join(2);
  EXPECT_EQ(arbiter_.why_not(now_ns_), "a rank has not answered lately");
  pass(200 * kMs);
  EXPECT_EQ(arbiter_.why_not(now_ns_), "");
  receive(1, Goodbye{100});
  EXPECT_EQ(arbiter_.why_not(now_ns_), "a rank ends the communicator");
}

TEST_F(ArbiterTest, AProposalGoesToEveryoneWithTheMarginAfterTheLargestCount) {
  receive(1, Pong{1, 140});
  const Proposed proposed = arbiter_.propose(window_, now_ns_);
  EXPECT_EQ(proposed.version, 1u);
  EXPECT_EQ(proposed.first_call, 148u);
  const auto actions = arbiter_.take_actions();
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0].to, kEveryone);
  const Proposal expected{1, window_.payloads, {{148, 0, false}, {158, 1, true}}};
  EXPECT_TRUE(actions[0].message == Message(expected));
  EXPECT_EQ(arbiter_.why_not(now_ns_), "a proposal is undecided");
}

TEST_F(ArbiterTest, AScheduleWithAPeriodBeginsWithAnIteration) {
  // The earliest is call 108.
  for (const auto& [boundary, period, first] :
       std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>>{
           {100, 7, 114}, {101, 7, 108}, {108, 7, 108}, {120, 7, 120}, {0, 1, 108}}) {
    Schedule schedule = window_;
    schedule.boundary_call = boundary;
    schedule.period_calls = period;
    const Proposed proposed = arbiter_.propose(schedule, now_ns_);
    EXPECT_EQ(proposed.first_call, first) << boundary;
    arbiter_.withdraw(now_ns_);
  }
}

TEST_F(ArbiterTest, TheRateOfTheCallsMovesTheFirstGate) {
  auto with_lead = options();
  with_lead.lead_ns = 200 * kMs;
  arbiter_ = Arbiter(with_lead);
  count_ = 100;
  for (std::uint32_t rank = 0; rank < 3; ++rank) join(rank);
  pass(100 * kMs);
  // 50 calls in 100 ms, of which the arbiter knew 50 ms ago.
  count_ = 150;
  pass(100 * kMs);
  EXPECT_EQ(arbiter_.propose(window_, now_ns_).first_call, 150u + 25 + 100 + 8);
}

TEST_F(ArbiterTest, AnInvalidScheduleIsNotProposed) {
  EXPECT_EQ(arbiter_.propose({{"a"}, {{0, 1, false}}}, now_ns_).why_not, "a gate has no payload");
  EXPECT_EQ(arbiter_.propose({{"a"}, {}}, now_ns_).why_not, "a proposal has no gate");
  EXPECT_EQ(arbiter_.propose({{"a"}, {{UINT64_MAX, 0, false}}}, now_ns_).why_not,
            "a gate's call is too large");
  EXPECT_TRUE(arbiter_.can_propose(now_ns_));
}

TEST_F(ArbiterTest, GatesGoOnceAllHaveArrived) {
  propose_window();
  arrive(0, 0);
  arrive(1, 0);
  EXPECT_TRUE(verdicts().empty());
  EXPECT_TRUE(arbiter_.outcome().is_pending);
  arrive(2, 0);
  EXPECT_EQ(verdicts(), std::vector<bool>{true});
  EXPECT_EQ(arbiter_.outcome().gates_gone, 1u);
  for (std::uint32_t rank = 0; rank < 3; ++rank) arrive(rank, 1, 2);
  EXPECT_EQ(verdicts(), std::vector<bool>{true});
  EXPECT_TRUE(arbiter_.outcome().has_gone_through());
  EXPECT_TRUE(arbiter_.can_propose(now_ns_));
}

TEST_F(ArbiterTest, DifferentDigestsStayAndFreeze) {
  propose_window();
  arrive(0, 0, 1);
  arrive(2, 0, 2);
  expect_stayed(StayReason::digests_differ, 2);
  EXPECT_EQ(arbiter_.outcome().detail, "unlike those of rank 0");
  EXPECT_EQ(arbiter_.frozen(), "ranks 0 and 2 have made different calls");
  EXPECT_EQ(arbiter_.why_not(now_ns_), "the communicator is frozen");
}

TEST_F(ArbiterTest, DifferentDigestsStayAtAReturnGate) {
  enter_window();
  arrive(0, 1, 1);
  arrive(1, 1, 2);
  expect_stayed(StayReason::digests_differ, 1);
  EXPECT_TRUE(arbiter_.outcome().at_return);
}

TEST_F(ArbiterTest, ARefusalStays) {
  propose_window();
  receive(1, Refused{1, "no such algorithm"});
  expect_stayed(StayReason::refused, 1);
  EXPECT_EQ(arbiter_.outcome().detail, "no such algorithm");
  EXPECT_TRUE(arbiter_.can_propose(now_ns_));
}

TEST_F(ArbiterTest, APassedGateStaysAndDoublesTheMarginWithinItsBound) {
  for (const std::uint64_t margin : {16u, 16u}) {
    const std::uint64_t version = arbiter_.propose(window_, now_ns_).version;
    receive(2, Passed{version, 110});
    expect_stayed(StayReason::passed, 2);
    EXPECT_EQ(arbiter_.margin_calls(), margin);
  }
  EXPECT_EQ(arbiter_.propose(window_, now_ns_).first_call, 126u);
}

TEST_F(ArbiterTest, ALateArrivalLearnsTheVerdict) {
  propose_window();
  receive(2, Passed{1, 110});
  verdicts();
  arrive(2, 0);
  const auto actions = arbiter_.take_actions();
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0].to, 2u);
  EXPECT_TRUE(actions[0].message == Message(Verdict{1, 0, false}));
}

TEST_F(ArbiterTest, RefusalsOfOtherProposalsAndAfterTheFirstGateDoNotCount) {
  propose_window();
  receive(1, Refused{7, ""});
  receive(1, Passed{7, 200});
  EXPECT_TRUE(verdicts().empty());
  for (std::uint32_t rank = 0; rank < 3; ++rank) arrive(rank, 0);
  EXPECT_EQ(verdicts(), std::vector<bool>{true});
  receive(1, Passed{1, 109});
  EXPECT_TRUE(verdicts().empty());
}

TEST_F(ArbiterTest, ALostLinkStaysAtAForwardGate) {
  propose_window();
  arrive(1, 0);
  lose(1);
  expect_stayed(StayReason::link_lost, 1);
}

TEST_F(ArbiterTest, ANewLinkCountsAsTheLossOfTheOldOne) {
  propose_window();
  join(1);
  EXPECT_EQ(text_of(arbiter_.outcome().stayed), text_of(StayReason::link_lost));
}

TEST_F(ArbiterTest, AReturnGateGoesAfterTheTimeLimitWithoutALostRank) {
  enter_window();
  lose(1);
  arrive(0, 1);
  arrive(2, 1);
  pass(950 * kMs);
  EXPECT_TRUE(verdicts().empty());
  pass(50 * kMs);
  EXPECT_EQ(verdicts(), std::vector<bool>{true});
  // The lost rank hears of it on its next link.
  join(1);
  std::vector<Message> repeated;
  for (const Send& send : arbiter_.take_actions()) {
    EXPECT_EQ(send.to, 1u);
    repeated.push_back(send.message);
  }
  EXPECT_TRUE(repeated == std::vector<Message>({Verdict{1, 0, true}, Verdict{1, 1, true}}));
}

TEST_F(ArbiterTest, AForwardedQuestionCountsAsAnArrival) {
  enter_window();
  lose(1);
  arrive(0, 1);
  arrive(2, 1);
  receive(2, Ask{1, {1, 1, 118, 1}});
  EXPECT_EQ(verdicts(), std::vector<bool>{true});
}

TEST_F(ArbiterTest, AForwardedQuestionShowsDifferentCalls) {
  enter_window();
  lose(1);
  receive(2, Ask{1, {1, 1, 118, 9}});
  arrive(0, 1, 1);
  expect_stayed(StayReason::digests_differ, 0);
}

TEST_F(ArbiterTest, AReturnGateGoesWithoutASilentRank) {
  enter_window();
  silent_ = 2;
  arrive(0, 1);
  arrive(1, 1);
  pass(1400 * kMs);
  EXPECT_EQ(verdicts(), std::vector<bool>{true});
}

TEST_F(ArbiterTest, ARankThatFallsSilentWithinTheLimitIsWaitedFor) {
  enter_window();
  arrive(0, 1);
  arrive(1, 1);
  pass(950 * kMs);
  silent_ = 2;
  pass(250 * kMs);
  EXPECT_TRUE(verdicts().empty());
  pass(150 * kMs);
  EXPECT_EQ(verdicts(), std::vector<bool>{true});
}

TEST_F(ArbiterTest, AReturnGateStaysIfALateRankAnswers) {
  enter_window();
  arrive(0, 1);
  arrive(1, 1);
  pass(1100 * kMs);
  expect_stayed(StayReason::timed_out, 2);
  EXPECT_TRUE(arbiter_.outcome().at_return);
  EXPECT_EQ(arbiter_.frozen(), "");
}

TEST_F(ArbiterTest, AStoppedArbiterThinksNobodyLate) {
  propose_window();
  arrive(0, 0);
  now_ns_ += 3600'000 * kMs;
  arbiter_.tick(now_ns_);
  EXPECT_TRUE(verdicts().empty());
}

TEST_F(ArbiterTest, ThreeTimeoutsInARowFreeze) {
  for (int timeout = 1; timeout <= 3; ++timeout) {
    propose_window();
    arrive(0, 0);
    pass(1000 * kMs);
    expect_stayed(StayReason::timed_out, 1);
    EXPECT_EQ(arbiter_.frozen().empty(), timeout < 3);
  }
}

TEST_F(ArbiterTest, AGateThatGoesEndsTheRowOfTimeouts) {
  for (int round = 0; round < 4; ++round) {
    for (int timeout = 0; timeout < 2; ++timeout) {
      propose_window();
      arrive(0, 0);
      pass(1000 * kMs);
      expect_stayed(StayReason::timed_out, 1);
    }
    enter_window();
    for (std::uint32_t rank = 0; rank < 3; ++rank) arrive(rank, 1);
    verdicts();
    EXPECT_EQ(arbiter_.frozen(), "");
  }
}

TEST_F(ArbiterTest, NobodyArrivedIsNoTimeout) {
  propose_window();
  pass(5000 * kMs);
  EXPECT_TRUE(arbiter_.outcome().is_pending);
  arbiter_.withdraw(now_ns_);
  expect_stayed(StayReason::withdrawn, 0);
}

TEST_F(ArbiterTest, AReturnGateCannotBeWithdrawn) {
  enter_window();
  arbiter_.withdraw(now_ns_);
  EXPECT_TRUE(verdicts().empty());
  EXPECT_TRUE(arbiter_.outcome().is_pending);
}

TEST_F(ArbiterTest, GoodbyeStaysAtAForwardGateAndIsNotWaitedForAtAReturnGate) {
  enter_window();
  arrive(0, 1);
  arrive(2, 1);
  receive(1, Goodbye{115});
  EXPECT_EQ(verdicts(), std::vector<bool>{true});
}

TEST_F(ArbiterTest, GoodbyeStaysAtAForwardGate) {
  propose_window();
  receive(1, Goodbye{105});
  expect_stayed(StayReason::goodbye, 1);
}

TEST_F(ArbiterTest, AForwardGateAfterAReturnGateNeedsAllLinks) {
  const Schedule blocks{{"a", "b"}, {{0, 0, false}, {10, 1, true}, {20, 0, false}}};
  ASSERT_EQ(arbiter_.propose(blocks, now_ns_).version, 1u);
  for (std::uint32_t rank = 0; rank < 3; ++rank) arrive(rank, 0);
  lose(1);
  arrive(0, 1);
  arrive(2, 1);
  arbiter_.take_actions();
  receive(2, Ask{1, {1, 1, 118, 1}});
  EXPECT_EQ(verdicts(), (std::vector<bool>{true, false}));
  EXPECT_EQ(text_of(arbiter_.outcome().stayed), text_of(StayReason::link_lost));
  EXPECT_FALSE(arbiter_.outcome().at_return);
}

TEST_F(ArbiterTest, AnAbstentionFreezesAndLetsAWindowEnd) {
  enter_window();
  receive(1, Abstention{"another tuner"});
  EXPECT_EQ(arbiter_.frozen(), "rank 1 takes no part: another tuner");
  for (std::uint32_t rank = 0; rank < 3; ++rank) arrive(rank, 1);
  EXPECT_EQ(verdicts(), std::vector<bool>{true});
  EXPECT_EQ(arbiter_.why_not(now_ns_), "the communicator is frozen");
}

TEST_F(ArbiterTest, AMemberOfAnotherCommunicatorFreezes) {
  const Hello right{1, 3, 7, kProtocolVersion, 100, 0};
  for (int field = 0; field < 4; ++field) {
    Hello wrong = right;
    if (field == 0) wrong.rank = 2;
    if (field == 1) wrong.ranks = 4;
    if (field == 2) wrong.comm_id = 8;
    if (field == 3) wrong.protocol = kProtocolVersion + 1;
    arbiter_ = Arbiter(options());
    receive(1, right);
    EXPECT_EQ(arbiter_.frozen(), "");
    receive(1, wrong);
    EXPECT_NE(arbiter_.frozen(), "") << field;
    EXPECT_FALSE(arbiter_.rank_state(1).has_link);
  }
}

TEST_F(ArbiterTest, ANewLinkHearsOfTheProposalThatItMissed) {
  propose_window();
  receive(1, Refused{1, ""});
  const std::uint64_t version = arbiter_.propose(window_, now_ns_).version;
  receive(1, Refused{version, ""});
  lose(2);
  arbiter_.take_actions();
  receive(2, Hello{2, 3, 7, kProtocolVersion, 100, 1});
  std::vector<Message> repeated;
  for (const Send& send : arbiter_.take_actions()) repeated.push_back(send.message);
  EXPECT_TRUE(repeated == std::vector<Message>({Verdict{1, 0, false}, Verdict{2, 0, false}}));
}

TEST_F(ArbiterTest, StatisticsPassThrough) {
  receive(2, Statistics{"bytes"});
  const auto statistics = arbiter_.take_statistics();
  ASSERT_EQ(statistics.size(), 1u);
  EXPECT_EQ(statistics[0].rank, 2u);
  EXPECT_EQ(statistics[0].bytes, "bytes");
  EXPECT_TRUE(arbiter_.take_statistics().empty());
}

TEST_F(ArbiterTest, MessagesOfStrangersAreIgnored) {
  propose_window();
  lose(1);
  verdicts();
  receive(1, Abstention{"no link"});
  receive(99, Hello{99, 3, 7, kProtocolVersion, 0, 0});
  receive(0, Ask{99, {1, 0, 108, 1}});
  EXPECT_EQ(arbiter_.frozen(), "");
}

}  // namespace
}  // namespace hocket::nccl
