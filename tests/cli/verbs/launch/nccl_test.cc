// Tests `hocket nccl` as an installed program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/text.h"
#include "tests/scoped_environment.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class NcclVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_.file("bin"));
    std::filesystem::create_directories(folder_.file("lib"));
    std::filesystem::copy(HOCKET_PROGRAM, folder_.file("bin/hocket"));
    for (const std::string name : {"libnccl-tuner-hocket.so", "libnccl-profiler-hocket.so"}) {
      std::filesystem::copy(HOCKET_NCCL_PLUGIN_FOLDER "/" + name, folder_.file("lib/" + name));
    }
  }

  /// Runs `hocket nccl ARGUMENTS`; returns its exit status and sets `output_`.
  int run(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {folder_.file("bin/hocket"), "nccl"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run_shell(shell_text(words));
  }
  int run_shell(const std::string& text) {
    FILE* const pipe = ::popen(("{ " + text + "; } 2>&1").c_str(), "r");
    output_.clear();
    for (int c = 0; (c = ::fgetc(pipe)) != EOF;) output_ += static_cast<char>(c);
    return WEXITSTATUS(::pclose(pipe));
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_.file(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryFolder folder_;
  std::string output_;
};

TEST_F(NcclVerb, TheCommandHasThePluginAndItsExitStatusIsItsOwn) {
  EXPECT_EQ(run({"--explore", "5%", "--daemon", "http://h:1", "--", "sh", "-c",
                 "echo $NCCL_TUNER_PLUGIN $NCCL_PROFILER_PLUGIN ${LD_LIBRARY_PATH%%:*}; "
                 "echo $HOCKET_NCCL_EXPLORE $HOCKET_DAEMON; exit 7"}),
            7);
  EXPECT_EQ(output_, "hocket hocket " + folder_.file("lib") + "\n0.05 http://h:1\n");
}

TEST_F(NcclVerb, AShellTakesTheVariables) {
  const ScopedEnvironment variable("LD_LIBRARY_PATH", "/a folder/with 'quotes'");
  EXPECT_EQ(run_shell("eval \"$(" + shell_quoted(folder_.file("bin/hocket")) +
                      " nccl --env)\" && echo \"$NCCL_TUNER_PLUGIN $LD_LIBRARY_PATH\""),
            0);
  EXPECT_EQ(output_, "hocket " + folder_.file("lib") + ":/a folder/with 'quotes'\n");
}

TEST_F(NcclVerb, AFileOfNcclsGetsThePluginOnce) {
  const std::string file = folder_.write("nccl.conf", "NCCL_DEBUG=WARN\n");
  EXPECT_EQ(run({"--install", file, "--explore", "5%"}), 0) << output_;
  EXPECT_THAT(text_of("nccl.conf"), HasSubstr("HOCKET_NCCL_EXPLORE=0.05\n"));
  const std::string text = text_of("nccl.conf");
  EXPECT_THAT(text, HasSubstr("NCCL_DEBUG=WARN\n"));
  EXPECT_THAT(text, HasSubstr("\nNCCL_TUNER_PLUGIN="));
  EXPECT_THAT(output_, HasSubstr(file + " has now:\n"));
  EXPECT_EQ(run({"--install", file}), 0);
  EXPECT_EQ(text_of("nccl.conf"), text);
  EXPECT_THAT(output_, HasSubstr(file + " has:\n"));
  folder_.write("nccl.conf", "NCCL_TUNER_PLUGIN=aws-ofi\n");
  EXPECT_EQ(run({"--install", file}), 2);
  EXPECT_THAT(output_, HasSubstr("aws-ofi"));
  EXPECT_EQ(text_of("nccl.conf"), "NCCL_TUNER_PLUGIN=aws-ofi\n");
}

TEST_F(NcclVerb, WithoutThePluginNothingRuns) {
  std::filesystem::remove_all(folder_.file("lib"));
  EXPECT_EQ(run({"--", "echo", "ran"}), 2);
  EXPECT_THAT(output_, HasSubstr("pip install hocket"));
  EXPECT_THAT(output_, Not(HasSubstr("\nran")));
}

TEST_F(NcclVerb, APluginThatCannotBeOpenedIsALineInTheJobsLogAndTheJobRuns) {
  EXPECT_EQ(run({"--", "echo", "ran"}), 0);
  EXPECT_EQ(output_, "ran\n");
  folder_.write("lib/libnccl-profiler-hocket.so", "no library");
  EXPECT_EQ(run({"--", "echo", "ran"}), 0);
  EXPECT_THAT(output_, ::testing::MatchesRegex(
                           "hocket: NCCL will run without hocket's plugin: [^\n]*"
                           "libnccl-profiler-hocket.so[^\n]*`hocket doctor`[^\n]*\nran\n"));
}

TEST_F(NcclVerb, ACommandAndAFileAreOneTooMany) {
  EXPECT_EQ(run({"--install", folder_.file("nccl.conf"), "--", "true"}), 2);
  EXPECT_EQ(run({"--env", "--", "true"}), 2);
  EXPECT_EQ(run({}), 2);
  EXPECT_THAT(output_, HasSubstr("there is no command to run"));
}

}  // namespace
}  // namespace hocket
