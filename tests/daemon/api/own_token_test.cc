#include "daemon/api/own_token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/daemon_token.h"
#include "daemon/api/token_file.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

TEST(OwnToken, IsMadeOnceAndUsedAgain) {
  const TemporaryFolder folder;
  const std::string state = folder.file("state/hocket");
  const std::string token = must(open_own_token(state, 7077));
  EXPECT_EQ(must(open_own_token(state, 7077)), token);
  EXPECT_EQ(must(read_daemon_token(daemon_token_path(state, 7077))), token);
  EXPECT_NE(must(open_own_token(state, 7078)), token);
  std::set<std::string> all;
  for (std::uint16_t port = 1; port <= 200; ++port) all.insert(must(open_own_token(state, port)));
  EXPECT_EQ(all.size(), 200u);
  for (const std::string& one : all) EXPECT_EQ(one.size(), 64u);
  struct stat status = {};
  ASSERT_EQ(::stat(daemon_token_path(state, 7077).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(state.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST(OwnToken, IsTheOnlyWayIn) {
  const std::string token(64, 'a');
  const AccessTokens tokens = AccessTokens::of_owner(token);
  EXPECT_FALSE(tokens.is_open());
  EXPECT_EQ(tokens.identify("Bearer " + token), (ClientIdentity{"local", AccessRole::admin}));
  EXPECT_EQ(tokens.identify("")->role, AccessRole::anyone);
  EXPECT_FALSE(tokens.identify("Bearer " + std::string(64, 'b')));
}

TEST(OwnToken, ADamagedFileIsMadeAnew) {
  const TemporaryFolder folder;
  const std::string path = daemon_token_path(folder.path(), 7077);
  must(open_own_token(folder.path(), 7077));
  for (const std::string& text :
       {std::string(), std::string(64, '\0'), std::string("two words\n"), std::string(5000, 'a')}) {
    std::ofstream(path, std::ios::trunc) << text;
    std::vector<std::string> lines;
    const Log log({.sink = [&](std::string_view line) { lines.emplace_back(line); }});
    const std::string token = must(open_own_token(folder.path(), 7077, log));
    EXPECT_EQ(token.size(), 64u);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(lines[0].find("damaged"), std::string::npos) << lines[0];
    EXPECT_EQ(must(open_own_token(folder.path(), 7077, log)), token);
    EXPECT_EQ(lines.size(), 1u);
  }
}

TEST(OwnToken, AFileThatOthersCanReadIsNotUsed) {
  const TemporaryFolder folder;
  must(open_own_token(folder.path(), 7077));
  ASSERT_EQ(::chmod(daemon_token_path(folder.path(), 7077).c_str(), 0640), 0);
  EXPECT_NE(message_of(open_own_token(folder.path(), 7077)).find("chmod 600"), std::string::npos);
}

TEST(OwnToken, AFolderThatOthersCanWriteHasNone) {
  const TemporaryFolder folder;
  const std::string state = folder.file("hocket");
  must(open_own_token(state, 7077));
  for (const mode_t mode : {0777u, 0770u}) {
    ASSERT_EQ(::chmod(state.c_str(), mode), 0);
    for (const std::uint16_t port : {7077, 7078}) {
      EXPECT_NE(message_of(open_own_token(state, port)).find("chmod go-w " + state),
                std::string::npos);
    }
  }
}

TEST(OwnToken, OneThatCanBeGuessedIsNotUsed) {
  const TemporaryFolder folder;
  const std::string path = folder.write("daemon-7077.token", "x\n");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  const std::string said = message_of(open_own_token(folder.path(), 7077));
  EXPECT_NE(said.find("at least 16 characters"), std::string::npos) << said;
  EXPECT_NE(said.find(path), std::string::npos) << said;
}

}  // namespace
}  // namespace hocket
