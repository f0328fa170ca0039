// Tests the program under limits of the system: of open files, and of a file's size.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kTuneCommand =
    "tune --param X=int:1..4 --trials 2 --objective 'regex:t=([0-9]+)' -- "
    "sh -c 'echo t=$X'";

const std::string kServeCommand = "serve --listen 127.0.0.1:0 --no-tokens";

struct Said {
  int status = 0;  ///< as in a shell
  std::string text = {};
};

class LimitsTest : public ::testing::Test {
 protected:
  /// Runs `hocket ARGUMENTS` after the shell's command `limit`, and returns all that it prints.
  Said run(const std::string& limit, const std::string& arguments) const {
    const std::string folder = folder_.path();
    const std::string command = "exec 2>&1; export TMPDIR=" + folder + " XDG_STATE_HOME=" + folder +
                                " HOCKET_STORE=" + folder + "/store.db; cd " + folder + "; " +
                                limit + "; exec timeout -s TERM 60 " + HOCKET_PROGRAM + " " +
                                arguments;
    std::FILE* const pipe = popen(command.c_str(), "r");
    Said said;
    std::array<char, 4096> block;
    while (const std::size_t length = std::fread(block.data(), 1, block.size(), pipe)) {
      said.text.append(block.data(), length);
    }
    const int status = pclose(pipe);
    said.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return said;
  }

  const TemporaryFolder folder_;
};

TEST_F(LimitsTest, TooFewOpenFilesAreRefusedWithTheNumberThatIsNeeded) {
  for (int files = 10; files < 64; files += 9) {
    for (const std::string& verb : {std::string("studies"), kTuneCommand, kServeCommand}) {
      const Said said = run("ulimit -n " + std::to_string(files), verb);
      EXPECT_EQ(said.status, 2) << said.text;
      EXPECT_THAT(said.text, HasSubstr("only " + std::to_string(files) + " files may be open"));
      EXPECT_THAT(said.text, HasSubstr("ulimit -n 64"));
    }
  }
}

TEST_F(LimitsTest, TheNumberOfOpenFilesThatIsNamedSuffices) {
  EXPECT_EQ(run("ulimit -n 64", kTuneCommand).status, 3);
  EXPECT_EQ(run("ulimit -n 64", "studies").status, 0);
  EXPECT_EQ(run("ulimit -n 64", "run --ranks 2 -- true").status, 0);
}

TEST_F(LimitsTest, AFileThatMayNotGrowIsAsAFullDisk) {
  ASSERT_EQ(run("true", kTuneCommand).status, 3);
  for (const char* limit : {"ulimit -f 0", "ulimit -f 1"}) {
    for (const std::string& verb : {kTuneCommand, kServeCommand}) {
      const Said said = run(limit, verb);
      EXPECT_EQ(said.status, 2) << said.text;
      EXPECT_THAT(said.text, AllOf(HasSubstr("disk full"), HasSubstr("ulimit -f")));
    }
  }
  const Said after = run("true", "studies");
  EXPECT_EQ(after.status, 0) << after.text;
  EXPECT_THAT(after.text, HasSubstr("finished"));
}

}  // namespace
}  // namespace hocket
