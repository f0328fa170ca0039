#include "core/files/owned_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/temporary_folder.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;

class OwnedPath : public ::testing::Test {
 protected:
  std::string make(const std::string& name, mode_t mode) const {
    const std::string path = folder_.file(name);
    fs::create_directories(path);
    set(path, mode);
    return path;
  }
  static void set(const std::string& path, mode_t mode) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  static std::string problem(const Result<void>& checked) {
    return checked ? "" : checked.error().message;
  }

  const TemporaryFolder folder_;
};

TEST_F(OwnedPath, AFolderIsPrivateIfNobodyElseWritesThere) {
  for (const mode_t mode : {0700u, 0750u, 0755u, 0500u})
    EXPECT_EQ(problem(check_private_folder(make("state", mode))), "") << mode;
  for (const mode_t mode : {0770u, 0775u, 0777u, 01777u, 0702u}) {
    const std::string path = make("state", mode);
    EXPECT_THAT(problem(check_private_folder(path)),
                AllOf(HasSubstr(mode_text(mode)), HasSubstr("chmod go-w " + path)));
  }
  EXPECT_EQ(problem(check_private_folder(folder_.file("none"))), "");
  EXPECT_EQ(problem(check_private_folder(folder_.file("none/deeper"))), "");
}

TEST_F(OwnedPath, NobodyReplacesAFolderAbove) {
  const std::string above = make("above", 0777), state = make("above/state", 0700);
  EXPECT_THAT(problem(check_private_folder(state)), HasSubstr("chmod o-w " + above));
  EXPECT_THAT(problem(check_private_folder(above + "/none")), HasSubstr("chmod o-w " + above));
  set(above, 01777);
  EXPECT_EQ(problem(check_private_folder(state)), "") << "as /tmp";
}

TEST_F(OwnedPath, ALinkLeadsWhereItsOwnerWants) {
  const std::string above = make("above", 01777), state = make("state", 0700);
  const std::string link = above + "/link";
  fs::create_symlink(state, link);
  EXPECT_EQ(problem(check_private_folder(link)), "") << "it is the user's own";
  set(state, 0777);
  EXPECT_THAT(problem(check_private_folder(link)), HasSubstr("chmod go-w " + state));
  set(state, 0700);
  fs::create_symlink("loop", above + "/loop");
  (void)check_private_folder(above + "/loop/x");  // ends
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give links to another user";
  ASSERT_EQ(::lchown(link.c_str(), 12345, 12345), 0);
  EXPECT_THAT(problem(check_private_folder(link)),
              AllOf(HasSubstr("user 12345"), HasSubstr("rm " + link)));
  EXPECT_THAT(problem(check_private_folder(link + "/deeper")), HasSubstr("user 12345"));
  set(above, 0755);
  EXPECT_EQ(problem(check_private_folder(link)), "") << "others could not have put it there";
}

TEST_F(OwnedPath, AFolderOfAnotherUserIsNotPrivate) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders to another user";
  const std::string state = make("state", 0700);
  ASSERT_EQ(::chown(state.c_str(), 12345, 12345), 0);
  EXPECT_THAT(problem(check_private_folder(state)),
              AllOf(HasSubstr("belongs to user 12345"), HasSubstr("chown 0 " + state)));
}

TEST_F(OwnedPath, AFileThatEverybodyCanWriteIsEverybodys) {
  const std::string folder = make("folder", 0755);
  const std::string path = folder_.write("folder/store.db", "");
  for (const mode_t mode : {0600u, 0644u, 0660u, 0664u}) {
    set(path, mode);
    EXPECT_EQ(problem(check_not_everybodys(path)), "") << mode;
  }
  for (const mode_t mode : {0666u, 0602u, 0777u}) {
    set(path, mode);
    EXPECT_THAT(problem(check_not_everybodys(path)),
                AllOf(HasSubstr(mode_text(mode)), HasSubstr("chmod o-w " + path)));
  }
  set(path, 0600);
  for (const mode_t mode : {0770u, 02775u, 01777u}) {
    set(folder, mode);
    EXPECT_EQ(problem(check_not_everybodys(path)), "") << mode;
  }
  set(folder, 0777);
  EXPECT_THAT(problem(check_not_everybodys(path)), HasSubstr("chmod o-w " + folder));
  EXPECT_THAT(problem(check_not_everybodys(folder + "/none")), HasSubstr("chmod o-w " + folder));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to another user";
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  set(folder, 01777);
  EXPECT_THAT(problem(check_not_everybodys(path)), HasSubstr("belongs to user 12345"));
  set(folder, 0755);
  EXPECT_EQ(problem(check_not_everybodys(path)), "") << "a store may be shared";
}

}  // namespace
}  // namespace hocket
