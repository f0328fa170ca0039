// Tests `hocket torch` as an installed program, with a package that says when Python imports it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <filesystem>
#include <string>

#include "core/base/text.h"
#include "tests/scoped_environment.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

class TorchVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string autorun = folder_.file("share/hocket/python/hocket/torch/autorun");
    std::filesystem::create_directories(autorun);
    std::ofstream(autorun + "/sitecustomize.py")
        << "import os\nprint('imported', os.environ.get('HOCKET_TORCH_EXPLORE'))\n";
    std::filesystem::create_directories(folder_.file("bin"));
    std::filesystem::copy(HOCKET_PROGRAM, folder_.file("bin/hocket"));
  }

  /// Runs `hocket torch ARGUMENTS` in the folder; returns its exit status and adds its output to
  /// `output_`.
  int run(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {folder_.file("bin/hocket"), "torch"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    FILE* const pipe = ::popen((shell_text(words) + " 2>&1").c_str(), "r");
    output_.clear();
    for (int c = 0; (c = ::fgetc(pipe)) != EOF;) output_ += static_cast<char>(c);
    return WEXITSTATUS(::pclose(pipe));
  }

  TemporaryFolder folder_;
  std::string output_;
};

TEST_F(TorchVerb, EveryPythonOfTheCommandImportsThePackage) {
  EXPECT_EQ(run({"--explore", "3%", "--", "sh", "-c", "python3 -c 'print(1)'; exit 7"}), 7);
  EXPECT_EQ(output_, "imported 0.03\n1\n");
}

TEST_F(TorchVerb, AShareThatIsNoneIsAnError) {
  for (const char* share : {"51%", "-1", "much"}) {
    EXPECT_EQ(run({"--explore", share, "--", "true"}), 2);
    EXPECT_THAT(output_, HasSubstr("--explore"));
  }
}

TEST_F(TorchVerb, ACommandThatIsNotThereIsAnError) {
  EXPECT_EQ(run({"--", "/no/such/program"}), 2);
  EXPECT_THAT(output_, HasSubstr("cannot start /no/such/program"));
  EXPECT_EQ(run({}), 2);
  EXPECT_THAT(output_, HasSubstr("there is no command to run"));
  EXPECT_EQ(run({"torchrun", "train.py"}), 2);
  EXPECT_THAT(output_, HasSubstr("a command to run goes behind \"--\""));
}

TEST_F(TorchVerb, WithoutThePackageNothingRuns) {
  std::filesystem::remove_all(folder_.file("share"));
  // Without the variable it would take the package of its build.
  const std::string folder = folder_.file("share/hocket/python");
  const ScopedEnvironment variable("HOCKET_PYTHON", folder.c_str());
  EXPECT_EQ(run({"--", "echo", "ran"}), 2);
  EXPECT_THAT(output_, HasSubstr("there is no " + folder_.file("share/hocket/python/hocket")));
  EXPECT_THAT(output_, testing::Not(HasSubstr("ran")));
}

}  // namespace
}  // namespace hocket
