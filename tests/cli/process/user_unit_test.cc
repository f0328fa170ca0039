#include "cli/process/user_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/environment.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(UserUnit, IsWhereSystemdLooks) {
  EXPECT_EQ(user_unit_path(environment({{"HOME", "/users/ada"}})),
            "/users/ada/.config/systemd/user/hocket.service");
  EXPECT_EQ(user_unit_path(environment({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "/c"}})),
            "/c/systemd/user/hocket.service");
  // The specification of the XDG folders ignores relative paths.
  EXPECT_EQ(user_unit_path(environment({{"HOME", "/h"}, {"XDG_CONFIG_HOME", "c"}})),
            "/h/.config/systemd/user/hocket.service");
  EXPECT_EQ(user_unit_path(environment({})), "");
}

TEST(UserUnit, TheDaemonFindsItsFilesWhereTheUsersVerbsDo) {
  EXPECT_THAT(user_unit_variables(environment(
                  {{"HOCKET_STORE", "/s.db"}, {"XDG_STATE_HOME", ""}, {"PATH", "/bin"}})),
              ElementsAre(Pair("HOCKET_STORE", "/s.db")));
}

TEST(UserUnit, EachWordStaysOneWordAndMeansItself) {
  const auto text = unit_text({.command = {"/my env/hocket", "serve", "--store", R"(a"\%h$HOME)"},
                               .variables = {{"HOCKET_STORE", "/a $b%"}},
                               .folder = "/work of/100%"});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("ExecStart=\"/my env/hocket\" \"serve\" \"--store\" "
                               R"("a\"\\%%h$$HOME")"
                               "\n"));
  EXPECT_THAT(*text, HasSubstr("Environment=\"HOCKET_STORE=/a $b%%\"\n"));
  EXPECT_THAT(*text, HasSubstr("WorkingDirectory=/work of/100%%\n"));
}

TEST(UserUnit, NothingAddsALine) {
  EXPECT_FALSE(unit_text({.command = {"a\nExecStartPre=b"}, .variables = {}, .folder = "/"}));
  EXPECT_FALSE(unit_text({.command = {"a"}, .variables = {{"A", "b\n"}}, .folder = "/"}));
  EXPECT_FALSE(unit_text({.command = {"a"}, .variables = {}, .folder = "/\nA=b"}));
  EXPECT_FALSE(unit_text({.command = {"a"}, .variables = {}, .folder = "/\"b"}));
}

}  // namespace
}  // namespace hocket
