// Tests `hocket serve --install`; the daemon itself is tested with daemon/.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/program.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ServeInstall, TheUnitStartsTheSameDaemon) {
  const TemporaryFolder folder;
  const auto ended = hocket_run(folder,
                                {"serve", "--listen", "127.0.0.1:7078", "--json-log", "--name", "a",
                                 "--name", "b", "--install"},
                                {{"XDG_CONFIG_HOME", folder.file("config")}});
  ASSERT_EQ(ended.status, 0) << ended.err;
  const std::string file = folder.file("config/systemd/user/hocket.service");
  EXPECT_THAT(ended.out, HasSubstr(file));
  EXPECT_THAT(ended.out, HasSubstr("systemctl --user daemon-reload"));
  const std::string text = text_of(file);
  EXPECT_THAT(text, HasSubstr("\" \"serve\" "));
  for (const char* word :
       {"\"--listen=127.0.0.1:7078\"", "\"--json-log\"", "\"--name=a\"", "\"--name=b\""})
    EXPECT_THAT(text, HasSubstr(word));
  EXPECT_THAT(text, Not(HasSubstr("--install")));
  EXPECT_THAT(text, HasSubstr("Environment=\"HOCKET_STORE=" + folder.file("store.db") + "\""));
}

TEST(ServeInstall, AFileThatIsNamedIsWritten) {
  const TemporaryFolder folder;
  const std::string file = folder.file("my.service");
  const auto ended = hocket_run(folder, {"serve", "--install", file});
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(text_of(file), HasSubstr("[Install]\nWantedBy=default.target\n"));
}

}  // namespace
}  // namespace hocket
