#include "tuner/explain/svg_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tests/tuner/explain/small_search.h"
#include "tests/tuner/explain/svg_extent.h"
#include "tests/tuner/explain/well_formed.h"
#include "tests/tuner/random_space.h"
#include "tuner/explain/svg.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SvgPlot, TheBestOfWhatIsMaximisedIsTheHighest) {
  const Space space = Space::make({{"x", IntegerRange{1, 9}, std::int64_t{1}}}).value();
  std::vector<Trial> trials;
  for (const double value : {2.0, 9.0, 5.0}) {
    const std::int64_t number = std::ssize(trials) + 1;
    trials.push_back(measured_trial(number, {{"x", number}}, value));
    trials.back().outcome.others = {value};
  }
  PlotLabels least{"title", "objective"}, most = least;
  most.direction = Direction::maximise;
  const auto line_of = [](const std::string& svg) {
    const auto at = svg.find("<polyline");
    return svg.substr(at, svg.find("/>", at) - at);
  };
  // The line of the lowest stays where it began, that of the highest rises at the second trial.
  EXPECT_NE(line_of(convergence_svg(trials, least)), line_of(convergence_svg(trials, most)));
  const auto negated = [](std::vector<Trial> copy) {
    for (auto& trial : copy) trial.outcome.value = 11 - *trial.outcome.value;
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
  for_random_searches([](const Space& space, std::vector<Trial> trials, const PlotLabels& labels,
                         Random&, bool is_wild) {
    if (is_wild) spoil(trials);
    for (const auto& document :
         {convergence_svg(trials, labels), parallel_svg(space, trials, labels)}) {
      ASSERT_EQ(xml_complaint(document), "");
      ASSERT_THAT(document, Not(HasSubstr("nan")));
      ASSERT_THAT(document, Not(HasSubstr("inf")));
    }
  });
  EXPECT_EQ(xml_complaint(convergence_svg({}, {"title", "objective"})), "");
}

TEST(SvgPlot, EveryTrialOfTheSpaceHasOneMark) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto made = random_constrained_space(random);
    if (!made) continue;
    auto trials = random_trials(*made, pick(random, 0, 1) == 0, random);
    for (auto& trial : trials) trial.outcome.others = {random_unit(random)};
    trials.back().params = {{"elsewhere", 1.5}};
    const PlotLabels labels{"title", "objective"};
    const auto convergence = convergence_svg(trials, labels);
    const auto parallel = parallel_svg(*made, trials, labels);
    const auto front = front_svg(trials, labels, labels);
    for (const auto& trial : trials) {
      const bool is_inside = trial.number != trials.back().number;
      ASSERT_EQ(marks(convergence, shown_number(trial)), 1U);
      ASSERT_EQ(marks(parallel, shown_number(trial)), is_inside ? 1U : 0U);
      ASSERT_EQ(marks(front, shown_number(trial)), is_complete(trial) ? 1U : 0U);
    }
    for (const auto& parameter : made->parameters())
      ASSERT_EQ(count(parallel, "<g class=\"axis\" data-parameter=\"" + parameter.name + "\">"),
                1U);
    for (const auto& document : {convergence, parallel, front}) {
      ASSERT_EQ(count(document, "class=\"background\""), 1U);
      // A page's policy forbids these.
      ASSERT_THAT(document, Not(HasSubstr("style=")));
      ASSERT_THAT(document, Not(HasSubstr("<script")));
    }
  }
}

TEST_F(SmallPlot, ShowsEveryTrialOnce) {
  const auto convergence = convergence_svg(trials_, labels_);
  const auto parallel = parallel_svg(space_, trials_, labels_);
  for (int i = 1; i <= 6; ++i) {
    const std::string hint = "trial " + std::to_string(i) + ": ";
    EXPECT_EQ(count(convergence, hint), 1U);
    EXPECT_EQ(count(parallel, hint), 1U);
  }
  EXPECT_THAT(convergence, HasSubstr("trial 3: failed"));
  EXPECT_THAT(convergence, HasSubstr("trial 1: 11 ms"));
  EXPECT_EQ(count(parallel, "<polyline"), 6U);
}

TEST_F(SmallPlot, NamesAxesWithUnits) {
  const auto parallel = parallel_svg(space_, trials_, labels_);
  for (const auto& document : {convergence_svg(trials_, labels_), parallel}) {
    EXPECT_THAT(document, HasSubstr("study x"));
    EXPECT_THAT(document, HasSubstr("time"));
    EXPECT_THAT(document, HasSubstr(" ms</text>"));
  }
  for (const char* text : {">size_bytes</text>", ">8 MiB</text>", ">b</text>"})
    EXPECT_THAT(parallel, HasSubstr(text));
}

// The objective's name as `hocket tune` makes it of a pattern, and values with long units.
TEST_F(SmallPlot, TheBarOfColoursAndEveryTextAreInsideTheDrawing) {
  const std::string name = "value (regex:step_ms=([0-9.]+) of the last iteration)";
  for (const std::string unit : {"", " ms", " tokens in a second"}) {
    const PlotLabels labels{"study with-a-long-name-of-its-own-" + std::string(60, 'x'), name,
                            [&](double value) { return to_text(value / 7) + unit; }};
    for (const auto& document :
         {convergence_svg(trials_, labels), parallel_svg(space_, trials_, labels)}) {
      EXPECT_EQ(outside_of_view(document), "");
      EXPECT_EQ(xml_complaint(document), "");
    }
  }
}

TEST_F(SmallPlot, AFrontShowsTwoObjectivesAndALineThroughTheBest) {
  const PlotLabels memory{"study x", "memory", [](double value) { return to_text(value) + " B"; }};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const double wild[] = {0, -1, 1e308, -1e308, NAN, INFINITY, 1, 1};
    for (Trial& trial : trials_) trial.outcome.others = {wild[pick(random, 0, 7)]};
    const auto document = front_svg(trials_, labels_, memory);
    ASSERT_EQ(xml_complaint(document), "");
    ASSERT_THAT(document, Not(HasSubstr("nan")));
    ASSERT_THAT(document, Not(HasSubstr("inf")));
  }
  // Trial 3 failed; all others except trial 5 are on the front, each lower than the one before.
  const double values[] = {9, 8, 7, 6, 6.5, 5};
  for (std::size_t i = 0; i < trials_.size(); ++i) trials_[i].outcome.others = {values[i]};
  const auto document = front_svg(trials_, labels_, memory);
  EXPECT_THAT(document, HasSubstr("trial 1: 11 ms, kind=a, size_bytes=1048576; 9"));
  EXPECT_THAT(document, Not(HasSubstr("trial 3: ")));
  EXPECT_EQ(count(document, "<title>trial "), 5U);
  const auto at = document.find("<polyline points=\"") + 18;
  const std::string line = document.substr(at, document.find('"', at) - at);
  EXPECT_EQ(count(line, ","), 4U);
  EXPECT_THAT(document, HasSubstr(" B</text>"));
  EXPECT_THAT(document, HasSubstr(" ms</text>"));
  trials_[0].outcome.others.clear();
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

}  // namespace
}  // namespace hocket
