#include "tuner/explain/step_calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "core/sim/simulator.h"
#include "tests/tuner/described_chain.h"
#include "tests/tuner/trial/measured_trial.h"

namespace hocket {
namespace {

Space knobs() {
  return Space::make({{"partition_bytes", powers(18, 24), std::int64_t{1} << 22},
                      {"credit_bytes", powers(18, 26), std::int64_t{1} << 24},
                      {"order", Choices{{"fifo", "priority"}}, std::string("fifo")}})
      .value();
}

/// Returns trials of a job whose step is `real`, with noise of 1 %.
std::vector<Trial> trials_of(const StepDescription& real, int count, std::uint64_t seed) {
  const Space space = knobs();
  const auto model = StepModel::make(space, real).value();
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 0.01);
  std::vector<Trial> trials;
  for (int i = 0; i < count; ++i) {
    const Params params = i == 0 ? space.defaults() : space.point_at(random() % space.size());
    const auto simulation = simulate(real, {.config = model.config(params)});
    const auto iteration_ns = static_cast<double>(simulation.value().iteration_ns);
    trials.push_back(measured_trial(i + 1, params, iteration_ns * std::exp(noise(random))));
  }
  return trials;
}

const CalibratedConstant& constant(const StepCalibration& calibration, const std::string& name) {
  return *std::ranges::find(calibration.constants, name, &CalibratedConstant::name);
}

TEST(StepCalibration, FindsWhatTheDescriptionHadWrong) {
  StepDescription real = chain();
  real.collective.beta_ns_per_byte *= 1.4;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(seed);
    const auto calibration = calibrate_step(knobs(), chain(), trials_of(real, 20, seed));
    ASSERT_TRUE(calibration);
    const auto& byte_time = constant(*calibration, "byte_time");
    EXPECT_TRUE(byte_time.is_factor);
    EXPECT_EQ(byte_time.expected, 0);
    EXPECT_NEAR(byte_time.calibrated, std::log(1.4), 0.1);
    EXPECT_LT(byte_time.deviation, 0.3 * byte_time.expected_deviation);
    EXPECT_NEAR(constant(*calibration, "computation").calibrated, 0, 0.05);
    // No trial used a second channel.
    const auto& split = constant(*calibration, "channel_split");
    EXPECT_NEAR(split.deviation, split.expected_deviation, 1e-6);
  }
}

TEST(StepCalibration, NamesEachConstantOnceAndLearnsFromEveryTrial) {
  for (const bool described : {true, false}) {
    SCOPED_TRACE(described);
    const auto step = described ? std::optional(chain()) : std::nullopt;
    const auto calibration = calibrate_step(knobs(), step, trials_of(chain(), 12, 7));
    ASSERT_TRUE(calibration);
    std::set<std::string> names, meanings;
    for (const auto& each : calibration->constants) {
      names.insert(each.name);
      meanings.insert(each.meaning);
      EXPECT_GT(each.deviation, 0) << each.name;
      EXPECT_LE(each.deviation, each.expected_deviation * (1 + 1e-9)) << each.name;
    }
    EXPECT_EQ(names.size(), described ? 9U : 11U);
    EXPECT_EQ(meanings.size(), names.size());
    EXPECT_FALSE(names.contains("") || meanings.contains(""));
    EXPECT_EQ(calibration->constants.back().name, "trust");
    if (described) {
      EXPECT_LT(calibration->noise, calibration->expected_noise);
    }
    EXPECT_GT(calibration->discrepancy, 0);
  }
}

TEST(StepCalibration, IsNothingWhereTheSearchDoesNotSimulate) {
  auto trials = trials_of(chain(), 3, 1);
  EXPECT_TRUE(calibrate_step(knobs(), std::nullopt, trials));
  EXPECT_FALSE(calibrate_step(knobs(), std::nullopt, {}));
  set_failed(trials[1].outcome, "");
  EXPECT_TRUE(calibrate_step(knobs(), std::nullopt, trials));
  trials[2].outcome.value = 0;
  EXPECT_FALSE(calibrate_step(knobs(), std::nullopt, trials));

  const auto other = Space::make({{"X", IntegerRange{1, 9}, std::int64_t{1}}}).value();
  const Trial trial = measured_trial(1, other.defaults(), 1.0);
  EXPECT_FALSE(calibrate_step(other, std::nullopt, {&trial, 1}));
}

}  // namespace
}  // namespace hocket
