#include "core/files/file_problem.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/temporary_folder.h"

namespace hocket {
namespace {

TEST(FileProblem, SaysWhyAFileCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_EQ(file_problem(folder.write("a", "text")), "");
  EXPECT_EQ(file_problem(folder.file("missing")), "No such file or directory");
  EXPECT_EQ(file_problem(folder.path()), "Is a directory");
  EXPECT_EQ(file_problem(folder.file("a") + "/b"), "Not a directory");
  mkfifo(folder.file("pipe").c_str(), 0600);
  EXPECT_EQ(file_problem(folder.file("pipe")), "") << "and it does not wait for a writer";
}

}  // namespace
}  // namespace hocket
