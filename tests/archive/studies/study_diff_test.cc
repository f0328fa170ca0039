#include "archive/studies/study_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/space/parameter_syntax.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Params at(std::int64_t x) {
  return {{"X", x}};
}

ComparedStudy some_study(const std::string& name, double by_default = 100, double best = 80) {
  ComparedStudy study{
      .name = name,
      .command = {"python3", "train.py"},
      .definition = {.space = Space::make({parse_parameter("X=int:1..9").value()}).value(),
                     .objective = parse_objective("wall").value(),
                     .working_directory = "/w"}};
  study.workload = "w";
  study.definition.files = {{"/w/train.py", "f1", true}};
  study.result.default_params = {at(5), by_default, 1};
  study.result.best = {at(7), best, 1};
  study.result.promoted = true;
  return study;
}

TEST(StudyDiff, EqualStudiesAreComparedByTheirValues) {
  const auto diff = study_diff(some_study("a"), some_study("b", 101, 60));
  EXPECT_THAT(diff.incomparable, IsEmpty());
  EXPECT_THAT(diff.parameters, IsEmpty());
  EXPECT_THAT(diff.defaults, IsEmpty());
  EXPECT_THAT(diff.best, IsEmpty());
  ASSERT_TRUE(diff.of_defaults && diff.of_best);
  EXPECT_NEAR(*diff.of_defaults->change, 0.01, 1e-9);
  EXPECT_FALSE(diff.of_defaults->is_beyond_spread) << "1 apart, spreads of 1 and 1";
  EXPECT_NEAR(*diff.of_best->change, -0.25, 1e-9);
  EXPECT_TRUE(diff.of_best->is_beyond_spread);
}

TEST(StudyDiff, ListsWhatIsSearchedAndChosenWhereItDiffers) {
  auto b = some_study("b");
  b.definition.space = Space::make({parse_parameter("X=int:1..99:log").value(),
                                    parse_parameter("Y=choice:a,b").value()})
                           .value();
  b.result.best.params = {{"X", std::int64_t{8}}, {"Y", std::string("a")}};
  const auto diff = study_diff(some_study("a"), b);
  EXPECT_THAT(diff.parameters, ElementsAre(Differing{"X", "an integer from 1 to 9",
                                                     "an integer from 1 to 99, logarithmic"},
                                           Differing{"Y", "", "one of a, b"}));
  EXPECT_THAT(diff.best, ElementsAre(Differing{"X", "7", "8"}, Differing{"Y", "", "a"}));
  EXPECT_THAT(diff.incomparable, IsEmpty()) << "another range measures the same";
  EXPECT_TRUE(diff.of_best);
}

TEST(StudyDiff, DifferentDefaultsAreNotHeldAgainstEachOther) {
  auto b = some_study("b");
  b.result.default_params.params = at(6);
  const auto diff = study_diff(some_study("a"), b);
  EXPECT_THAT(diff.defaults, ElementsAre(Differing{"X", "5", "6"}));
  EXPECT_FALSE(diff.of_defaults);
  EXPECT_TRUE(diff.of_best);
}

TEST(StudyDiff, NothingIsComparedThatWasMeasuredOtherwise) {
  const auto refused = [](const std::function<void(ComparedStudy&)>& change) {
    auto b = some_study("b");
    change(b);
    const auto diff = study_diff(some_study("a"), b);
    EXPECT_FALSE(diff.of_defaults);
    EXPECT_FALSE(diff.of_best);
    std::string text;
    for (const auto& reason : diff.incomparable) text += reason + "|";
    return text;
  };
  const auto objective = [](const std::string& text) {
    return [text](ComparedStudy& b) { b.definition.objective = parse_objective(text).value(); };
  };
  EXPECT_THAT(refused(objective("memory")), HasSubstr("a measures wall, b measures memory"));
  EXPECT_THAT(refused(objective("memory")), HasSubstr("a has the unit ns, b has the unit bytes"));
  EXPECT_THAT(refused(objective("max:regex:t=(.)")), HasSubstr("a minimises, b maximises"));
  EXPECT_THAT(refused([](ComparedStudy& b) { b.command.push_back("--big"); }),
              HasSubstr("b runs python3 train.py --big"));
  EXPECT_THAT(refused([](ComparedStudy& b) { b.definition.working_directory = "/v"; }),
              HasSubstr("a runs in /w, b runs in /v"));
  EXPECT_THAT(refused([](ComparedStudy& b) { b.definition.files[0].fingerprint = "f2"; }),
              HasSubstr("/w/train.py changed between the two"));
  EXPECT_THAT(refused([](ComparedStudy& b) { b.topology.world_size = 8; }),
              HasSubstr("a ran on another topology"));
  EXPECT_THAT(refused([](ComparedStudy& b) { b.workload = "v"; }),
              HasSubstr("different workloads"));
  EXPECT_THAT(refused([](ComparedStudy& b) {
                b.definition.other_objectives = {parse_objective("memory").value()};
              }),
              HasSubstr("no single best"));
}

TEST(StudyDiff, UnitsAndWarmUpsOfAProgramsOwnValuesCount) {
  auto a = some_study("a"), b = some_study("b");
  a.definition.objective = b.definition.objective = parse_objective("s[ms]=regex:t=(.)").value();
  EXPECT_THAT(study_diff(a, b).incomparable, IsEmpty());
  b.definition.skip = 3;
  EXPECT_THAT(study_diff(a, b).incomparable,
              ElementsAre("a leaves out the first 0 values, b leaves out the first 3 values"));
  b.definition.skip = 0;
  b.definition.objective.unit = "s";
  EXPECT_THAT(study_diff(a, b).incomparable, ElementsAre("a has the unit ms, b has the unit s"));
}

TEST(StudyDiff, ABestSettingThatIsNotConfirmedIsNotCompared) {
  auto b = some_study("b");
  b.result.is_interim = true;
  const auto diff = study_diff(some_study("a"), b);
  EXPECT_THAT(diff.incomparable, IsEmpty());
  EXPECT_TRUE(diff.of_defaults);
  EXPECT_FALSE(diff.of_best);
  EXPECT_THAT(diff.why_not_best, HasSubstr("the best of b is not confirmed"));
}

TEST(StudyDiff, WithoutAValueThereIsNothingToCompare) {
  auto b = some_study("b");
  b.result.best.value.reset();
  EXPECT_FALSE(study_diff(some_study("a"), b).of_best);
}

}  // namespace
}  // namespace hocket
