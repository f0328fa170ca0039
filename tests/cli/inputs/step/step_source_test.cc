#include "cli/inputs/step/step_source.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace hocket {
namespace {

StepChanges parsed(const std::string& arguments) {
  StepChanges changes;
  CLI::App verb;
  add_step_changes(verb, changes);
  verb.parse(arguments);
  return changes;
}

TEST(StepChangeArguments, AreReadBackAsTheChanges) {
  EXPECT_EQ(step_change_arguments({}), "");
  StepChanges changes;
  changes.ranks = 64;
  changes.links = {"host=2400gbit,3us", "network=25gbit,20us"};
  EXPECT_EQ(step_change_arguments(changes),
            " --ranks 64 --link host=2400gbit,3us --link network=25gbit,20us");
  changes.ranks_per_host = 8;
  changes.seed = 7;
  changes.algorithm = CollectiveAlgorithm::tree;
  changes.compute_scale = 0.1;
  changes.bandwidth_scale = 1e-3;
  EXPECT_EQ(parsed(step_change_arguments(changes)), changes);
}

TEST(StepChangeArguments, AreQuotedForAShell) {
  StepChanges changes;
  changes.links = {"host=1 gbit"};
  EXPECT_EQ(step_change_arguments(changes), " --link 'host=1 gbit'");
}

}  // namespace
}  // namespace hocket
