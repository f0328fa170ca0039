#include "core/host/emulation/link_flows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <span>
#include <vector>

namespace hocket {
namespace {

using Phase = LinkFlows::Phase;

const LinkFlows::Shape kTwoLinks{.bytes_per_second = {1e9, 0.5e9}, .ranks = 2};
constexpr SharedFlows::Use kFirst[] = {{0, 1}};
constexpr SharedFlows::Use kSecond[] = {{1, 1}};
constexpr SharedFlows::Use kBoth[] = {{0, 1}, {1, 1}};

LinkFlows::Part part_of_two(std::uint64_t index, double bytes) {
  return {.name = {.index = index}, .bytes = bytes, .members = 2, .uses = kFirst};
}

TEST(LinkFlows, APartBeginsWithItsLastRankAndEndsOnAll) {
  auto own = LinkFlows::make(kTwoLinks).value();
  auto other = LinkFlows::open(own.name(), kTwoLinks).value();
  const auto first = own.join(part_of_two(7, 1000), 100).value();
  auto progress = own.look(first, 200);
  EXPECT_EQ(progress.phase, Phase::meeting);
  EXPECT_EQ(progress.time_ns, 1200) << "it cannot end before";
  const auto second = other.join(part_of_two(7, 1000), 500).value();
  progress = own.look(first, 500);
  EXPECT_EQ(progress.phase, Phase::on_links);
  EXPECT_EQ(progress.time_ns, 1500);
  for (auto* flows : {&own, &other}) {
    progress = flows->look(flows == &own ? first : second, 9000);
    EXPECT_EQ(progress.phase, Phase::ended);
    EXPECT_EQ(progress.time_ns, 1500) << "however late it looks";
  }
}

TEST(LinkFlows, APartWhoseRanksHaveMetBeginsWithTheFirst) {
  LinkFlows flows(kTwoLinks);
  LinkFlows::Part part = part_of_two(7, 1000);
  part.has_met = true;
  const auto first = flows.join(part, 100).value();
  EXPECT_EQ(flows.look(first, 100).phase, Phase::on_links);
  const auto during = flows.join(part, 1000).value();
  EXPECT_EQ(during, first);
  EXPECT_EQ(flows.look(first, 1200).time_ns, 1100);
  EXPECT_EQ(flows.look(during, 1200).time_ns, 1100);
  const auto early = flows.join(part, 2000).value();
  EXPECT_EQ(flows.look(early, 3000).phase, Phase::ended);
  const auto late = flows.join(part, 5000).value();
  EXPECT_EQ(flows.look(late, 5000).time_ns, 3000) << "it ended without this rank";
}

TEST(LinkFlows, ANameIsUsedAgainWhileARankIsStillInThePartBefore) {
  LinkFlows flows(kTwoLinks);
  const auto early = flows.join(part_of_two(7, 1000), 0).value();
  const auto late = flows.join(part_of_two(7, 1000), 0).value();
  EXPECT_EQ(flows.look(early, 1000).phase, Phase::ended);
  const auto again = flows.join(part_of_two(7, 1000), 2000).value();
  EXPECT_EQ(flows.look(late, 2000).time_ns, 1000);
  EXPECT_EQ(flows.look(again, 5000).phase, Phase::meeting);
}

TEST(LinkFlows, AFlowThatOthersHoldBackIsNotLookedAtBeforeItCanEnd) {
  LinkFlows flows(kTwoLinks);
  const LinkFlows::Part slow{.name = {.index = 0}, .bytes = 1000, .uses = kBoth};
  const LinkFlows::Part fast{.name = {.index = 1}, .bytes = 5000, .uses = kFirst};
  const auto first = flows.join(slow, 0).value(), second = flows.join(fast, 0).value();
  // Half of the first link each, and all of the second.
  EXPECT_EQ(flows.look(first, 0).time_ns, 2000);
  EXPECT_EQ(flows.look(second, 0).time_ns, 5000) << "alone";
  EXPECT_EQ(flows.look(second, 5000).time_ns, 6000) << "1000 while it shared, then 4000 alone";
  EXPECT_EQ(flows.look(first, 6000).time_ns, 2000);
  const auto end = flows.look(second, 6000);
  EXPECT_EQ(end.phase, Phase::ended);
  EXPECT_EQ(end.time_ns, 6000);
}

TEST(LinkFlows, AFlowThatOthersMayHelpIsLookedAtAsIfItWereAlone) {
  LinkFlows flows(kTwoLinks);
  const auto begin = [&](std::uint64_t index, std::span<const SharedFlows::Use> uses) {
    return flows.join({.name = {.index = index}, .bytes = 40'000, .uses = uses}, 0).value();
  };
  const auto helped = begin(0, kFirst);
  begin(1, kBoth);
  EXPECT_EQ(flows.look(helped, 0).time_ns, 40'000) << "though it has half of the link";
  // Takes half of the second link from the other flow, which leaves a quarter of the first one.
  begin(2, kSecond);
  EXPECT_EQ(flows.look(helped, 40'000).time_ns, 50'000);
  EXPECT_EQ(flows.look(helped, 50'000).time_ns, 53'333) << "looks have a least distance";
  const auto end = flows.look(helped, 60'000);
  EXPECT_EQ(end.phase, Phase::ended);
  EXPECT_EQ(end.time_ns, 53'333);
}

TEST(LinkFlows, TimesOfRanksThatWereHeldUpDoNotGoBack) {
  LinkFlows flows(kTwoLinks);
  const LinkFlows::Part part{.name = {}, .bytes = 1000, .uses = kFirst};
  const auto first = flows.join(part, 500).value();
  const auto second = flows.join(part, 400).value();
  EXPECT_EQ(flows.look(first, 300).time_ns, 2500);
  EXPECT_EQ(flows.look(second, 3000).time_ns, 2500);
}

TEST(LinkFlows, TooManyPartsAtOnceAreRefused) {
  LinkFlows flows(kTwoLinks);
  constexpr std::uint64_t kMost = 2 * LinkFlows::kPartsPerRank;
  std::vector<std::uint32_t> tickets;
  for (std::uint64_t index = 0; index < kMost; ++index)
    tickets.push_back(flows.join(part_of_two(index, 1), 0).value());
  const auto refused = flows.join(part_of_two(kMost, 1), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("more than 128 parts at once"));
  flows.leave(tickets[5]);
  EXPECT_TRUE(flows.join(part_of_two(kMost, 1), 0)) << "one has left";
  EXPECT_TRUE(flows.join(part_of_two(0, 1), 0)) << "of a part that there is";
}

TEST(LinkFlows, LinksOfAnotherShapeAreRefused) {
  const auto made = LinkFlows::make(kTwoLinks).value();
  const auto other = LinkFlows::open(made.name(), {.bytes_per_second = {1e9}, .ranks = 2});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(LinkFlows(kTwoLinks).name(), "");
}

TEST(LinkFlows, AProcessThatDiesAtAnyPointDoesNotStopOthers) {
  auto flows = LinkFlows::make(kTwoLinks).value();
  std::int64_t now_ns = 0;
  for (int round = 0; round < 40; ++round) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const LinkFlows::Part part{.name = {}, .bytes = 1, .uses = kBoth};
      for (std::int64_t at_ns = now_ns;; at_ns += 10) {
        const auto ticket = flows.join(part, at_ns);
        if (ticket) flows.look(*ticket, at_ns + 5);
        if (at_ns == now_ns) (void)!::write(ready[1], "r", 1);
      }
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    now_ns += 1'000'000'000;
    const auto ticket = flows.join({.name = {}, .bytes = 1000, .uses = kFirst}, now_ns);
    ASSERT_TRUE(ticket);
    now_ns += 1000;
    const auto end = flows.look(*ticket, now_ns);
    EXPECT_EQ(end.phase, Phase::ended);
    EXPECT_EQ(end.time_ns, now_ns);
  }
}

}  // namespace
}  // namespace hocket
