#include "plugins/nccl/tuning/setting.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket::nccl {
namespace {

using abi::kAlgorithms, abi::kProtocols;

Setting random_setting(std::mt19937& random) {
  Setting setting;
  setting.events = static_cast<Events>(random() % 4);
  for (Choice& choice : setting.choices) {
    if (random() % 8 != 0) continue;
    choice.channels = static_cast<std::uint8_t>(random() % (kMostChannels + 1));
    if (random() % 2 == 0) continue;
    choice.algorithm = static_cast<std::int8_t>(random() % kAlgorithms);
    choice.protocol = static_cast<std::int8_t>(random() % kProtocols);
  }
  return setting;
}

TEST(Setting, IsReadBack) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const Setting setting = random_setting(random);
    const auto read = decode_setting(encode(setting));
    ASSERT_TRUE(read);
    EXPECT_TRUE(*read == setting);
    EXPECT_EQ(encode(*read), encode(setting));
  }
  EXPECT_EQ(encode(Setting()).size(), 6u);
  Setting off;
  off.is_off = true;
  EXPECT_TRUE(*decode_setting(encode(off)) == off);
  EXPECT_NE(encode(off), encode(Setting()));
}

TEST(Setting, OffHasNoEntriesAndThereIsNoFurtherMode) {
  Setting one;
  one.choices[3] = {0, 0, 1};
  std::string bytes = encode(one);
  EXPECT_TRUE(decode_setting(bytes));
  for (const char mode : {'\4', '\5', '\xff'}) {
    bytes[3] = mode;
    EXPECT_FALSE(decode_setting(bytes)) << static_cast<int>(mode);
  }
}

TEST(Setting, DamagedBytesAreRefusedOrMeanASetting) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = encode(random_setting(random));
    for (unsigned changes = 0; changes < 1 + random() % 3; ++changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 2 == 0) bytes.resize(random() % (bytes.size() + 1));
    const auto read = decode_setting(bytes);
    refused += read ? 0 : 1;
    EXPECT_TRUE(!read || encode(*read) == bytes);
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace hocket::nccl
