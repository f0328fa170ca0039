#include "tuner/slurm/slurm_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> read(std::string_view text) {
  const auto words = slurm_options(text);
  EXPECT_TRUE(words) << (words ? "" : words.error().message);
  return words ? *words : std::vector<std::string>();
}

std::string refusal(std::string_view text) {
  const auto words = slurm_options(text);
  EXPECT_FALSE(words) << text;
  if (words) return "";
  EXPECT_EQ(words.error().code, ErrorCode::invalid_argument);
  return words.error().message;
}

TEST(SlurmOptionsTest, TextIsSplitAsAShellDoes) {
  EXPECT_THAT(read(""), IsEmpty());
  EXPECT_THAT(read("  --nodes 4\t--time=10:00 \n"), ElementsAre("--nodes", "4", "--time=10:00"));
  EXPECT_THAT(read("-J 'my job' --comment=\"it's \\\"so\\\" \\x\" -C a\\ b ''-H"),
              ElementsAre("-J", "my job", "--comment=it's \"so\" \\x", "-C", "a b", "-H"));
  EXPECT_THAT(read("--dependency ''"), ElementsAre("--dependency", ""));
  EXPECT_THAT(refusal("--comment='open"), HasSubstr("a quote is not closed"));
}

TEST(SlurmOptionsTest, OptionsWithAndWithoutValuesAreKnown) {
  EXPECT_THAT(read("--exclusive --requeue -H -QN4 -n8 --no-requeue --gres gpu:8 -p high --nice"),
              ElementsAre("--exclusive", "--requeue", "-H", "-QN4", "-n8", "--no-requeue", "--gres",
                          "gpu:8", "-p", "high", "--nice"));
  EXPECT_THAT(read("--begin -1"), ElementsAre("--begin", "-1")) << "a value may begin with a dash";
  EXPECT_THAT(
      read("--export=NONE --wait-all-nodes=1 --partition a --use-min-nodes"),
      ElementsAre("--export=NONE", "--wait-all-nodes=1", "--partition", "a", "--use-min-nodes"));
}

TEST(SlurmOptionsTest, WhatDoesNotGoWithWorkersIsRefused) {
  EXPECT_THAT(refusal("--nodes 2 --array=0-3"),
              HasSubstr("--array cannot be given: hocket makes the array of workers itself"));
  EXPECT_THAT(refusal("-a 0-3"), HasSubstr("-a cannot be given"));
  EXPECT_THAT(refusal("-Ha0-3"), HasSubstr("-a cannot be given"));
  EXPECT_THAT(refusal("--arr 0-3"), HasSubstr("--arr cannot be given"));
  EXPECT_THAT(refusal("--wrap 'echo'"), HasSubstr("the script is hocket's"));
  EXPECT_THAT(refusal("--parsable"), HasSubstr("--parsable"));
  EXPECT_THAT(refusal("--wait"), HasSubstr("hocket follows the workers itself"));
  EXPECT_THAT(refusal("-W"), HasSubstr("-W cannot"));
  EXPECT_THAT(refusal("--test-only"), HasSubstr("submits no job"));
  EXPECT_THAT(refusal("-M all"), HasSubstr("on one cluster"));
  EXPECT_THAT(refusal("--export-file=x"), HasSubstr("use --export"));
}

TEST(SlurmOptionsTest, WordsThatAreNoOptionsAreRefused) {
  EXPECT_THAT(refusal("--nodes 2 job.sh"), HasSubstr("\"job.sh\" is no option of sbatch"));
  EXPECT_THAT(refusal("--exclusive job.sh"), HasSubstr("job.sh"));
  EXPECT_THAT(refusal("-N4 -- job.sh"), HasSubstr("\"--\""));
  EXPECT_THAT(refusal("-N1 : -N2"), HasSubstr("a job of parts"));
  EXPECT_THAT(refusal("--nodes"), HasSubstr("--nodes has no value"));
  EXPECT_THAT(refusal("-N"), HasSubstr("-N has no value"));
}

TEST(SlurmOptionsTest, TheLastOfAnOptionCounts) {
  const auto options = read("--output a -o b -Jname --time=1 -Hoc --comment --output");
  EXPECT_EQ(slurm_option(options, "output", 'o'), "c");
  EXPECT_EQ(slurm_option(options, "job-name", 'J'), "name");
  EXPECT_EQ(slurm_option(options, "time", 't'), "1");
  EXPECT_EQ(slurm_option(options, "export", 0), "");
}

}  // namespace
}  // namespace hocket
