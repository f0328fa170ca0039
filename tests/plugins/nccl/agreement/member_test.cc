#include "plugins/nccl/agreement/member.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace hocket::nccl {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Rank 1 of 3, with a link; what it sends is read by `sent`.
class MemberTest : public ::testing::Test {
 protected:
  static MemberOptions options() {
    MemberOptions options;
    options.rank = 1;
    options.ranks = 3;
    options.comm_id = 7;
    options.ask_interval_ns = 50 * kMs;
    options.isolation_ns = 1000 * kMs;
    options.max_step_ns = 100 * kMs;
    return options;
  }

  void SetUp() override {
    member_.link_up(0, 0);
    member_.take_actions();
  }

  std::vector<Message> sent(std::uint32_t to = 0) {
    std::vector<Message> messages;
    for (Send& send : member_.take_actions()) {
      EXPECT_EQ(send.to, to);
      messages.push_back(std::move(send.message));
    }
    return messages;
  }

  void receive(const Message& message, std::uint64_t count = 0, std::uint32_t from = 0) {
    member_.receive(from, message, count, now_ns_);
  }

  /// Lets time pass in steps of a process that runs.
  void pass(std::int64_t time_ns) {
    for (const std::int64_t end_ns = now_ns_ + time_ns; now_ns_ < end_ns;) {
      now_ns_ += 50 * kMs;
      member_.tick(0, now_ns_);
    }
  }

  std::string in_force() const { return member_.in_force().payload; }

  Member member_{options()};
  std::int64_t now_ns_ = 0;
  /// The window [10, 20) with the candidate, then the present setting.
  const Proposal window_{5, {"candidate", "present"}, {{10, 0, false}, {20, 1, true}}};
};

using Messages = std::vector<Message>;

TEST_F(MemberTest, ANewLinkBeginsWithHello) {
  member_.link_up(3, 0);
  EXPECT_TRUE(sent() == Messages({Hello{1, 3, 7, kProtocolVersion, 3, 0}}));
}

TEST_F(MemberTest, APingIsAnsweredWithTheCount) {
  receive(Ping{4}, 17);
  EXPECT_TRUE(sent() == Messages({Pong{4, 17}}));
}

TEST_F(MemberTest, AWindowPutsTheCandidateInForceAndThePresentAgain) {
  EXPECT_EQ(member_.next_gate(), kNoGate);
  receive(window_);
  EXPECT_EQ(member_.next_gate(), 10u);
  member_.arrive(10, 0xd1, 0);
  EXPECT_TRUE(member_.is_blocked());
  EXPECT_TRUE(sent() == Messages({Arrived{5, 0, 10, 0xd1}}));
  EXPECT_EQ(in_force(), "");
  receive(Verdict{5, 0, true});
  EXPECT_FALSE(member_.is_blocked());
  EXPECT_EQ(in_force(), "candidate");
  EXPECT_EQ(member_.in_force().version, 5u);
  EXPECT_EQ(member_.next_gate(), 20u);
  member_.arrive(20, 0xd2, 0);
  EXPECT_TRUE(sent() == Messages({Arrived{5, 1, 20, 0xd2}}));
  receive(Verdict{5, 1, true});
  EXPECT_FALSE(member_.is_blocked());
  EXPECT_EQ(in_force(), "present");
  EXPECT_EQ(member_.next_gate(), kNoGate);
}

TEST_F(MemberTest, StayCancelsTheRest) {
  receive(window_);
  member_.arrive(10, 1, 0);
  receive(Verdict{5, 0, false});
  EXPECT_FALSE(member_.is_blocked());
  EXPECT_EQ(in_force(), "");
  EXPECT_EQ(member_.next_gate(), kNoGate);
}

TEST_F(MemberTest, StayBeforeTheGateIsReachedCancelsIt) {
  receive(window_);
  receive(Verdict{5, 0, false});
  EXPECT_EQ(member_.next_gate(), kNoGate);
  member_.arrive(10, 1, 0);
  EXPECT_FALSE(member_.is_blocked());
}

TEST_F(MemberTest, AVerdictBeforeTheGateIsReachedWaitsForTheRank) {
  receive(window_);
  member_.arrive(10, 1, 0);
  receive(Verdict{5, 0, true});
  receive(Verdict{5, 1, true});
  EXPECT_EQ(in_force(), "candidate");
  EXPECT_EQ(member_.next_gate(), 20u);
  // Even if the verdicts of so many other proposals come meanwhile that this one is forgotten.
  for (std::uint64_t version = 6; version < 6 + 2 * VerdictMemory::kRemembered; ++version) {
    receive(Verdict{version, 0, false});
  }
  sent();
  member_.arrive(20, 2, 0);
  EXPECT_FALSE(member_.is_blocked());
  EXPECT_EQ(in_force(), "present");
  EXPECT_TRUE(sent().empty());
}

TEST_F(MemberTest, AVerdictImpliesThoseOfEarlierGates) {
  const Proposal blocks{5, {"a", "b"}, {{10, 0, false}, {20, 1, true}, {30, 0, false}}};
  receive(blocks);
  member_.arrive(10, 1, 0);
  receive(Verdict{5, 2, false});
  EXPECT_EQ(in_force(), "a");
  member_.arrive(20, 2, 0);
  EXPECT_FALSE(member_.is_blocked());
  EXPECT_EQ(in_force(), "b");
  EXPECT_EQ(member_.next_gate(), kNoGate);
}

TEST_F(MemberTest, OtherCallsThanTheGatesDoNotArrive) {
  receive(window_);
  for (const std::uint64_t call : {9u, 11u, 20u}) {
    member_.arrive(call, 1, 0);
    EXPECT_FALSE(member_.is_blocked());
  }
  EXPECT_TRUE(sent().empty());
}

TEST_F(MemberTest, AProposalForACallOfThePastIsSaidToBePassedAndMayStillBeReached) {
  receive(window_, 10);
  EXPECT_TRUE(sent().empty()) << "call 10 is the next";
  member_.tick(11, 0);
  member_.tick(12, 0);
  EXPECT_TRUE(sent() == Messages({Passed{5, 11}})) << "once";
  // The thread of the call has seen the gate before that.
  member_.arrive(10, 3, 0);
  EXPECT_TRUE(member_.is_blocked());
  EXPECT_TRUE(sent() == Messages({Arrived{5, 0, 10, 3}}));
  receive(Verdict{5, 0, false});
  EXPECT_FALSE(member_.is_blocked());
}

TEST_F(MemberTest, AfterAPassedGateTheLaterOnesAreNotTaken) {
  receive(window_, 11);
  EXPECT_TRUE(sent() == Messages({Passed{5, 11}}));
  member_.arrive(20, 1, 0);
  EXPECT_FALSE(member_.is_blocked());
}

TEST_F(MemberTest, WhatCannotBeUsedIsRefused) {
  auto picky = options();
  picky.objection = [](const Proposal& proposal) {
    return std::string(proposal.payloads[0] == "candidate" ? "no such algorithm" : "");
  };
  member_ = Member(picky);
  member_.link_up(0, 0);
  sent();
  receive(window_);
  EXPECT_TRUE(sent() == Messages({Refused{5, "no such algorithm"}}));
  EXPECT_EQ(member_.next_gate(), kNoGate);
  receive(Proposal{6, {"other"}, {{10, 0, false}}});
  EXPECT_EQ(member_.next_gate(), 10u);
}

TEST_F(MemberTest, AProposalIsRefusedWhileAGateLiesAhead) {
  receive(window_);
  receive(Proposal{6, {"other"}, {{12, 0, false}}});
  const auto messages = sent();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(std::get<Refused>(messages[0]).version, 6u);
  EXPECT_EQ(member_.next_gate(), 10u);
}

TEST_F(MemberTest, AProposalWhoseVerdictIsKnownIsNotInstalled) {
  receive(Verdict{5, 0, false});
  receive(window_);
  EXPECT_EQ(member_.next_gate(), kNoGate);
}

TEST_F(MemberTest, AQuestionIsAnsweredFromTheVerdictsElseForwarded) {
  const Ask ask{2, {5, 0, 10, 1}};
  receive(ask, 0, 2);
  auto actions = member_.take_actions();
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(actions[0].to, 2u);
  EXPECT_TRUE(actions[0].message == Message(Unknown{5, 0, true}));
  EXPECT_EQ(actions[1].to, 0u);
  EXPECT_TRUE(actions[1].message == Message(ask));
  receive(Verdict{5, 0, true});
  receive(ask, 0, 2);
  EXPECT_TRUE(sent(2) == Messages({Verdict{5, 0, true}}));
  member_.link_lost(now_ns_);
  receive(Ask{2, {6, 0, 10, 1}}, 0, 2);
  EXPECT_TRUE(sent(2) == Messages({Unknown{6, 0, false}}));
}

TEST_F(MemberTest, ABlockedMemberWithoutALinkAsksEveryoneAgainAndAgain) {
  receive(window_);
  member_.arrive(10, 1, 0);
  sent();
  member_.link_lost(now_ns_);
  const Ask ask{1, {5, 0, 10, 1}};
  EXPECT_TRUE(sent(kEveryone) == Messages({ask}));
  pass(100 * kMs);
  EXPECT_TRUE(sent(kEveryone) == Messages({ask, ask}));
  receive(Verdict{5, 0, true}, 0, 2);
  EXPECT_EQ(in_force(), "candidate");
  // At the next gate it asks at once.
  member_.arrive(20, 2, now_ns_);
  EXPECT_TRUE(sent(kEveryone) == Messages({Ask{1, {5, 1, 20, 2}}}));
}

TEST_F(MemberTest, ANewLinkHearsOfTheArrivalAndOfWhatIsUndecided) {
  receive(window_);
  member_.arrive(10, 1, 0);
  member_.link_lost(now_ns_);
  member_.take_actions();
  member_.link_up(11, now_ns_);
  EXPECT_TRUE(sent() == Messages({Hello{1, 3, 7, kProtocolVersion, 11, 5}, Arrived{5, 0, 10, 1}}));
}

TEST_F(MemberTest, ACutOffMemberStaysAtAForwardGate) {
  receive(window_);
  member_.arrive(10, 1, 0);
  member_.link_lost(now_ns_);
  pass(950 * kMs);
  EXPECT_TRUE(member_.is_blocked());
  pass(50 * kMs);
  EXPECT_FALSE(member_.is_blocked());
  EXPECT_EQ(in_force(), "");
  EXPECT_EQ(member_.next_gate(), kNoGate);
  EXPECT_EQ(member_.decided_by_default(), 1u);
}

class CutOffAtReturn : public MemberTest {
 protected:
  void SetUp() override {
    MemberTest::SetUp();
    receive(window_);
    member_.arrive(10, 1, 0);
    receive(Verdict{5, 0, true});
    member_.link_lost(now_ns_);
    member_.arrive(20, 2, now_ns_);
    member_.take_actions();
  }
};

TEST_F(CutOffAtReturn, GoesByDefault) {
  pass(1000 * kMs);
  EXPECT_FALSE(member_.is_blocked());
  EXPECT_EQ(in_force(), "present");
}

TEST_F(CutOffAtReturn, WaitsWhileAnotherRankReachesRank0) {
  for (int i = 0; i < 30; ++i) {
    pass(100 * kMs);
    receive(Unknown{5, 1, true}, 0, 2);
  }
  EXPECT_TRUE(member_.is_blocked());
  for (int i = 0; i < 10; ++i) {
    receive(Unknown{5, 1, false}, 0, 2);
    pass(100 * kMs);
  }
  EXPECT_FALSE(member_.is_blocked());
}

TEST_F(CutOffAtReturn, StoppedTimeDoesNotCount) {
  now_ns_ += 3600'000 * kMs;
  member_.tick(0, now_ns_);
  EXPECT_TRUE(member_.is_blocked());
}

TEST_F(CutOffAtReturn, RefusesProposalsUntilItLearnsThatItsDefaultWasRight) {
  pass(1000 * kMs);
  EXPECT_NE(member_.frozen(), "");
  // It is no verdict for others.
  member_.take_actions();
  receive(Ask{2, {5, 1, 20, 2}}, 0, 2);
  EXPECT_TRUE(sent(2) == Messages({Unknown{5, 1, false}}));
  member_.link_up(21, now_ns_);
  EXPECT_TRUE(sent() == Messages({Hello{1, 3, 7, kProtocolVersion, 21, 5}}));
  receive(Proposal{6, {"other"}, {{30, 0, false}}});
  EXPECT_TRUE(std::holds_alternative<Refused>(sent().at(0)));
  receive(Verdict{5, 1, true});
  EXPECT_EQ(member_.frozen(), "");
  receive(Proposal{7, {"other"}, {{30, 0, false}}});
  EXPECT_EQ(member_.next_gate(), 30u);
}

TEST_F(CutOffAtReturn, TakesNoPartAnyMoreIfItsDefaultWasWrong) {
  pass(1000 * kMs);
  member_.link_up(21, now_ns_);
  member_.take_actions();
  receive(Verdict{5, 1, false});
  EXPECT_TRUE(std::holds_alternative<Abstention>(sent().at(0)));
  EXPECT_NE(member_.frozen(), "");
}

TEST_F(MemberTest, AnAbstainingMemberSaysSoOnEveryLinkAndRefuses) {
  member_.abstain("another tuner");
  EXPECT_TRUE(sent() == Messages({Abstention{"another tuner"}}));
  receive(window_);
  EXPECT_TRUE(sent() == Messages({Refused{5, "another tuner"}}));
  member_.link_up(0, now_ns_);
  EXPECT_TRUE(sent().at(1) == Message(Abstention{"another tuner"}));
}

TEST_F(MemberTest, LeavingEndsAWaitAndSaysGoodbye) {
  receive(window_);
  member_.arrive(10, 1, 0);
  sent();
  member_.leave(11);
  EXPECT_FALSE(member_.is_blocked());
  EXPECT_EQ(member_.next_gate(), kNoGate);
  EXPECT_TRUE(sent() == Messages({Goodbye{11}}));
  receive(Proposal{6, {"other"}, {{30, 0, false}}});
  EXPECT_EQ(member_.next_gate(), kNoGate);
}

TEST_F(MemberTest, StatisticsNeedALinkAndHaveABound) {
  EXPECT_TRUE(member_.send_statistics("bytes"));
  EXPECT_TRUE(sent() == Messages({Statistics{"bytes"}}));
  EXPECT_FALSE(member_.send_statistics(std::string(kMaxPayloadBytes + 1, 'x')));
  member_.link_lost(now_ns_);
  EXPECT_FALSE(member_.send_statistics("bytes"));
  EXPECT_TRUE(sent().empty());
}

}  // namespace
}  // namespace hocket::nccl
