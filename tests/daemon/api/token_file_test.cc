#include "daemon/api/token_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <vector>

#include "tests/store/fixtures.h"

namespace hocket {
namespace {

const std::string kSecret = "0123456789abcdef";

TEST(AccessTokens, KnowsWhoseEachIs) {
  const auto tokens = must(AccessTokens::parse("# ours\n\nread eve " + kSecret + "r\nreport job " +
                                               kSecret + "j\nadmin ada " + kSecret + "a\n"));
  EXPECT_FALSE(tokens.is_open());
  EXPECT_EQ(tokens.identify("Bearer " + kSecret + "r"), (ClientIdentity{"eve", AccessRole::read}));
  EXPECT_EQ(tokens.identify("Bearer " + kSecret + "j"),
            (ClientIdentity{"job", AccessRole::report}));
  EXPECT_EQ(tokens.identify("Bearer " + kSecret + "a"), (ClientIdentity{"ada", AccessRole::admin}));
  EXPECT_EQ(tokens.identify(""), (ClientIdentity{"", AccessRole::anyone}));
  for (const std::string& wrong :
       {"Bearer " + kSecret, "Bearer " + kSecret + "aa", "Basic " + kSecret + "a", kSecret + "a",
        std::string("Bearer ")}) {
    EXPECT_FALSE(tokens.identify(wrong)) << wrong;
  }
  EXPECT_EQ(AccessTokens().identify("anything"), (ClientIdentity{"local", AccessRole::admin}));
}

TEST(AccessTokens, RefusesALineByItsNumberAndKeepsTheTokenToItself) {
  const std::string good = "read eve " + kSecret + "r\n";
  const std::vector<std::string> lines = {kSecret + " eve x",
                                          "root eve " + kSecret,
                                          "read eve",
                                          "read eve short",
                                          "read eve " + std::string(513, 'x'),
                                          "read eve " + kSecret + "\x80",
                                          "read " + kSecret,
                                          "read eve " + kSecret + " " + kSecret,
                                          "read e\x01ve " + kSecret,
                                          "admin ada " + kSecret + "r",
                                          "read " + std::string(101, 'n') + " " + kSecret};
  for (const std::string& line : lines) {
    const auto message = message_of(AccessTokens::parse(good + line));
    EXPECT_TRUE(message.starts_with("line 2: ")) << message;
    EXPECT_EQ(message.find(kSecret), std::string::npos) << message;
  }
  for (const char* nothing : {"", "\n# none\n"}) {
    EXPECT_EQ(code_of(AccessTokens::parse(nothing)), ErrorCode::invalid_argument);
  }
}

TEST(AccessTokens, AFileIsItsOwnersAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.file("tokens");
  EXPECT_EQ(code_of(AccessTokens::read(path)), ErrorCode::not_found);
  write_bytes(path, "read eve " + kSecret + "\n");
  for (const mode_t mode : {0640u, 0604u, 0620u, 0602u}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_NE(message_of(AccessTokens::read(path)).find("chmod 600"), std::string::npos);
  }
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_FALSE(must(AccessTokens::read(path)).is_open());
}

}  // namespace
}  // namespace hocket
