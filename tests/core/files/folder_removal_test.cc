#include "core/files/folder_removal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

bool is_trace(std::string_view name) {
  return name.starts_with("rank-");
}

TEST(FolderRemoval, RemovesOwnFilesAndTheFolderUnlessItHasOthers) {
  const TemporaryFolder dir;
  const std::string folder = dir.file("p");
  fs::create_directory(folder);
  dir.write("p/rank-0", "123");
  dir.write("p/notes", "x");
  EXPECT_EQ(remove_own_files(folder, is_trace).value(), 3);
  EXPECT_FALSE(fs::exists(folder + "/rank-0"));
  EXPECT_TRUE(fs::exists(folder + "/notes"));
  fs::remove(folder + "/notes");
  EXPECT_EQ(remove_own_files(folder, is_trace).value(), 0);
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_EQ(remove_own_files(folder, is_trace).value(), 0) << "there is nothing to remove";
}

TEST(FolderRemoval, ALinkGoesAndWhatItNamesStays) {
  const TemporaryFolder dir;
  fs::create_directories(dir.file("other"));
  const std::string precious = dir.write("other/rank-0", "x");
  fs::create_directory_symlink(dir.file("other"), dir.file("p"));
  EXPECT_EQ(remove_own_files(dir.file("p"), is_trace).value(), 0);
  EXPECT_FALSE(fs::is_symlink(dir.file("p")));
  EXPECT_TRUE(fs::exists(precious));

  fs::create_directory(dir.file("p"));
  fs::create_symlink(precious, dir.file("p/rank-1"));
  fs::create_directory_symlink(dir.file("other"), dir.file("p/rank-2"));
  fs::create_symlink(dir.file("nothing"), dir.file("p/rank-3"));
  ASSERT_EQ(::mkfifo(dir.file("p/rank-4").c_str(), 0600), 0);
  EXPECT_EQ(remove_own_files(dir.file("p"), is_trace).value(), 0);
  EXPECT_FALSE(fs::exists(dir.file("p")));
  EXPECT_TRUE(fs::exists(precious));
}

TEST(FolderRemoval, WhatCannotBeRemovedIsSaid) {
  const TemporaryFolder dir;
  fs::create_directories(dir.file("p/rank-0/sub"));
  EXPECT_THAT(remove_own_files(dir.file("p"), is_trace).error().message,
              HasSubstr("p/rank-0: Is a directory"));
  EXPECT_TRUE(fs::exists(dir.file("p/rank-0/sub")));
  const std::string file = dir.write("file", "x");
  EXPECT_EQ(remove_own_files(file, is_trace).error().code, ErrorCode::unavailable);
  EXPECT_TRUE(fs::exists(file));
}

}  // namespace
}  // namespace hocket
