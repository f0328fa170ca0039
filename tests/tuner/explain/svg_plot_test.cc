#include "tuner/explain/svg_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tests/tuner/explain/svg_extent.h"
#include "tests/tuner/explain/well_formed.h"
#include "tests/tuner/random_space.h"
#include "tuner/explain/svg.h"
#include "tuner/surrogate/gaussian_surrogate.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Explanation explanation_of(const Space& space, const std::vector<SearchTrial>& trials) {
  const auto make = [&] { return std::make_unique<GaussianSurrogate>(space, Warp::none); };
  auto explanation = explain(space, trials, {.make_surrogate = make});
  EXPECT_TRUE(explanation) << explanation.error().message;
  return *explanation;
}

std::vector<std::string> plots(const Space& space, const std::vector<SearchTrial>& trials,
                               const Explanation& explanation, const PlotLabels& labels) {
  return {convergence_svg(trials, labels), slices_svg(space, trials, explanation, labels),
          contour_svg(space, trials, explanation, labels), parallel_svg(space, trials, labels)};
}

std::size_t count(const std::string& text, const std::string& piece) {
  std::size_t found = 0;
  for (auto at = text.find(piece); at != text.npos; at = text.find(piece, at + 1)) ++found;
  return found;
}

TEST(SvgPlot, TheBestOfWhatIsMaximisedIsTheHighest) {
  const Space space = Space::make({{"x", IntegerRange{1, 9}, std::int64_t{1}}}).value();
  std::vector<SearchTrial> trials;
  for (const double value : {2.0, 9.0, 5.0}) {
    SearchTrial trial{.number = std::ssize(trials) + 1, .evaluation = {}};
    trial.evaluation = {{{"x", std::ssize(trials) + 1}}, value, 0, {value}};
    trials.push_back(std::move(trial));
  }
  PlotLabels least{"title", "objective"}, most = least;
  most.direction = Direction::maximise;
  const auto line_of = [](const std::string& svg) {
    const auto at = svg.find("<polyline");
    return svg.substr(at, svg.find("/>", at) - at);
  };
  // Of the lowest the line stays where it began, of the highest it rises at the second trial.
  EXPECT_NE(line_of(convergence_svg(trials, least)), line_of(convergence_svg(trials, most)));
  const auto negated = [](std::vector<SearchTrial> copy) {
    for (auto& trial : copy) trial.evaluation.value = 11 - *trial.evaluation.value;
    return copy;
  };
  const auto mirrored = convergence_svg(negated(trials), least);
  EXPECT_EQ(count(line_of(mirrored), ","), count(line_of(convergence_svg(trials, most)), ","));
  // The best trial has the colour of low values.
  EXPECT_EQ(count(parallel_svg(space, trials, most), svg_colour(0)),
            count(parallel_svg(space, negated(trials), least), svg_colour(0)));
  EXPECT_NE(front_svg(trials, most, least), front_svg(trials, least, least));
}

TEST(SvgPlot, IsWellFormedAndWithoutNanWhateverWasMeasured) {
  const double numbers[] = {0, -1, 1e308, -1e308, 1e-308, 1, 2, 3.5};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto made = random_constrained_space(random);
    if (!made) continue;
    const bool is_wild = pick(random, 0, 1) == 0;
    std::vector<SearchTrial> trials;
    for (auto n = pick(random, 2, 9); n > 0; --n) {
      SearchTrial trial;
      trial.number = n;
      trial.evaluation.params = made->defaults();
      UnitPoint unit;
      for (std::size_t k = 0; k < made->parameters().size(); ++k)
        unit.push_back(random_unit(random));
      if (const auto point = made->snap_allowed(unit))
        trial.evaluation.params = made->decode(*point);
      trial.evaluation.value = is_wild ? numbers[pick(random, 0, 7)] : 1 + random_unit(random);
      if (n > 2 && pick(random, 0, 4) == 0) trial.evaluation.value.reset();
      trials.push_back(std::move(trial));
    }
    const auto explanation = explanation_of(*made, trials);
    if (is_wild) {
      trials[0].evaluation.value = NAN;
      trials[1].evaluation.params = {{"elsewhere", 1.5}};
    }
    for (const auto& document :
         plots(*made, trials, explanation, {"<&\"'>\x01", mutated("value", random)})) {
      ASSERT_EQ(xml_complaint(document), "");
      ASSERT_THAT(document, Not(HasSubstr("nan")));
      ASSERT_THAT(document, Not(HasSubstr("inf")));
    }
  }
}

class SmallPlot : public ::testing::Test {
 protected:
  SmallPlot() {
    for (std::int64_t i = 1; i <= 6; ++i) {
      SearchTrial trial;
      trial.number = i;
      trial.evaluation.params = {{"size_bytes", i << 20}, {"kind", std::string(i % 2 ? "a" : "b")}};
      if (i != 3) trial.evaluation.value = 10.0 + static_cast<double>(i);
      trials_.push_back(std::move(trial));
    }
  }

  const Space space_ =
      Space::make({{"size_bytes", IntegerRange{1 << 20, 8 << 20, true}, std::int64_t{1 << 20}},
                   {"kind", Choices{{"a", "b"}}, std::string("a")}})
          .value();
  std::vector<SearchTrial> trials_;
  const PlotLabels labels_{"study x", "time", [](double value) { return to_text(value) + " ms"; }};
};

TEST_F(SmallPlot, ShowsEveryTrialOnce) {
  const auto explanation = explanation_of(space_, trials_);
  const auto convergence = convergence_svg(trials_, labels_);
  for (int i = 1; i <= 6; ++i) {
    const std::string hint = "trial " + std::to_string(i) + ": ";
    EXPECT_EQ(count(convergence, hint), 1U);
    EXPECT_EQ(count(contour_svg(space_, trials_, explanation, labels_), hint), 1U);
    // One panel per parameter, without failed trials.
    EXPECT_EQ(count(slices_svg(space_, trials_, explanation, labels_), hint), i == 3 ? 0U : 2U);
  }
  EXPECT_THAT(convergence, HasSubstr("trial 3: failed"));
  EXPECT_THAT(convergence, HasSubstr("trial 1: 11 ms"));
  EXPECT_EQ(count(parallel_svg(space_, trials_, labels_), "<polyline"), 6U);
}

TEST_F(SmallPlot, NamesAxesWithUnits) {
  const auto explanation = explanation_of(space_, trials_);
  for (const auto& document : plots(space_, trials_, explanation, labels_)) {
    EXPECT_THAT(document, HasSubstr("study x"));
    EXPECT_THAT(document, HasSubstr("time"));
    EXPECT_THAT(document, HasSubstr(" ms</text>"));
  }
  for (const auto& document : {slices_svg(space_, trials_, explanation, labels_),
                               contour_svg(space_, trials_, explanation, labels_),
                               parallel_svg(space_, trials_, labels_)}) {
    EXPECT_THAT(document, HasSubstr(">size_bytes</text>"));
    EXPECT_THAT(document, HasSubstr(">8 MiB</text>"));
    EXPECT_THAT(document, HasSubstr(">b</text>"));
  }
}

// The objective's name as `hocket tune` makes it of a pattern, and values with long units.
TEST_F(SmallPlot, TheBarOfColoursAndEveryTextAreInsideTheDrawing) {
  const auto explanation = explanation_of(space_, trials_);
  const std::string name = "value (regex:step_ms=([0-9.]+) of the last iteration)";
  for (const std::string unit : {"", " ms", " tokens in a second"}) {
    const PlotLabels labels{"study with-a-long-name-of-its-own-" + std::string(60, 'x'), name,
                            [&](double value) { return to_text(value / 7) + unit; }};
    for (const auto& document : plots(space_, trials_, explanation, labels)) {
      EXPECT_EQ(outside_of_view(document), "");
      EXPECT_EQ(xml_complaint(document), "");
    }
  }
  EXPECT_THAT(contour_svg(space_, trials_, explanation, {"s", name}), HasSubstr(">" + name + "<"));
}

TEST_F(SmallPlot, AFrontShowsTwoObjectivesAndALineThroughTheBest) {
  const PlotLabels memory{"study x", "memory", [](double value) { return to_text(value) + " B"; }};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const double wild[] = {0, -1, 1e308, -1e308, NAN, INFINITY, 1, 1};
    for (SearchTrial& trial : trials_) trial.evaluation.others = {wild[pick(random, 0, 7)]};
    const auto document = front_svg(trials_, labels_, memory);
    ASSERT_EQ(xml_complaint(document), "");
    ASSERT_THAT(document, Not(HasSubstr("nan")));
    ASSERT_THAT(document, Not(HasSubstr("inf")));
  }
  // Trial 3 failed; all others except trial 5 are on the front, each lower than the one before.
  const double values[] = {9, 8, 7, 6, 6.5, 5};
  for (std::size_t i = 0; i < trials_.size(); ++i) trials_[i].evaluation.others = {values[i]};
  const auto document = front_svg(trials_, labels_, memory);
  EXPECT_THAT(document, HasSubstr("trial 1: 11 ms, kind=a, size_bytes=1048576; 9"));
  EXPECT_THAT(document, Not(HasSubstr("trial 3: ")));
  EXPECT_EQ(count(document, "<title>trial "), 5U);
  const auto at = document.find("<polyline points=\"") + 18;
  const std::string line = document.substr(at, document.find('"', at) - at);
  EXPECT_EQ(count(line, ","), 4U);
  EXPECT_THAT(document, HasSubstr(" B</text>"));
  EXPECT_THAT(document, HasSubstr(" ms</text>"));
  trials_[0].evaluation.others.clear();
  EXPECT_THAT(front_svg(trials_, labels_, memory), Not(HasSubstr("trial 1: ")));
  EXPECT_EQ(xml_complaint(front_svg({}, labels_, memory)), "");
}

TEST_F(SmallPlot, TheBestSoFarNeverRises) {
  const auto convergence = convergence_svg(trials_, labels_);
  const std::string start = "<polyline points=\"";
  const auto at = convergence.find(start);
  ASSERT_NE(at, convergence.npos);
  std::istringstream points(
      convergence.substr(at + start.size(), convergence.find('"', at + start.size())));
  double x = 0, y = 0, lowest = 0;
  char comma = 0;
  int seen = 0;
  while (points >> x >> comma >> y) {
    EXPECT_GE(y, lowest);  // y grows downwards on the page
    lowest = y;
    ++seen;
  }
  EXPECT_GE(seen, 6);
}

TEST_F(SmallPlot, SaysWhenThereIsNoContour) {
  const Space line = Space::make({{"x", RealRange{0, 1, false}, 0.5}}).value();
  std::vector<SearchTrial> trials(2);
  trials[0].evaluation = {{{"x", 0.5}}, 1.0};
  trials[1].evaluation = {{{"x", 0.75}}, 2.0};
  const auto document = contour_svg(line, trials, explanation_of(line, trials), labels_);
  EXPECT_EQ(xml_complaint(document), "");
  EXPECT_THAT(document, HasSubstr("takes two parameters"));
  EXPECT_EQ(xml_complaint(convergence_svg({}, labels_)), "");
}

}  // namespace
}  // namespace hocket
