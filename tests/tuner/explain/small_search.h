#pragma once

// Searches to plot: a small one, random ones, and their explanations.

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/tuner/random_space.h"
#include "tests/tuner/trial/measured_trial.h"
#include "tuner/explain/explanation.h"
#include "tuner/explain/svg_plot.h"

namespace hocket {

inline Explanation explanation_of(const Space& space, const std::vector<Trial>& trials) {
  auto explanation = explain_search(space, trials, {});
  EXPECT_TRUE(explanation) << explanation.error().message;
  return *explanation;
}

/// Returns how often `piece` is in `text`.
inline std::size_t count(const std::string& text, const std::string& piece) {
  std::size_t found = 0;
  for (auto at = text.find(piece); at != text.npos; at = text.find(piece, at + 1)) ++found;
  return found;
}

/// Returns how many marks a trial has in a drawing.
inline std::size_t marks(const std::string& document, std::int64_t trial) {
  return count(document, " data-trial=\"" + std::to_string(trial) + "\"");
}

/// Returns trials at random settings of `space`, numbered from 1, of which the first two complete;
/// with huge, tiny and negative values if `is_wild`.
inline std::vector<Trial> random_trials(const Space& space, bool is_wild, Random& random) {
  const double numbers[] = {0, -1, 1e308, -1e308, 1e-308, 1, 2, 3.5};
  std::vector<Trial> trials;
  for (auto left = pick(random, 2, 9); left > 0; --left) {
    Params params = space.defaults();
    UnitPoint unit;
    for (std::size_t k = 0; k < space.parameters().size(); ++k) unit.push_back(random_unit(random));
    if (const auto point = space.snap_allowed(unit)) params = space.decode(*point);
    std::optional<double> value = is_wild ? numbers[pick(random, 0, 7)] : 1 + random_unit(random);
    const std::int64_t number = std::ssize(trials) + 1;
    if (number > 2 && pick(random, 0, 4) == 0) value.reset();
    trials.push_back(measured_trial(number, std::move(params), value));
  }
  return trials;
}

/// Six trials of two parameters; the third one failed.
class SmallPlot : public ::testing::Test {
 protected:
  SmallPlot() {
    for (std::int64_t i = 1; i <= 6; ++i) {
      trials_.push_back(
          measured_trial(i, {{"size_bytes", i << 20}, {"kind", std::string(i % 2 ? "a" : "b")}},
                         i == 3 ? std::nullopt : std::optional(10.0 + static_cast<double>(i))));
    }
  }

  const Space space_ =
      Space::make({{"size_bytes", IntegerRange{1 << 20, 8 << 20, true}, std::int64_t{1 << 20}},
                   {"kind", Choices{{"a", "b"}}, std::string("a")}})
          .value();
  std::vector<Trial> trials_;
  const PlotLabels labels_{"study x", "time", [](double value) { return to_text(value) + " ms"; }};
};

/// Calls `visit(space, trials, labels, random, is_wild)` for random searches, of which half are
/// wild; the labels contain what is special in XML.
template <class Visit>
void for_random_searches(Visit visit) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto made = random_constrained_space(random);
    if (!made) continue;
    const bool is_wild = pick(random, 0, 1) == 0;
    const auto trials = random_trials(*made, is_wild, random);
    visit(*made, trials, PlotLabels{"<&\"'>\x01", mutated("value", random)}, random, is_wild);
  }
}

/// Spoils trials after they were explained: one has no finite value, one is of another space.
inline void spoil(std::vector<Trial>& trials) {
  trials[0].outcome.value = NAN;
  trials[1].params = {{"elsewhere", 1.5}};
}

}  // namespace hocket
