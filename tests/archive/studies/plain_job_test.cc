#include "archive/studies/plain_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "archive/studies/job_similarity.h"
#include "tests/temporary_folder.h"
#include "tuner/space/parameter_syntax.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

Space space_of(const std::vector<std::string>& texts) {
  std::vector<Parameter> parameters;
  for (const auto& text : texts) parameters.push_back(*parse_parameter(text));
  return *Space::make(std::move(parameters));
}

class PlainJobTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::canonical(folder_.path()).string();
    for (const char* name : {"/a", "/b", "/a/pkg"}) fs::create_directories(root_ + name);
    for (const char* name :
         {"/a/train.py", "/b/train.py", "/a/other.py", "/a/pkg/run.py", "/a/pkg/__main__.py"}) {
      std::ofstream(root_ + name) << "pass\n";
    }
  }

  std::string program(const Words& command, const std::string& folder = "/a") {
    return program_of(command, root_ + folder);
  }

  Workload workload(const Words& command, const std::string& folder = "/a") {
    return plain_workload(command, root_ + folder, space_);
  }

  TemporaryFolder folder_;
  std::string root_;
  const Space space_ = space_of({"X=int:1..9"});
};

TEST_F(PlainJobTest, AScriptIsItsFileHoweverItIsStarted) {
  const std::string file = root_ + "/a/train.py";
  EXPECT_EQ(program({"python3", "train.py"}), file);
  EXPECT_EQ(program({"torchrun", "--nproc-per-node", "2", "../a/./train.py", "--x", "3"}), file);
  EXPECT_EQ(program({"python", "-m", "a.train"}, "/"), file);
  EXPECT_EQ(program({"python", "../a/train.py"}, "/b"), file);
  EXPECT_EQ(program({"sh", "-c", "cd ../a && python train.py"}, "/b"), file);
  EXPECT_EQ(program({"./train.py"}), file);
  EXPECT_EQ(program({"uv", "run", "train.py"}), file);
  fs::create_symlink(file, root_ + "/b/link.py");
  EXPECT_EQ(program({"python", "link.py"}, "/b"), file);
  EXPECT_EQ(program({"python", "-m", "pkg.run"}), root_ + "/a/pkg/run.py");
  EXPECT_EQ(program({"python", "-m", "pkg"}), root_ + "/a/pkg/__main__.py");
}

TEST_F(PlainJobTest, WhatIsNotTheSameIsNeverTakenForIt) {
  const std::vector<Workload> all = {
      workload({"python3", "train.py"}),
      workload({"python3", "other.py"}),
      workload({"python3", "train.py"}, "/b"),
      workload({"python3", "-c", "import a"}),
      workload({"python3", "-c", "import b"}),
      workload({"python3", "-c", "import a"}, "/b"),
      workload({"python3", "-m", "installed"}),
      workload({"python3", "-m", "installed"}, "/b"),
      workload({"sh", "-c", "a; b"}),
      workload({"sh", "-c", "a; c"}),
      workload({"no-such-runner", "train.py"}),
      workload({"no-such-runner", "other.py"}),
      workload({"python3"}),
      workload({"python3"}, "/b"),
      plain_workload(Words{"python3", "train.py"}, root_ + "/a", space_of({"Y=int:1..9"})),
      plain_workload(Words{"python3", "train.py"}, root_ + "/a", space_of({"X=levels:1,2"})),
      plain_workload(Words{"python3", "train.py"}, root_ + "/a",
                     space_of({"X=int:1..9", "Y=int:1..9"})),
      plain_workload(Words{"python3", "train.py"}, root_ + "/a", space_, "mine"),
      plain_workload(Words{"python3", "train.py"}, root_ + "/a", space_, "yours"),
  };
  for (const auto& one : all) {
    for (const auto& other : all) {
      const bool is_same = &one == &other;
      SCOPED_TRACE(one.program + " " + one.name + ", " + other.program + " " + other.name);
      ASSERT_EQ(fingerprint(one) == fingerprint(other), is_same);
      ASSERT_EQ(is_same_job(one, other), is_same);
      ASSERT_EQ(job_distance(one, other) <= kFarthestDonor, is_same);
    }
  }
}

TEST_F(PlainJobTest, IsTheSameWithOtherArgumentsRangesAndContent) {
  const Workload before = workload({"python3", "train.py", "--epochs", "3"});
  std::ofstream(root_ + "/a/train.py") << "print('edited')\n";
  EXPECT_EQ(plain_workload(Words{"nice", "python3.11", "train.py"}, root_ + "/a",
                           space_of({"X=int:5..99:log"})),
            before);
  EXPECT_EQ(before.name, "train.py");
}

TEST_F(PlainJobTest, AnyBytesBecomeText) {
  const auto one = workload({"python3", "-c", "\xff"});
  const auto other = workload({"python3", "-c", "\xfe"});
  EXPECT_NE(fingerprint(one), fingerprint(other));
  const std::string text(5000, 'x');
  EXPECT_NE(program({"python3", "-c", text + "1"}), program({"python3", "-c", text + "2"}));
}

TEST_F(PlainJobTest, StudiesOfEarlierVersionsAreWhatTheirCommandSays) {
  const StudyDefinition definition{
      .space = space_, .objective = *parse_objective("wall"), .working_directory = root_ + "/a"};
  StudyRow study;
  study.command = {"python3", "train.py"};
  EXPECT_EQ(known_workload({.name = "python3"}, study, definition), workload(study.command));
  study.command = {"bin/hocket", "run", "--", "./job"};
  EXPECT_EQ(known_workload({.name = "job"}, study, definition), workload(study.command));
  // A name that the user or the job gave says what it is; a program of its own does, too.
  for (const Workload& known : {Workload{.name = "mine"}, Workload{"python3", {{"t", 4}}},
                                workload({"python3", "other.py"})}) {
    EXPECT_EQ(known_workload(known, study, definition), known);
  }
  EXPECT_TRUE(is_same_job({.name = "mine"}, plain_workload(study.command, root_, space_, "mine")));
}

}  // namespace
}  // namespace hocket
