#include "core/protocol/daemon_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

TEST(DaemonToken, IsOneWord) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    const std::string path = folder.write("token", text);
    EXPECT_EQ(::chmod(path.c_str(), 0600), 0);
    return read_daemon_token(path);
  };
  EXPECT_EQ(read("secret\r\n").value(), "secret");
  for (const char* text : {"", "\n", "two words", "new\nline", "\x7f"}) {
    EXPECT_THAT(read(text).error().message, HasSubstr("one token of printable ASCII"));
  }
  EXPECT_EQ(read_daemon_token(folder.file("none")).error().code, ErrorCode::not_found);
}

TEST(DaemonToken, IsKnownByItsName) {
  for (const std::uint16_t port : {1, 7077, 65535}) {
    EXPECT_TRUE(is_daemon_token_name(daemon_token_path("", port).substr(1)));
  }
  for (const char* name : {"", "daemon-.token", "daemon-1.token.2", "daemon-1a.token",
                           "my-daemon-1.token", "daemon-1.tokens", "daemon-.token.token"}) {
    EXPECT_FALSE(is_daemon_token_name(name)) << name;
  }
}

TEST(DaemonToken, LiesUnderThePort) {
  EXPECT_EQ(daemon_token_path("/state/hocket", 7077), "/state/hocket/daemon-7077.token");
}

}  // namespace
}  // namespace hocket
