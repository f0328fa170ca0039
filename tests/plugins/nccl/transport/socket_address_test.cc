#include "plugins/nccl/transport/socket_address.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace hocket::nccl {
namespace {

TEST(Meeting, IsReadBack) {
  const std::string text = "1 000102030405060708090a0b0c0d0eff 192.0.2.1 4000 2001:db8::1 4001";
  const Meeting meeting = read_meeting(text);
  ASSERT_EQ(meeting.addresses.size(), 2u);
  EXPECT_EQ(meeting.secret.size(), Meeting::kSecretBytes);
  EXPECT_EQ(static_cast<unsigned char>(meeting.secret.back()), 0xff);
  EXPECT_EQ(meeting.addresses[1].family(), AF_INET6);
  EXPECT_EQ(to_text(meeting), text);
}

TEST(Meeting, AnotherFormHasNoAddresses) {
  for (const char* text :
       {"", "1", "1 00", "2 000102030405060708090a0b0c0d0eff 192.0.2.1 4000",
        "1 000102030405060708090a0b0c0d0eff", "1 000102030405060708090a0b0c0d0eff 192.0.2.1",
        "1 000102030405060708090a0b0c0d0eff 192.0.2.1 0",
        "1 000102030405060708090a0b0c0d0eff 192.0.2.1 70000",
        "1 000102030405060708090a0b0c0d0eff host 4000",
        "1 0001020304050607080_0a0b0c0d0eff 192.0.2.1 4000"}) {
    EXPECT_TRUE(read_meeting(text).addresses.empty()) << text;
  }
}

TEST(Meeting, DamagedTextsAreReadOrRefused) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string whole = "1 000102030405060708090a0b0c0d0eff 192.0.2.1 4000 2001:db8::1 4001";
  for (int round = 0; round < 2000; ++round) {
    std::string text = whole;
    for (unsigned changes = 0; changes < 1 + random() % 3; ++changes)
      text[random() % text.size()] = static_cast<char>(random());
    const Meeting meeting = read_meeting(text);
    EXPECT_TRUE(meeting.addresses.empty() || meeting.secret.size() == Meeting::kSecretBytes);
  }
}

TEST(SocketAddress, RanksAndCommunicatorsHaveAddressesOfTheirOwn) {
  const SocketAddress a = unix_address(1, 2), b = unix_address(1, 3), c = unix_address(2, 2);
  const auto text = [](const SocketAddress& address) {
    return std::string(reinterpret_cast<const char*>(address.get()), address.bytes);
  };
  EXPECT_NE(text(a), text(b));
  EXPECT_NE(text(a), text(c));
  EXPECT_EQ(text(a), text(unix_address(1, 2)));
}

TEST(RandomBytes, Differ) {
  EXPECT_EQ(random_bytes(16).size(), 16u);
  EXPECT_NE(random_bytes(16), random_bytes(16));
}

}  // namespace
}  // namespace hocket::nccl
