#include "cli/inputs/access/store_access.h"

#include <gmock/gmock.h>

#include "tests/silent_server.h"
#include "tests/store/fixtures.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

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

}  // namespace
}  // namespace hocket
