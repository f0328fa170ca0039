#include "core/programs/program_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/programs/fold_order.h"
#include "tests/core/host/ranks.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const Mesh& four_ranks() {
  static const Mesh mesh = Mesh::make({{"pipeline", 2}, {"data", 2}}, {4, 2}).value();
  return mesh;
}

ProgramCommunication summed(const std::string& name, const char* group = "world",
                            std::int64_t bytes = 64) {
  return {.name = name, .group = four_ranks().parse_group(group).value(), .bytes = bytes};
}

CommunicationProgram program_with(std::vector<ProgramCommunication> communications) {
  CommunicationProgram program;
  program.partition_bytes = 4096;
  program.communications = std::move(communications);
  return program;
}

/// The program with each communication in one part, begun in this order.
CommunicationProgram in_order(CommunicationProgram program, std::vector<std::uint32_t> order) {
  program.order = BeginOrder::static_order;
  program.part_order = std::move(order);
  return program;
}

/// The error for these programs of the four ranks.
std::string checked(std::vector<CommunicationProgram> programs) {
  const auto ok = check_programs({std::move(programs), {0, 1, 2, 3}}, four_ranks());
  return ok ? "no error" : ok.error().message;
}

TEST(ProgramCheck, WhatMeetsMustBeAlike) {
  const auto error = [](const ProgramCommunication& one, const ProgramCommunication& other) {
    return checked(
        {program_with({one}), program_with({one}), program_with({other}), program_with({one})});
  };
  EXPECT_EQ(error(summed("a"), summed("b")), "no error");
  ProgramCommunication other = summed("b");
  other.type = ElementType::bfloat16;
  EXPECT_THAT(error(summed("a"), other),
              AllOf(HasSubstr("ranks 0 and 2"),
                    HasSubstr("\"a\" (all-reduce of 64 bytes of float32 in world)"),
                    HasSubstr("\"b\" (all-reduce of 64 bytes of bfloat16 in world)")));
  EXPECT_THAT(error(summed("a"), summed("b", "world", 128)), HasSubstr("of 128 bytes"));
  ProgramCommunication copy = summed("a"), from_other = summed("b");
  copy.kind = from_other.kind = CollectiveKind::broadcast;
  EXPECT_EQ(error(copy, from_other), "no error");
  from_other.peer = 3;
  EXPECT_THAT(error(copy, from_other),
              AllOf(HasSubstr("from rank 0 in world"), HasSubstr("from rank 3 in world")));
}

TEST(ProgramCheck, RanksThatMeetAreNamedWhereOthersAreAlike) {
  // Ranks 0 and 1 are alike, and so are 2 and 3, but it is 0 and 2 and 1 and 3 that meet.
  const auto first = program_with({summed("a", "pipeline")});
  const auto last = program_with({summed("b", "pipeline", 32)});
  const auto ok = check_programs({{first, last}, {0, 0, 1, 1}}, four_ranks());
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message, HasSubstr("ranks 0 and 2"));
}

TEST(ProgramCheck, TheSameConfigurationIsOnAllRanks) {
  const auto program = program_with({summed("a")});
  auto other = program;
  other.partition_bytes = 8192;
  EXPECT_THAT(checked({program, program, program, other}),
              AllOf(HasSubstr("rank 0 has partition_bytes=4096"),
                    HasSubstr("rank 3 has partition_bytes=8192")));
  EXPECT_THAT(checked({program, in_order(program, {0}), program, program}),
              AllOf(HasSubstr("the order of submission"), HasSubstr("rank 1"),
                    HasSubstr("a static order")));
  other.refusal = "no\nroom";
  EXPECT_THAT(checked({program, program, other, program}),
              AllOf(HasSubstr("rank 2 cannot run its step: no"), Not(HasSubstr("\n"))));
}

TEST(ProgramCheck, StaticOrdersArePartsOfOne) {
  const auto inner = program_with({summed("a", "data"), summed("n")});
  const auto outer = program_with({summed("b", "data"), summed("n")});
  EXPECT_EQ(checked({in_order(inner, {0, 1}), in_order(inner, {0, 1}), in_order(outer, {1, 0}),
                     in_order(outer, {1, 0})}),
            "no error");
  EXPECT_THAT(checked({in_order(inner, {0, 1}), in_order(inner, {1, 0}), in_order(outer, {1, 0}),
                       in_order(outer, {1, 0})}),
              AllOf(HasSubstr("in a circle"), HasSubstr("rank 0 begins \"a\""),
                    HasSubstr("rank 1 begins \"n\""), HasSubstr("static_order()")));
  // The same orders of communications, but not of their parts.
  const auto parts = program_with({summed("a", "world", 8192), summed("n", "world", 64)});
  EXPECT_EQ(checked({in_order(parts, {0, 1, 0}), in_order(parts, {0, 1, 0}),
                     in_order(parts, {0, 1, 0}), in_order(parts, {0, 1, 0})}),
            "no error");
  EXPECT_THAT(checked({in_order(parts, {0, 1, 0}), in_order(parts, {0, 1, 0}),
                       in_order(parts, {0, 1, 0}), in_order(parts, {0, 0, 1})}),
              AllOf(HasSubstr("part 1 of \"a\""), HasSubstr("rank 3 begins")));
}

TEST(ProgramCheck, RanksOfOneRingMayHaveOrdersOfTheirOwn) {
  // Each sends to the next and receives from the one before: in one order for all they wait.
  ProgramCommunication send{.name = "on", .kind = CollectiveKind::send, .peer = 1, .bytes = 64};
  ProgramCommunication receive{
      .name = "from", .kind = CollectiveKind::receive, .peer = 3, .bytes = 64};
  const auto ring = program_with({send, receive});
  EXPECT_THAT(checked({ring, ring, ring, ring}), HasSubstr("in a circle"));
  EXPECT_EQ(checked({in_order(ring, {0, 1}), in_order(ring, {1, 0}), in_order(ring, {0, 1}),
                     in_order(ring, {1, 0})}),
            "no error");
}

TEST(ProgramCheck, RanksThatRunAlikeDoNotSendToEachOther) {
  const CollectiveGroup group = four_ranks().parse_group("pipeline").value();
  const auto pair = program_with(
      {{.name = "on", .kind = CollectiveKind::send, .group = group, .peer = 1, .bytes = 64},
       {.name = "from", .kind = CollectiveKind::receive, .group = group, .peer = 1, .bytes = 64}});
  const auto ok = check_programs({{pair}, {0, 0, 0, 0}}, four_ranks());
  ASSERT_FALSE(ok);
  EXPECT_THAT(ok.error().message,
              AllOf(HasSubstr("send to each other: rank 0 has \"on\""), HasSubstr("to rank 2"),
                    HasSubstr("\"from\""), HasSubstr("from rank 2")));
}

TEST(ProgramCheck, AnOwnOrderKeepsDependencies) {
  const auto step = [](AccessMode between) {
    std::vector<CapturedStep::Task> tasks(3);
    tasks[0] = {"first", 0, true, 8192, {update({0})}};
    tasks[1] = {"between", 0, false, 0, {read({0}), {{1}, between}}};
    tasks[2] = {"second", 0, true, 64, {update({1})}};
    return CapturedStep(std::move(tasks));
  };
  const std::vector<std::uint32_t> in_turn{0, 0, 1}, early{0, 1, 0};
  EXPECT_TRUE(check_own_order(step(AccessMode::write), in_turn));
  const auto refused = check_own_order(step(AccessMode::write), early);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("begins \"second\" before the end of \"first\"")));
  // One that has nothing to do with it may come between.
  std::vector<CapturedStep::Task> free(2);
  free[0] = {"first", 0, true, 8192, {update({0})}};
  free[1] = {"second", 0, true, 64, {update({1})}};
  EXPECT_TRUE(check_own_order(CapturedStep(std::move(free)), early));
}

/// Changes a rank's own values before they are moved.
class ChangingCollective final : public Collective {
 public:
  ChangingCollective(Collective& link, std::mt19937_64& random) : link_(link), random_(random) {}
  int rank() const override { return link_.rank(); }
  const Mesh& mesh() const override { return link_.mesh(); }
  std::int64_t timeout_ns() const override { return link_.timeout_ns(); }
  void abort() override { link_.abort(); }
  Result<void> tell(std::string_view message) override { return link_.tell(message); }
  Result<std::string> hear() override { return link_.hear(); }
  Result<void> run(const CollectiveWork& work) override {
    for (std::uint64_t changes = random_() % 3; changes > 0; --changes)
      work.values.bytes()[random_() % work.values.size_bytes()] = std::byte(random_());
    return link_.run(work);
  }

 private:
  Collective& link_;
  std::mt19937_64& random_;
};

TEST(ProgramCheck, ProgramsAreExchangedWhateverOneRankSends) {
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const bool are_equal = random() % 2 == 0;
    std::vector<Result<RankPrograms>> found(4);
    run_local_mesh(four_ranks(), [&](int rank, Collective& collective) {
      const auto own = program_with(
          {summed(are_equal ? "a" : "a" + std::to_string(rank % 3)), summed("b", "data")});
      ChangingCollective changing(collective, random);
      auto job = exchange_programs(own, collective.mesh(), rank == 1 ? changing : collective);
      if (job) {
        EXPECT_EQ(job->programs.size(), are_equal ? 1u : 3u);
        EXPECT_EQ(job->programs[job->program_of[static_cast<std::size_t>(rank)]], own);
      }
      found[static_cast<std::size_t>(rank)] = std::move(job);
    });
    for (const auto& job : found) {
      ASSERT_EQ(job.has_value(), found[0].has_value());
      if (!job) {
        ASSERT_EQ(job.error(), found[0].error());
        EXPECT_EQ(job.error().code, ErrorCode::invalid_argument);
      } else {
        ASSERT_EQ(job->program_of, found[0]->program_of);
      }
    }
    if (!found[0]) ++refused;
  }
  EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace hocket
