#include "client/link/daemon_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "core/files/private_file.h"
#include "core/protocol/daemon_token.h"
#include "tests/client/environment.h"
#include "tests/mutate.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

TEST(DaemonAccess, ReadsAddresses) {
  const std::pair<const char*, DaemonAddress> right[] = {
      {"http://127.0.0.1:7077", {false, "127.0.0.1", 7077}},
      {"https://tuner.example.org", {true, "tuner.example.org", 443}},
      {"http://tuner/", {false, "tuner", 80}},
      {"http://[::1]:7077/", {false, "::1", 7077}},
      {"https://[fe80::1%eth0]", {true, "fe80::1%eth0", 443}}};
  for (const auto& [text, address] : right) {
    const auto parsed = parse_daemon_address(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, address);
    EXPECT_EQ(parse_daemon_address(to_string(address)).value(), address);
  }
  for (const char* wrong :
       {"", "http://", "127.0.0.1:7077", "ftp://a:1", "http://a:0", "http://a:65536",
        "http://a:", "http://a:1x", "http://a/path", "http://user@a", "http://[::1", "http://[a]:1",
        "http://[::1]7077", "http://::1:7", "http://a b", "http://a\r\nX: y", "http:///"}) {
    const auto parsed = parse_daemon_address(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_THAT(parsed.error().message, HasSubstr("must be http://HOST:PORT"));
  }
}

TEST(DaemonAccess, ADamagedAddressIsRefusedOrIsOneThatCanBeWritten) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const auto parsed = parse_daemon_address(
        mutate(i % 2 ? "http://[::1]:7077/" : "https://tuner.example.org:7077", random));
    if (!parsed) continue;
    ASSERT_EQ(parse_daemon_address(to_string(*parsed)).value(), *parsed) << "seed 3, round " << i;
  }
}

TEST(DaemonAccess, ComesFromTheEnvironment) {
  EXPECT_EQ(daemon_from_environment(environment({})).error().code, ErrorCode::not_found);
  EXPECT_EQ(daemon_from_environment(environment({{"HOCKET_DAEMON", ""}})).error().code,
            ErrorCode::not_found);
  EXPECT_THAT(daemon_from_environment(environment({{"HOCKET_DAEMON", "7077"}})).error().message,
              HasSubstr("HOCKET_DAEMON: the daemon's address must be"));
  const auto daemon = daemon_from_environment(
      environment({{"HOCKET_DAEMON", "http://a:1"}, {"HOCKET_CA_FILE", "/ca.pem"}}));
  EXPECT_EQ(daemon.value().address.host, "a");
  EXPECT_EQ(daemon.value().ca_file, "/ca.pem");
  EXPECT_EQ(daemon.value().token, "");
}

TEST(DaemonAccess, ATokenThatOthersCanReadIsNotUsed) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text, std::filesystem::perms perms) {
    const std::string path = folder.write("token", text);
    std::filesystem::permissions(path, perms);
    return daemon_from_environment(
        environment({{"HOCKET_DAEMON", "https://a:1"}, {"HOCKET_TOKEN_FILE", path}}));
  };
  using std::filesystem::perms;
  const perms own = perms::owner_read | perms::owner_write;
  EXPECT_EQ(read("secret\n", own).value().token, "secret");
  for (const perms others : {perms::group_read, perms::others_read, perms::others_write})
    EXPECT_THAT(read("secret\n", own | others).error().message, HasSubstr("chmod 600"));
  for (const char* text : {"", "\n", "two words", "new\nline", "\x7f"})
    EXPECT_THAT(read(text, own).error().message, HasSubstr("one token of printable ASCII"));
  EXPECT_THAT(daemon_from_environment(environment({{"HOCKET_DAEMON", "http://a:1"},
                                                   {"HOCKET_TOKEN_FILE", folder.path()}}))
                  .error()
                  .message,
              HasSubstr("it is a folder, and a regular file is expected"));
}

TEST(DaemonAccess, ATokenIsNotSentInPlainTextToOtherHosts) {
  const TemporaryFolder folder;
  const std::string path = folder.write("token", "secret");
  ::chmod(path.c_str(), 0600);
  const auto access = [&](const std::string& address, const std::string& allowed) {
    return daemon_from_environment(environment({{"HOCKET_DAEMON", address},
                                                {"HOCKET_TOKEN_FILE", path},
                                                {"HOCKET_ALLOW_PLAIN_TOKEN", allowed}}));
  };
  for (const char* safe : {"https://tuner:7077", "http://127.0.0.1:7077", "http://127.9.0.1:1",
                           "http://[::1]:7077", "http://localhost:7077", "http://LOCALHOST"}) {
    EXPECT_EQ(access(safe, "").value().token, "secret") << safe;
  }
  for (const char* open : {"http://tuner:7077", "http://10.0.0.1", "http://localhost.example.org",
                           "http://127.0.0.1.example.org", "http://[::2]:1", "http://0.0.0.0:1"}) {
    for (const char* other : {"", "0", "yes"}) {
      const auto refused = access(open, other);
      ASSERT_FALSE(refused) << open;
      EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
      EXPECT_THAT(refused.error().message, HasSubstr("HOCKET_ALLOW_PLAIN_TOKEN=1"));
    }
    EXPECT_EQ(access(open, "1").value().token, "secret") << open;
    EXPECT_TRUE(daemon_from_environment(environment({{"HOCKET_DAEMON", open}}))) << "no token";
  }
}

TEST(DaemonAccess, TheTokenOfTheSameUsersDaemonIsFound) {
  const TemporaryFolder folder;
  const std::string state = folder.file("hocket");
  const std::string home = folder.file("home"), home_state = home + "/.local/state/hocket";
  for (const auto& made : {state, home_state}) {
    ASSERT_TRUE(create_private_folders(made));
    ASSERT_TRUE(*create_private_file(daemon_token_path(made, 7077), ""));
  }
  const auto write = [](const std::string& at, const std::string& token) {
    std::ofstream(daemon_token_path(at, 7077)) << token << "\n";
  };
  write(state, "of-state");
  write(home_state, "of-home");
  const auto token = [&](const std::string& address, const std::string& state_home) {
    const auto access = daemon_from_environment(
        environment({{"HOCKET_DAEMON", address}, {"XDG_STATE_HOME", state_home}, {"HOME", home}}));
    return access ? access->token : access.error().message;
  };
  const std::string xdg = folder.path();
  EXPECT_EQ(token("http://127.0.0.1:7077", xdg), "of-state");
  EXPECT_EQ(token("https://localhost:7077", xdg), "of-state");
  EXPECT_EQ(token("http://[::1]:7077", ""), "of-home");
  EXPECT_EQ(token("http://[::1]:7077", "relative"), "of-home");
  EXPECT_EQ(token("http://127.0.0.1:7078", xdg), "") << "another daemon's";
  EXPECT_EQ(token("https://tuner:7077", xdg), "") << "on another host";
  const std::string other = folder.write("other", "named");
  ::chmod(other.c_str(), 0600);
  EXPECT_EQ(daemon_from_environment(environment({{"HOCKET_DAEMON", "http://127.0.0.1:7077"},
                                                 {"XDG_STATE_HOME", xdg},
                                                 {"HOCKET_TOKEN_FILE", other}}))
                ->token,
            "named");
  ::chmod(daemon_token_path(state, 7077).c_str(), 0644);
  EXPECT_THAT(token("http://127.0.0.1:7077", xdg), HasSubstr("chmod 600"));
}

}  // namespace
}  // namespace hocket
