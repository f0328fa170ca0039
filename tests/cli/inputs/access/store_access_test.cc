#include "cli/inputs/access/store_access.h"

#include <gmock/gmock.h>

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
