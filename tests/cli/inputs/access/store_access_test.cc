#include "cli/inputs/access/store_access.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "core/base/text.h"
#include "tests/cli/answer.h"
#include "tests/scoped_environment.h"
#include "tests/silent_server.h"
#include "tests/store/fixtures.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StoreAccess, AServerThatIsSilentIsLeftAloneAlsoForWriting) {
  const SilentServer server(SilentServer::Silence::once_ready);
  const auto opened = open_for_writing(server.store());
  EXPECT_EQ(code_of(opened), ErrorCode::invalid_argument);
  EXPECT_THAT(message_of(opened), HasSubstr("the server does not answer"));
  EXPECT_EQ(server.connections(), 1);
}

TEST(StoreAccess, AMissingFileIsMadeForWritingAlone) {
  const TemporaryFolder folder;
  EXPECT_EQ(code_of(open_existing(folder.file("a.db"))), ErrorCode::not_found);
  EXPECT_EQ(code_of(open_in_time(folder.file("a.db"))), ErrorCode::not_found);
  EXPECT_TRUE(open_for_writing(folder.file("a.db")));
  EXPECT_TRUE(open_in_time(folder.file("a.db")));
}

TEST(StoreAccess, AConnectionOfLibpqIsNoFileAndItsPasswordIsNotRepeated) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const std::string text = "host=db dbname=x password=geheim";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"studies"},
           {"trials", "x"},
           {"best"},
           {"profiles", "list"},
           {"audit"},
           {"doctor", "--no-start"},
           {"versions"},
           {"promote", "x"},
           {"tune", "--trials", "1", "--param", "a=1,2", "--", "true"},
           {"work", "x"},
           {"store", "copy", "--to", "b.db", "--from"},
           {"fetch", "--workload", "w"}}) {
    for (const bool is_option : {true, false}) {
      const ScopedEnvironment store("HOCKET_STORE", is_option ? nullptr : text.c_str());
      const ScopedEnvironment daemon("HOCKET_DAEMON", nullptr);
      std::vector<std::string> all = words;
      if (words.front() == "store") {
        all.push_back(text);
      } else if (is_option) {
        all.insert(all.begin() + 1, {"--store", text});
      }
      const Answer answer = ask_hocket(all);
      EXPECT_THAT(answer.out + answer.err, Not(HasSubstr("geheim"))) << shell_text(all);
      EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << shell_text(all);
    }
  }
  std::filesystem::current_path(before);
}

TEST(StoreAccess, ShownCommandsNameTheStoreWhereTheyWouldFindAnother) {
  const ScopedEnvironment store("HOCKET_STORE", "/var/lib/of everybody.db");
  {
    const ScopedEnvironment daemon("HOCKET_DAEMON", nullptr);
    EXPECT_EQ(store_argument_for_start(""), "") << "the environment names it";
    EXPECT_EQ(store_argument_for_start("my s.db"), " --store 'my s.db'");
    EXPECT_THAT(store_argument_for_start("postgresql://me:secret@db/h"), Not(HasSubstr("secret")));
  }
  const ScopedEnvironment daemon("HOCKET_DAEMON", "http://127.0.0.1:1");
  EXPECT_EQ(store_argument_for_start(""), " --store '/var/lib/of everybody.db'")
      << "without it they would ask the daemon";
}

}  // namespace
}  // namespace hocket
