#include "store/postgres/notifications.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/mutate.h"
#include "tests/rounds.h"

namespace hocket::postgres {
namespace {

TEST(Notifications, APayloadIsReadAsItWasWritten) {
  const ConfigKey key{"topology", "workload \"\n"};
  for (const KeyChange& change : {KeyChange{key, 7, PromotionStage::staged},
                                  KeyChange{key, 1, PromotionStage::held}, KeyChange{.key = key}}) {
    EXPECT_EQ(change_of(payload_of(change)), change);
    EXPECT_LT(payload_of(change).size(), 8'000u);
  }
}

TEST(Notifications, WhatIsNoPayloadIsAChangeOfAnything) {
  for (const char* text :
       {"", "{", "[]", "7", "{}", R"({"topology":"a"})", R"({"topology":1,"workload":"b"})",
        R"({"topology":"a","workload":"b","stage":"odd"})"}) {
    EXPECT_EQ(change_of(text), std::nullopt) << text;
  }
  const std::string payload = payload_of({{"a", "b"}, 3, PromotionStage::released});
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < rounds(5'000); ++i) (void)change_of(mutate(payload, random));
}

}  // namespace
}  // namespace hocket::postgres
