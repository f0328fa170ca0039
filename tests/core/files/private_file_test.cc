#include "core/files/private_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

mode_t mode_of(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

TEST(PrivateFile, IsReadOnlyByItsOwner) {
  const TemporaryFolder folder;
  const std::string path = folder.write("secret", "text\n");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(read_private_file(path, 5).value(), "text\n");
  EXPECT_EQ(read_private_file(path, 4).error().code, ErrorCode::unavailable);
  for (const mode_t mode : {0640u, 0620u, 0610u, 0604u, 0602u, 0601u}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_THAT(read_private_file(path, 5).error().message, HasSubstr("chmod 600")) << mode;
  }
  EXPECT_EQ(read_private_file(folder.file("none"), 5).error().code, ErrorCode::not_found);
}

TEST(PrivateFile, IsNoLinkAndNoPipe) {
  const TemporaryFolder folder;
  const std::string path = folder.write("secret", "text"), link = folder.file("link");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(::symlink(path.c_str(), link.c_str()), 0);
  EXPECT_THAT(read_private_file(link, 9).error().message, HasSubstr("symbolic link"));
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(read_private_file(pipe, 9).error().message, HasSubstr("it is a named pipe"));
  EXPECT_EQ(read_private_file(folder.path(), 9).error().code, ErrorCode::invalid_argument);
}

TEST(PrivateFile, OfAnotherUserIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to another user";
  const TemporaryFolder folder;
  const std::string path = folder.write("secret", "text");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_THAT(read_private_file(path, 9).error().message, HasSubstr("another user"));
}

TEST(PrivateFile, IsCreatedWholeOnceAndNeverReplaced) {
  const TemporaryFolder folder;
  const std::string path = folder.file("secret");
  const mode_t before = ::umask(0);
  EXPECT_TRUE(create_private_file(path, "first").value());
  ::umask(before);
  EXPECT_EQ(mode_of(path), 0600u);
  EXPECT_FALSE(create_private_file(path, "second").value());
  EXPECT_EQ(read_private_file(path, 9).value(), "first");

  const std::string target = folder.file("target"), link = folder.file("link");
  ASSERT_EQ(::symlink(target.c_str(), link.c_str()), 0);
  EXPECT_FALSE(create_private_file(link, "text").value());
  EXPECT_FALSE(std::filesystem::exists(target)) << "a link is not followed";
  EXPECT_FALSE(create_private_file(folder.file("none/secret"), "text"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2)
      << "nothing unfinished stays";
}

TEST(PrivateFile, NamesOfUnfinishedOnesAreKnown) {
  EXPECT_EQ(finished_name("daemon-7077.token.123"), "daemon-7077.token");
  EXPECT_EQ(finished_name("a.1"), "a");
  for (const char* name : {"", "a", "a.", "a.b", "a.1b", "a.-1", "12"}) {
    EXPECT_EQ(finished_name(name), "") << name;
  }
}

TEST(PrivateFile, MissingFoldersAreForTheOwnerAlone) {
  const TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  const mode_t before = ::umask(0);
  EXPECT_TRUE(create_private_folders(folder.file("a/b")));
  ::umask(before);
  EXPECT_EQ(mode_of(folder.file("a")), 0700u);
  EXPECT_EQ(mode_of(folder.file("a/b")), 0700u);
  EXPECT_EQ(mode_of(folder.path()), 0755u) << "an existing one keeps its mode";
  EXPECT_TRUE(create_private_folders(folder.file("a/b")));
  EXPECT_FALSE(create_private_folders(folder.write("file", "") + "/c"));
}

}  // namespace
}  // namespace hocket
