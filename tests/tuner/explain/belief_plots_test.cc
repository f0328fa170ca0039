#include "tuner/explain/belief_plots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/tuner/explain/small_search.h"
#include "tests/tuner/explain/svg_extent.h"
#include "tests/tuner/explain/well_formed.h"
#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string contour_of(const Space& space, const std::vector<Trial>& trials,
                       const Explanation& explanation, const PlotLabels& labels) {
  return contour_svg(space, trials, explanation.surface.value(), explanation.recommendation.params,
                     labels);
}

/// Returns all plots that the explanation has.
std::vector<std::string> plots(const Space& space, const std::vector<Trial>& trials,
                               const Explanation& explanation, const PlotLabels& labels) {
  std::vector<std::string> documents = {slices_svg(space, trials, explanation, labels),
                                        importance_svg(explanation, labels)};
  if (explanation.surface) documents.push_back(contour_of(space, trials, explanation, labels));
  if (explanation.calibration)
    documents.push_back(calibration_svg(*explanation.calibration, labels));
  return documents;
}

TEST(BeliefPlots, AreWellFormedAndWithoutNanWhateverWasMeasured) {
  for_random_searches([](const Space& space, std::vector<Trial> trials, const PlotLabels& labels,
                         Random& random, bool is_wild) {
    auto explanation = explanation_of(space, trials);
    if (is_wild) spoil(trials);
    for (auto& importance : explanation.importances) importance.name = mutated("a<b", random);
    for (const auto& document : plots(space, trials, explanation, labels)) {
      ASSERT_EQ(xml_complaint(document), "");
      ASSERT_THAT(document, Not(HasSubstr("nan")));
      ASSERT_THAT(document, Not(HasSubstr("inf")));
      ASSERT_THAT(document, Not(HasSubstr("style=")));
      ASSERT_EQ(count(document, "class=\"background\""), 1U);
    }
  });
}

TEST(BeliefPlots, EveryTrialOfTheSpaceHasOneMark) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto made = random_constrained_space(random);
    if (!made) continue;
    auto trials = random_trials(*made, pick(random, 0, 1) == 0, random);
    const auto explanation = explanation_of(*made, trials);
    const PlotLabels labels{"title", "objective"};
    const auto panels = made->parameters().size();
    const auto slices = slices_svg(*made, trials, explanation, labels);
    for (const auto& trial : trials) {
      // One panel for each parameter, without failed trials.
      ASSERT_EQ(marks(slices, shown_number(trial)), is_complete(trial) ? panels : 0);
      if (explanation.surface) {
        ASSERT_EQ(marks(contour_of(*made, trials, explanation, labels), shown_number(trial)), 1U);
      }
      if (explanation.calibration) {
        ASSERT_EQ(marks(calibration_svg(*explanation.calibration, labels), shown_number(trial)),
                  is_complete(trial) ? 1U : 0U);
      }
    }
    trials[0].params = {{"elsewhere", 1.5}};
    ASSERT_EQ(marks(slices_svg(*made, trials, explanation, labels), 1), 0U);
  }
}

TEST_F(SmallPlot, BeliefsNameAxesWithUnits) {
  const auto explanation = explanation_of(space_, trials_);
  const auto documents = plots(space_, trials_, explanation, labels_);
  ASSERT_EQ(documents.size(), 4U);
  for (const auto& document : documents) {
    EXPECT_THAT(document, HasSubstr("study x"));
    EXPECT_THAT(document, HasSubstr("time"));
  }
  for (const auto& document : {slices_svg(space_, trials_, explanation, labels_),
                               contour_of(space_, trials_, explanation, labels_)}) {
    for (const char* text : {">size_bytes</text>", ">8 MiB</text>", ">b</text>", " ms</text>"})
      EXPECT_THAT(document, HasSubstr(text));
  }
}

TEST_F(SmallPlot, EveryBeliefIsInsideTheDrawing) {
  auto explanation = explanation_of(space_, trials_);
  const std::string name = "value (regex:step_ms=([0-9.]+) of the last iteration)";
  EXPECT_THAT(contour_of(space_, trials_, explanation, {"s", name}), HasSubstr(">" + name + "<"));
  explanation.importances[0] = {"regions.backward_of_a_long_name.partition_bytes", 1, 1};
  explanation.calibration->trials[0].low = -std::numeric_limits<double>::max();
  explanation.calibration->trials[0].high = std::numeric_limits<double>::max();
  for (const std::string unit : {"", " ms", " tokens in a second"}) {
    const PlotLabels labels{"study with-a-long-name-of-its-own-" + std::string(60, 'x'), name,
                            [&](double value) { return to_text(value / 7) + unit; }};
    for (const auto& document : plots(space_, trials_, explanation, labels)) {
      EXPECT_EQ(outside_of_view(document), "");
      EXPECT_EQ(xml_complaint(document), "");
    }
  }
}

TEST_F(SmallPlot, TheBarsOfImportanceAreAsLongAsTheShares) {
  Explanation explanation;
  explanation.variation = 0.125;
  explanation.importances = {{"x", 0.5, 0.75}, {"y", 0.25, 0.5}};
  const auto document = importance_svg(explanation, labels_);
  EXPECT_THAT(document, HasSubstr("12.5 % (standard deviation)"));
  EXPECT_EQ(count(document, "<title>x: alone 50.0 %, with others 75.0 %</title>"), 2U);
  EXPECT_EQ(count(document, "<title>y: alone 25.0 %, with others 50.0 %</title>"), 2U);
  std::vector<double> widths;
  for (auto at = document.find("<rect"); at != document.npos; at = document.find("<rect", at + 1)) {
    const std::string element = document.substr(at, document.find('\n', at) - at);
    if (element.find("<title>") != element.npos) widths.push_back(svg_number(element, "width"));
  }
  ASSERT_EQ(widths.size(), 4U);
  EXPECT_DOUBLE_EQ(widths[0], 2 * widths[2]);
  EXPECT_DOUBLE_EQ(widths[1], 3 * widths[2]);
  EXPECT_DOUBLE_EQ(widths[3], 2 * widths[2]);
  explanation.relative = false;
  EXPECT_THAT(importance_svg(explanation, labels_), HasSubstr("which is 0.125 ms"));
}

TEST_F(SmallPlot, ARightPredictionIsOnTheDiagonalAndTheIntervalOfAWrongOneIsMarked) {
  const LeaveOneOut calibration{
      {{1, 10, 10, 9, 11}, {2, 30, 20, 18, 22}, {3, 20, 20, 15, 25}}, 2.0 / 3, 0.5};
  const auto document = calibration_svg(calibration, labels_);
  EXPECT_EQ(xml_complaint(document), "");
  EXPECT_THAT(document, HasSubstr("66.7 % of the trials"));
  EXPECT_THAT(document, HasSubstr("rank correlation 0.50"));
  EXPECT_THAT(document,
              HasSubstr("trial 2: measured 30 ms, expected 20 ms, 90 % interval 18 ms to 22 ms"));
  const auto mark = [&](int trial) {
    const auto at =
        document.rfind("<circle", document.find("data-trial=\"" + std::to_string(trial)));
    const std::string element = document.substr(at, document.find('\n', at) - at);
    return std::tuple(svg_number(element, "cx"), svg_number(element, "cy"),
                      element.find("#d95f02") != element.npos);
  };
  const auto [left, bottom, first_is_outside] = mark(1);
  const auto [right, second_y, second_is_outside] = mark(2);
  const auto [middle_x, middle_y, third_is_outside] = mark(3);
  EXPECT_FALSE(first_is_outside);
  EXPECT_TRUE(second_is_outside);
  EXPECT_FALSE(third_is_outside);
  EXPECT_EQ(second_y, middle_y);
  EXPECT_THAT(document, HasSubstr("<line x1=\"" + to_text(left) + "\" y1=\"" + to_text(bottom) +
                                  "\" x2=\"" + to_text(right)));
  EXPECT_DOUBLE_EQ(middle_x, (left + right) / 2);
}

}  // namespace
}  // namespace hocket
