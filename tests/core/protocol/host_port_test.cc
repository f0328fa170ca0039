#include "core/protocol/host_port.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(HostPort, IsReadAndWritten) {
  for (const char* text : {"127.0.0.1:7077", "host:0", "[::1]:65535", "h:1"}) {
    const auto address = parse_host_port(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(to_string(*address), text);
    EXPECT_EQ(address->host.find('['), std::string::npos);
  }
  EXPECT_EQ(parse_host_port("[::1]:80")->host, "::1");
  EXPECT_EQ(parse_host_port("[::1]:80")->port, 80);
}

TEST(HostPort, RefusesOtherForms) {
  for (const char* text : {"", ":", "host", "host:", ":80", "[]:80", "host:65536", "host:-1",
                           "host:+1", "host:8x", "host: 8", "host:99999999999999999999"})
    EXPECT_FALSE(parse_host_port(text)) << text;
}

}  // namespace
}  // namespace hocket
