#include "core/protocol/config_key.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "core/base/fingerprint.h"
#include "tests/mutate.h"

namespace hocket {
namespace {

const ConfigKey kKey{fingerprint_of({{"a", 1}}), fingerprint_of({{"b", 2}})};

TEST(ConfigKey, ItsTextReadsBackAsTheSame) {
  const std::string text = to_string(kKey);
  EXPECT_EQ(text, kKey.topology + "." + kKey.workload);
  const auto again = parse_config_key(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, kKey);
}

TEST(ConfigKey, NothingElseIsAKey) {
  const std::string text = to_string(kKey);
  std::vector<std::string> bad = {"",
                                  ".",
                                  text + " ",
                                  " " + text,
                                  text + ".",
                                  kKey.topology,
                                  kKey.workload + "." + "x" + kKey.topology};
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'g', 'A', '-', '.', '/', '\0'}) {
      bad.push_back(text);
      bad.back()[i] = c;
      if (bad.back() == text) bad.pop_back();
    }
    bad.push_back(text.substr(0, i));
  }
  for (const auto& each : bad) {
    const auto key = parse_config_key(each);
    ASSERT_FALSE(key) << each;
    EXPECT_THAT(key.error().message, testing::HasSubstr("each a UUID of 36 characters"));
  }
}

TEST(ConfigKey, WhatIsReadIsWhatIsWritten) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    SCOPED_TRACE(i);
    const std::string text = mutate(to_string(kKey), random);
    const auto key = parse_config_key(text);
    if (key) {
      EXPECT_EQ(to_string(*key), text);
    }
  }
}

}  // namespace
}  // namespace hocket
