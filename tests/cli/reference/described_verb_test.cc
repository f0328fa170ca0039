// Tests that descriptions say what the verbs' declarations say.

#include "cli/reference/described_verb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/verbs/program.h"
#include "core/step/knob.h"

namespace hocket {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const DescribedVerb& verb_of(const DescribedVerb& from, const std::string& name) {
  const auto found = std::ranges::find(from.verbs, name, &DescribedVerb::name);
  EXPECT_NE(found, from.verbs.end()) << name;
  return *found;
}

const DescribedOption& option_of(const DescribedVerb& verb, const std::string& name) {
  const auto found = std::ranges::find_if(
      verb.options, [&](const auto& option) { return std::ranges::count(option.names, name) > 0; });
  EXPECT_NE(found, verb.options.end()) << name;
  return *found;
}

class DescribedProgram : public ::testing::Test {
 protected:
  VerbAction action_;
  const std::unique_ptr<CLI::App> app_ = make_program(action_);
  const DescribedVerb program_ = describe_verb(*app_, takes_command);
};

TEST_F(DescribedProgram, SaysWhatValuesCanBe) {
  const auto& tune = verb_of(program_, "tune");
  EXPECT_TRUE(tune.takes_command);
  EXPECT_EQ(option_of(tune, "--json").kind, ValueKind::none);
  EXPECT_EQ(option_of(tune, "--store").kind, ValueKind::file);
  EXPECT_EQ(option_of(tune, "--study").kind, ValueKind::text);
  const auto& method = option_of(tune, "--method");
  EXPECT_EQ(method.kind, ValueKind::words);
  EXPECT_THAT(method.words, ElementsAre("model", "random", "sobol", "tpe", "grid"));
  EXPECT_EQ(method.default_text, "model");
  EXPECT_TRUE(option_of(tune, "--param").is_repeated);
  EXPECT_FALSE(method.is_repeated);
  EXPECT_THAT(option_of(tune, "--no-transfer").excludes,
              UnorderedElementsAre("--from", "--transfer"));
  const auto& output = option_of(verb_of(program_, "plot"), "--output");
  EXPECT_EQ(output.kind, ValueKind::folder);
  EXPECT_TRUE(output.is_required);
  EXPECT_THAT(output.names, ElementsAre("-o", "--output"));
}

TEST_F(DescribedProgram, OffersEveryKnobForASetting) {
  const auto& set = option_of(verb_of(program_, "simulate"), "--set");
  EXPECT_EQ(set.kind, ValueKind::settings);
  EXPECT_THAT(set.words, SizeIs(schedule_knobs().size()));
  EXPECT_THAT(set.words, Contains("partition_bytes="));
}

TEST_F(DescribedProgram, OffersTheKnobsOfTools) {
  const auto& tune = option_of(verb_of(program_, "tune"), "--knobs");
  EXPECT_EQ(tune.kind, ValueKind::settings);
  EXPECT_THAT(tune.words, ::testing::IsSupersetOf({"nccl", "nccl:net", "torch:ddp", "xla"}));
  const auto& show = verb_of(verb_of(program_, "knobs"), "show");
  ASSERT_THAT(show.positionals, SizeIs(1));
  EXPECT_EQ(show.positionals[0].words, tune.words);
}

TEST_F(DescribedProgram, HasInnerVerbsAndPositions) {
  const auto& studies = verb_of(program_, "studies");
  const auto& rm = verb_of(studies, "rm");
  EXPECT_FALSE(rm.takes_command);
  ASSERT_THAT(rm.positionals, SizeIs(1));
  EXPECT_THAT(rm.positionals[0].names, ElementsAre("STUDY"));
  EXPECT_TRUE(rm.positionals[0].is_repeated);
  EXPECT_TRUE(rm.positionals[0].is_required);
}

TEST_F(DescribedProgram, LeavesOutWhatIsHidden) {
  std::vector<std::string> names;
  for (const DescribedVerb& verb : program_.verbs) names.push_back(verb.name);
  EXPECT_THAT(names, Contains("completion"));
  EXPECT_THAT(names, Not(Contains("manual")));
}

TEST_F(DescribedProgram, KnowsTheVerbsWithACommand) {
  std::vector<std::string> names;
  for (const DescribedVerb& verb : program_.verbs) {
    if (verb.takes_command) names.push_back(verb.name);
  }
  EXPECT_THAT(names, ElementsAre("tune", "run", "fetch", "with", "torch", "nccl", "doctor"));
}

}  // namespace
}  // namespace hocket
