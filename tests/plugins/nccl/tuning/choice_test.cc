#include "plugins/nccl/tuning/choice.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace hocket::nccl {
namespace {

using abi::kAlgorithms, abi::kProtocols, abi::kRing, abi::kTree;

/// A table of costs as NCCL gives it.
struct Table {
  std::array<float, kAlgorithms * kProtocols> us;

  explicit Table(float all) { us.fill(all); }
  CostTable costs() { return {us.data(), kAlgorithms, kProtocols}; }
};

Choice choice_of(const char* word, int channels = 0) {
  Choice choice;
  EXPECT_TRUE(read_arm(word, choice)) << word;
  choice.channels = static_cast<std::uint8_t>(channels);
  return choice;
}

TEST(Arm, WordsAreReadBack) {
  for (int function = 0; function < kFunctions; ++function) {
    for (const std::string& word : arm_words(static_cast<Function>(function), true)) {
      Choice choice;
      ASSERT_TRUE(read_arm(word, choice));
      EXPECT_EQ(arm_word(choice.algorithm, choice.protocol), word);
    }
  }
  Choice choice;
  EXPECT_FALSE(read_arm("ring", choice));
  EXPECT_FALSE(read_arm("", choice));
}

TEST(Arm, TreesAreForAllReducesAlone) {
  EXPECT_EQ(arm_words(Function::all_reduce, false).size(), 7u);
  EXPECT_EQ(arm_words(Function::all_gather, false).size(), 4u);
}

TEST(Arm, WhatIsForbiddenIsNeverChosenNorChanged) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    Table table(0);
    for (float& us : table.us) us = random() % 3 == 0 ? -1.0F : static_cast<float>(random() % 5);
    const Table before = table;
    const auto words = arm_words(Function::all_reduce, true);
    const Choice wanted = choice_of(words[random() % words.size()].c_str(), random() % 33);
    int channels = 0;
    const bool applied = apply(wanted, table.costs(), &channels);
    for (std::size_t i = 0; i < table.us.size(); ++i)
      EXPECT_EQ(before.us[i] < 0, table.us[i] < 0) << i;
    if (!applied) {
      EXPECT_EQ(table.us, before.us);
      EXPECT_EQ(channels, 0);
      continue;
    }
    if (wanted.algorithm >= 0) {
      EXPECT_EQ(cheapest(table.costs()).algorithm, wanted.algorithm);
      EXPECT_EQ(cheapest(table.costs()).protocol, wanted.protocol);
    } else {
      EXPECT_EQ(table.us, before.us);
    }
  }
}

TEST(Arm, ChannelsAreSetForRingAndTreeAlone) {
  Table table(3);
  int channels = 0;
  EXPECT_TRUE(apply(choice_of("ring_simple", 8), table.costs(), &channels));
  EXPECT_EQ(channels, 8);
  channels = 0;
  EXPECT_TRUE(apply(choice_of("nvls_simple", 8), table.costs(), &channels));
  EXPECT_EQ(channels, 0);
  EXPECT_TRUE(apply(choice_of("ring_ll"), table.costs(), &channels));
  EXPECT_EQ(channels, 0);
}

TEST(Arm, PredictionsComeCheapestFirst) {
  Table table(-1);
  table.costs().at(kRing, 2) = 10;
  table.costs().at(kTree, 0) = 5;
  const auto arms = predicted(arm_words(Function::all_reduce, false), table.costs());
  ASSERT_EQ(arms.size(), 2u);
  EXPECT_EQ(arms[0].word, "tree_ll");
  EXPECT_EQ(arms[1].word, "ring_simple");
  EXPECT_EQ(cheapest(Table(-1).costs()).algorithm, -1);
}

TEST(Arm, IsSaidForPeople) {
  EXPECT_EQ(to_string(Choice()), "NCCL's own choice");
  EXPECT_EQ(to_string(choice_of("ring_simple", 1)), "ring_simple, 1 channel");
  EXPECT_EQ(to_string(Choice{-1, -1, 4}), "NCCL's own algorithm, 4 channels");
}

}  // namespace
}  // namespace hocket::nccl
