// Tests `hocket demo` as an installed program, with a job that fails at once: the test of the wheel
// (tests/packages) tunes the job itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/program.h"
#include "tests/scoped_environment.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DemoVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_.file("bin"));
    std::filesystem::create_directories(folder_.file("libexec/hocket"));
    std::filesystem::create_directories(folder_.file("state/hocket"));
    std::filesystem::permissions(folder_.file("state/hocket"), std::filesystem::perms::owner_all);
    std::filesystem::copy(HOCKET_PROGRAM, folder_.file("bin/hocket"));
    std::ofstream(job_) << "#!/bin/sh\necho no step was made >&2\nexit 9\n";
    std::filesystem::permissions(job_, std::filesystem::perms::owner_all);
  }

  /// Runs the installed program; returns its exit status and sets `output_`.
  int run(const std::string& arguments) {
    const std::string out = folder_.file("out");
    const int status =
        std::system(("XDG_STATE_HOME=" + folder_.file("state") + " " + folder_.file("bin/hocket") +
                     " " + arguments + " >" + out + " 2>&1")
                        .c_str());
    std::ifstream file(out);
    output_ = {std::istreambuf_iterator<char>(file), {}};
    return WEXITSTATUS(status);
  }

  TemporaryFolder folder_;
  const std::string job_ = folder_.file("libexec/hocket/gpt2");
  const std::string text_ = " --text " + folder_.file("share/doc/hocket/docs");
  std::string output_;
};

TEST_F(DemoVerb, ShowsTheCommandAndWhatTheJobSaid) {
  const std::string store = folder_.file("own.db");
  EXPECT_EQ(run("demo --trials 3 --confirm 2 --store " + store), 2) << output_;
  EXPECT_THAT(output_, HasSubstr("$ hocket tune --trials 3 --store " + store + " --confirm 2 -- " +
                                 folder_.file("bin/hocket") + " run --ranks 2 -- " + job_ + text_ +
                                 " --link 500mbit --steps 14\n"));
  EXPECT_THAT(output_, HasSubstr("no step was made"));
  EXPECT_THAT(output_, Not(HasSubstr("$ hocket fetch")));
  EXPECT_TRUE(std::filesystem::exists(store));
}

TEST_F(DemoVerb, ItsOwnStoreIsEmptiedFirst) {
  const std::string store = folder_.write("state/hocket/demo.db", "of another version");
  folder_.write("state/hocket/hocket.db", "of the user");
  EXPECT_EQ(run("demo --trials 1"), 2) << output_;
  EXPECT_THAT(output_, HasSubstr("no step was made"));
  std::ifstream file(folder_.file("state/hocket/hocket.db"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "of the user");
}

TEST_F(DemoVerb, ItsJobCanBeStartedByOtherCommands) {
  EXPECT_EQ(run("demo --job"), 0);
  EXPECT_EQ(output_, job_ + text_ + "\n");
}

TEST_F(DemoVerb, RefusesWhatItCannotDo) {
  EXPECT_EQ(run("demo --trials 0"), 2);
  EXPECT_THAT(output_, HasSubstr("from 1 to 1000"));
  std::filesystem::remove(job_);
  EXPECT_EQ(run("demo"), 2);
  EXPECT_THAT(output_, HasSubstr("pip install hocket"));
}

}  // namespace
}  // namespace hocket
