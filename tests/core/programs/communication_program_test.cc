#include "core/programs/communication_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/collective/part_sizes.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

Mesh mesh_of_six() {
  return Mesh::make({{"pipeline", 2}, {"data", 3}}, {6, 3}).value();
}

CommunicationProgram random_own_program(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
  constexpr CollectiveKind kKinds[] = {CollectiveKind::all_reduce, CollectiveKind::broadcast,
                                       CollectiveKind::all_to_all, CollectiveKind::send,
                                       CollectiveKind::receive};
  const Mesh mesh = mesh_of_six();
  CommunicationProgram program;
  program.partition_bytes = 4096 + below(5000);
  program.order = BeginOrder(below(3));
  for (std::uint32_t left = below(6), number = 0; left > 0; --left, ++number) {
    ProgramCommunication& found = program.communications.emplace_back();
    found.name = std::string(below(kMostProgramNameBytes + 1), 'n');
    found.kind = kKinds[below(5)];
    found.type = ElementType(below(3));
    if (below(2)) found.group = {AxisSet::of(below(2)), GroupTier::whole};
    found.bytes = below(20'000);
    const bool has_peer = is_message(found.kind) || found.kind == CollectiveKind::broadcast;
    if (has_peer) found.peer = below(static_cast<std::uint64_t>(mesh.size_of(found.group)));
    if (program.order != BeginOrder::static_order) continue;
    program.part_order.insert(
        program.part_order.end(),
        static_cast<std::size_t>(part_count(found.bytes, program.partition_bytes)), number);
  }
  std::shuffle(program.part_order.begin(), program.part_order.end(), random);
  return program;
}

TEST(CommunicationProgram, IsReadBackAsItWasWritten) {
  std::mt19937_64 random(1);
  for (std::uint64_t round = 0; round < rounds(500); ++round) {
    const CommunicationProgram program = random_own_program(random);
    const auto again = program_from_bytes(bytes_of(program), mesh_of_six());
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_EQ(*again, program) << "round " << round << " of seed 1";
  }
  CommunicationProgram refusal;
  refusal.refusal = "no room";
  EXPECT_EQ(program_from_bytes(bytes_of(refusal), mesh_of_six()).value(), refusal);
}

TEST(CommunicationProgram, OneThatEndsTooEarlyOrTooLateIsRefused) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20; ++round) {
    const std::string bytes = bytes_of(random_own_program(random));
    for (std::size_t size = 0; size < bytes.size(); ++size)
      ASSERT_FALSE(program_from_bytes(std::string_view(bytes).substr(0, size), mesh_of_six()));
    EXPECT_THAT(program_from_bytes(bytes + "x", mesh_of_six()).error().message,
                HasSubstr("malformed"));
  }
}

TEST(CommunicationProgram, AnyBytesAreRefusedOrAreAProgram) {
  std::mt19937_64 random(3);
  std::uint64_t read = 0;
  for (std::uint64_t round = 0; round < rounds(20'000); ++round) {
    std::string bytes = bytes_of(random_own_program(random));
    for (auto changes = 1 + random() % 3; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto program = program_from_bytes(bytes, mesh_of_six());
    if (!program) continue;
    ++read;
    ASSERT_EQ(bytes_of(*program), bytes) << "round " << round << " of seed 3";
    for (const ProgramCommunication& found : program->communications)
      ASSERT_LT(found.peer, mesh_of_six().size_of(found.group));
    for (const std::uint32_t number : program->part_order)
      ASSERT_LT(number, program->communications.size());
  }
  EXPECT_GT(read, 0u);
}

TEST(CommunicationProgram, WhatTheMeshHasNotIsRefused) {
  const auto error = [](const ProgramCommunication& communication) {
    CommunicationProgram program;
    program.communications = {communication};
    const auto read = program_from_bytes(bytes_of(program), mesh_of_six());
    return read ? "" : read.error().message;
  };
  ProgramCommunication send{.kind = CollectiveKind::send, .peer = 5};
  EXPECT_EQ(error(send), "");
  send.peer = 6;
  EXPECT_THAT(error(send), HasSubstr("no member 6"));
  send.peer = 2;
  send.group.axes = AxisSet::of(0);
  EXPECT_THAT(error(send), HasSubstr("no member 2"));
  send.group.axes = AxisSet::of(2);
  EXPECT_THAT(error(send), HasSubstr("axes that the mesh has not"));
  EXPECT_THAT(error({.kind = CollectiveKind::push}), HasSubstr("no kind 5"));
  EXPECT_THAT(error({.bytes = -1}), HasSubstr("-1 bytes"));
}

TEST(CommunicationProgram, AStaticOrderHasThePartsOfTheStep) {
  CommunicationProgram program;
  program.order = BeginOrder::static_order;
  program.partition_bytes = 4096;
  program.communications = {{.bytes = 8192}, {.bytes = 64}};
  const auto is_read = [&](const std::vector<std::uint32_t>& order) {
    program.part_order = order;
    return program_from_bytes(bytes_of(program), mesh_of_six()).has_value();
  };
  EXPECT_TRUE(is_read({0, 1, 0}));
  EXPECT_FALSE(is_read({0, 1}));
  EXPECT_FALSE(is_read({0, 1, 0, 1}));
  EXPECT_FALSE(is_read({0, 2, 0}));
  program.order = BeginOrder::submission;
  EXPECT_FALSE(is_read({0, 1, 0}));
}

}  // namespace
}  // namespace hocket
