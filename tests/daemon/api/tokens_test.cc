#include "daemon/api/tokens.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <vector>

#include "tests/store/fixtures.h"

namespace hocket {
namespace {

const std::string kSecret = "0123456789abcdef";

TEST(Tokens, KnowsWhoseEachIs) {
  const auto tokens = must(Tokens::parse("# ours\n\nread eve " + kSecret + "r\nreport job " +
                                         kSecret + "j\nadmin ada " + kSecret + "a\n"));
  EXPECT_FALSE(tokens.is_open());
  EXPECT_EQ(tokens.identify("Bearer " + kSecret + "r"), (Identity{"eve", Role::read}));
  EXPECT_EQ(tokens.identify("Bearer " + kSecret + "j"), (Identity{"job", Role::report}));
  EXPECT_EQ(tokens.identify("Bearer " + kSecret + "a"), (Identity{"ada", Role::admin}));
  EXPECT_EQ(tokens.identify(""), (Identity{"", Role::anyone}));
  for (const std::string& wrong :
       {"Bearer " + kSecret, "Bearer " + kSecret + "aa", "Basic " + kSecret + "a", kSecret + "a",
        std::string("Bearer ")}) {
    EXPECT_FALSE(tokens.identify(wrong)) << wrong;
  }
  EXPECT_EQ(Tokens().identify("anything"), (Identity{"local", Role::admin}));
}

TEST(Tokens, RefusesALineByItsNumberAndKeepsTheTokenToItself) {
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
    const auto message = message_of(Tokens::parse(good + line));
    EXPECT_TRUE(message.starts_with("line 2: ")) << message;
    EXPECT_EQ(message.find(kSecret), std::string::npos) << message;
  }
  for (const char* nothing : {"", "\n# none\n"}) {
    EXPECT_EQ(code_of(Tokens::parse(nothing)), ErrorCode::invalid_argument);
  }
}

TEST(Tokens, AFileIsItsOwnersAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.file("tokens");
  EXPECT_EQ(code_of(Tokens::read(path)), ErrorCode::not_found);
  write_bytes(path, "read eve " + kSecret + "\n");
  for (const mode_t mode : {0640u, 0604u, 0620u, 0602u}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_NE(message_of(Tokens::read(path)).find("chmod 600"), std::string::npos);
  }
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_FALSE(must(Tokens::read(path)).is_open());
}

}  // namespace
}  // namespace hocket
