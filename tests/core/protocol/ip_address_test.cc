#include "core/protocol/ip_address.h"

#include <gtest/gtest.h>

#include <string>

namespace hocket {
namespace {

TEST(IpAddress, IsTheSameHoweverItIsWritten) {
  EXPECT_EQ(parse_ip("::1"), parse_ip("0:0:0:0:0:0:0:1"));
  EXPECT_EQ(parse_ip("127.0.0.1"), parse_ip("::ffff:7f00:1"));
  EXPECT_EQ(parse_ip("fe80::1%eth0"), parse_ip("fe80::1"));
  EXPECT_NE(parse_ip("10.0.0.1"), parse_ip("10.0.0.2"));
  for (const char* wrong : {"", "a", "127.1", "1.2.3.4.5", "0x7f.0.0.1", "2130706433", "::g",
                            "[::1]", "127.0.0.1:80", "127.0.0.1%lo", " 127.0.0.1"}) {
    EXPECT_FALSE(parse_ip(wrong)) << wrong;
  }
  EXPECT_FALSE(parse_ip(std::string(100, '1')));
}

TEST(IpAddress, KnowsLoopback) {
  for (const char* own :
       {"127.0.0.1", "127.255.0.3", "::1", "::ffff:127.0.0.1", "localhost", "LocalHost"}) {
    EXPECT_TRUE(is_loopback_host(own)) << own;
  }
  for (const char* other : {"128.0.0.1", "0.0.0.0", "::", "::2", "localhost.example.org",
                            "localhos", "127.0.0.1.example.org", ""}) {
    EXPECT_FALSE(is_loopback_host(other)) << other;
  }
}

}  // namespace
}  // namespace hocket
