#include "tuner/search/transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "tests/rounds.h"
#include "tests/tuner/random_space.h"
#include "tests/tuner/search/real_params.h"
#include "tuner/space/sobol_sequence.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;

Space cube() {
  return Space::make({{"x", RealRange{0, 1}, 0.9},
                      {"y", RealRange{0, 1}, 0.1},
                      {"z", RealRange{0, 1}, 0.9}})
      .value();
}

using Function = std::function<double(const Params&)>;

/// A family of functions: a valley with ripples and minimum 1, at a position that the seed selects
/// and `shift` moves.
struct Valley {
  Valley(std::uint64_t seed, double shift) {
    Random random(seed);
    for (double& c : centre) c = 0.15 + 0.7 * random_unit(random);
    for (double& w : weight) w = std::exp2(3 * random_unit(random));
    for (double& c : centre) c += (random_unit(random) < 0.5 ? -shift : shift);
  }
  double operator()(const Params& params) const {
    const double at[] = {number(params, "x"), number(params, "y"), number(params, "z")};
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
      const double off = at[k] - centre[k];
      sum += weight[k] * (off * off + 0.02 * (1 - std::cos(12 * off)));
    }
    return scale * (1 + sum);
  }
  double centre[3] = {}, weight[3] = {}, scale = 1;
};

/// Returns the donor that a search of `trials` on `function` leaves.
Donor donor_of(const Function& function, std::uint64_t seed, int trials = 25) {
  Donor donor{.study = "earlier", .distance = 1.5};
  const auto search = make_search(cube(), {.seed = seed, .step = {}}).value();
  for (int i = 0; i < trials; ++i) {
    const Evaluation evaluation{search->ask()->params, std::nullopt, 0};
    donor.evaluations.push_back(evaluation);
    donor.evaluations.back().value = function(evaluation.params);
    EXPECT_TRUE(search->tell(donor.evaluations.back()));
  }
  return donor;
}

std::vector<Observation> observed(const Function& function, std::size_t count, std::uint64_t seed) {
  std::vector<Observation> told;
  for (const auto& point : sobol_points(3, 0, count, seed))
    told.push_back({point, std::log(function(cube().decode(point))), 0});
  return told;
}

TEST(AdaptedDonor, HoldsEachAdmittedSettingOnceTheBestFirst) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto own = random_constrained_space(random);
    if (!own) continue;
    Donor donor{.study = "d", .distance = 2};
    std::set<Params> failed, admitted;
    for (auto count = pick(random, 0, 300); count > 0; --count) {
      UnitPoint unit(own->parameters().size());
      for (double& coordinate : unit) coordinate = random_unit(random);
      Evaluation evaluation{own->decode(unit), static_cast<double>(pick(random, -9, 9)), 0};
      if (pick(random, 0, 9) == 0) evaluation.value.reset();
      if (pick(random, 0, 9) == 0) evaluation.params["other"] = 1.5;
      if (const auto params = own->admit(evaluation.params)) {
        (evaluation.value ? admitted : failed).insert(*params);
      }
      donor.evaluations.push_back(std::move(evaluation));
    }
    for (const auto& params : failed) admitted.erase(params);
    const Donor result = adapted_donor(donor, *own);
    EXPECT_EQ(result.study, "d");
    EXPECT_EQ(result.distance, 2);
    ASSERT_EQ(result.evaluations.size(), std::min(admitted.size(), kMostDonorSettings));
    std::set<Params> seen;
    for (std::size_t i = 0; i < result.evaluations.size(); ++i) {
      const auto& evaluation = result.evaluations[i];
      ASSERT_TRUE(admitted.contains(evaluation.params));
      ASSERT_TRUE(seen.insert(evaluation.params).second);
      if (i > 0) {
        ASSERT_LE(result.evaluations[i - 1].value, evaluation.value);
      }
    }
    ASSERT_EQ(adapted_donor(result, *own), result);
    const auto best = best_settings(result);
    ASSERT_EQ(best.size(), std::min(result.evaluations.size(), kReplayedSettings));
    for (std::size_t i = 0; i < best.size(); ++i) ASSERT_EQ(best[i], result.evaluations[i].params);
  }
}

TEST(AdaptedDonor, TakesTheMeanOfRepeatedSettings) {
  const auto space = Space::make({{"a", IntegerRange{1, 3}, std::int64_t{1}}}).value();
  const auto at = [](std::int64_t a) { return Params{{"a", a}}; };
  const Donor result = adapted_donor({.study = "d",
                                      .evaluations = {{at(1), 4, 0},
                                                      {at(2), 1, 0},
                                                      {at(1), 2, 0},
                                                      {at(2), 7, 0},
                                                      {at(3), 0.5, 0},
                                                      {at(3), std::nullopt, 0},
                                                      {at(9), 0.1, 0}}},
                                     space);
  ASSERT_EQ(result.evaluations.size(), 2U);
  EXPECT_EQ(result.evaluations[0], (Evaluation{at(1), 3, 0}));
  EXPECT_EQ(result.evaluations[1], (Evaluation{at(2), 4, 0}));
}

TEST(RankingLoss, IsTheShareOfPairsInTheWrongOrder) {
  const std::vector<double> values{1, 2, 3};
  Eigen::MatrixXd right(3, 3);
  right << 1, 1, 1, 2, 2, 2, 3, 3, 3;
  EXPECT_EQ(ranking_loss(right, values), 0);
  EXPECT_EQ(ranking_loss(-right, values), 1);
  // The model without the first value believes that value to be the worst: two of six pairs are
  // wrong.
  Eigen::MatrixXd one = right;
  one(0, 0) = 9;
  EXPECT_DOUBLE_EQ(ranking_loss(one, values), 2.0 / 6);
  EXPECT_EQ(ranking_loss(right, std::vector<double>{7, 7, 7}), 0);
}

TEST(TransferSurrogate, IsThePlainProcessWithoutValuesEnough) {
  const Valley function(1, 0);
  TransferSurrogate surrogate(cube(), adapted_donor(donor_of(function, 1), cube()));
  GaussianSurrogate plain(cube());
  const auto points = sobol_points(3, 100, 20, 3);
  for (std::size_t count = 1; count < kLeastTransferValues; ++count) {
    const auto told = observed(function, count, 1);
    surrogate.fit(told, {});
    plain.fit(told, {});
    EXPECT_FALSE(surrogate.joins());
    EXPECT_EQ(surrogate.believe(points).mean, plain.believe(points).mean);
    EXPECT_EQ(surrogate.believe(points).deviation, plain.believe(points).deviation);
    EXPECT_EQ(surrogate.noise(), plain.noise());
  }
}

TEST(TransferSurrogate, IsThePlainProcessWithMoreValuesThanAModelKeeps) {
  const Valley function(1, 0);
  TransferSurrogate surrogate(cube(), adapted_donor(donor_of(function, 1), cube()));
  GaussianSurrogate plain(cube());
  const auto told = observed(function, GaussianSurrogate::kMostKept + 44, 1);
  const auto points = sobol_points(3, 100, 20, 3);
  surrogate.fit(told, {});
  plain.fit(told, {});
  EXPECT_FALSE(surrogate.joins());
  EXPECT_EQ(surrogate.believe(points).mean, plain.believe(points).mean);
}

TEST(TransferSurrogate, NeverJoinsADonorThatSaysTheOpposite) {
  const auto points = sobol_points(3, 100, 20, 3);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const Valley function(seed, 0);
    const auto negated = [&](const Params& params) { return 1 / function(params); };
    TransferSurrogate surrogate(cube(), adapted_donor(donor_of(negated, seed, 30), cube()));
    GaussianSurrogate plain(cube());
    for (const std::size_t count : {8U, 16U}) {
      const auto told = observed(function, count, seed);
      surrogate.fit(told, {});
      plain.fit(told, {});
      ASSERT_FALSE(surrogate.joins());
      ASSERT_EQ(surrogate.believe(points).mean, plain.believe(points).mean);
    }
  }
}

TEST(TransferSurrogate, IsThePlainProcessWhereWhatIsLeftIsNoNumber) {
  const auto line = Space::make({{"x", RealRange{0, 1}, 0.5}}).value();
  Donor donor{.study = "rising"};
  for (const double x : {0.0, 0.25, 0.5, 0.75, 1.0})
    donor.evaluations.push_back({{{"x", x}}, std::exp(x), 0});
  TransferSurrogate surrogate(line, adapted_donor(donor, line));
  GaussianSurrogate plain(line);
  const double most = 1.7e308;
  const std::vector<Observation> told{
      {{0}, -most, 0}, {{1}, most, 0}, {{0.25}, most, 0}, {{0.75}, -most, 0}, {{0.5}, 0, 0}};
  surrogate.fit(told, {});
  plain.fit(told, {});
  EXPECT_FALSE(surrogate.joins());
  const std::vector<UnitPoint> points{{0.1}, {0.9}};
  EXPECT_EQ(surrogate.believe(points).mean, plain.believe(points).mean);
}

TEST(TransferSurrogate, PredictsBetterWithASimilarDonor) {
  double with = 0, without = 0;
  int joined = 0;
  const auto points = sobol_points(3, 100, 64, 3);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Valley function(seed, 0);
    Valley similar(seed, 0.03);
    similar.scale = 7;
    TransferSurrogate surrogate(cube(), adapted_donor(donor_of(similar, seed, 40), cube()));
    GaussianSurrogate plain(cube());
    const auto told = observed(function, 8, seed);
    surrogate.fit(told, {});
    plain.fit(told, {});
    joined += surrogate.joins() ? 1 : 0;
    const auto mine = surrogate.believe(points).mean, other = plain.believe(points).mean;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double truth = std::log(function(cube().decode(points[i])));
      with += std::abs(mine[static_cast<Eigen::Index>(i)] - truth);
      without += std::abs(other[static_cast<Eigen::Index>(i)] - truth);
    }
  }
  EXPECT_GE(joined, 15);
  EXPECT_LT(with, 0.8 * without);
}

/// Returns the number of trials until the search is within `share` of the optimum 1, at most
/// `most`.
int trials_to(double share, int most, const Function& function, std::optional<Donor> donor,
              std::uint64_t seed) {
  const auto search =
      make_search(cube(), {.seed = seed, .step = {}, .donor = std::move(donor)}).value();
  for (int trial = 1; trial < most; ++trial) {
    const auto params = search->ask()->params;
    const double value = function(params);
    if (value < 1 + share) return trial;
    EXPECT_TRUE(search->tell({params, value, 0}));
  }
  return most;
}

TEST(Transfer, ASimilarStudySavesTrials) {
  int with = 0, without = 0;
  for (std::uint64_t seed = 0; seed < rounds(30); ++seed) {
    const Valley function(seed, 0);
    with += trials_to(0.02, 40, function, donor_of(Valley(seed, 0.06), seed + 1000), seed);
    without += trials_to(0.02, 40, function, std::nullopt, seed);
  }
  EXPECT_LT(with, 0.8 * without);
}

TEST(Transfer, AnUnrelatedOrOppositeStudyCostsLittleMoreThanItsReplays) {
  int without = 0, unrelated = 0, opposite = 0;
  const int kSeeds = static_cast<int>(rounds(30));
  for (std::uint64_t seed = 0; seed < rounds(30); ++seed) {
    const Valley function(seed, 0);
    without += trials_to(0.02, 40, function, std::nullopt, seed);
    unrelated += trials_to(0.02, 40, function, donor_of(Valley(seed + 500, 0), seed), seed);
    opposite +=
        trials_to(0.02, 40, function,
                  donor_of([&](const Params& params) { return 1 / function(params); }, seed), seed);
  }
  // In addition to the replays, allows two trials per search; chance accounts for one and a half.
  const int most = without + kSeeds * (static_cast<int>(kReplayedSettings) + 2);
  EXPECT_LE(unrelated, most);
  EXPECT_LE(opposite, most);
}

TEST(Transfer, TriesTheDefaultThenTheBestOfTheDonorAndSaysSo) {
  const Donor donor = donor_of(Valley(3, 0), 3);
  const auto best = best_settings(adapted_donor(donor, cube()));
  const auto search = make_search(cube(), {.seed = 4, .step = {}, .donor = donor}).value();
  EXPECT_EQ(search->ask()->reason, "the default");
  for (const Params& params : best) {
    if (params == cube().defaults()) continue;
    const auto suggestion = search->ask();
    EXPECT_EQ(suggestion->params, params);
    EXPECT_EQ(suggestion->reason, "among the best of study earlier, at distance 1.5");
  }
  EXPECT_EQ(search->ask()->reason, "fills the space, before there is a model");
  EXPECT_EQ(replay_reason({.study = "other.csv"}), "among the best of study other.csv");
}

TEST(Transfer, ReplaysBeforeTheSimulatorIsAskedToo) {
  const auto space =
      Space::make({{"partition_bytes", IntegerRange{1 << 16, 1 << 26, true}, std::int64_t{1 << 22}},
                   {"credit_bytes", IntegerRange{1 << 16, 1 << 28, true}, std::int64_t{1 << 24}}})
          .value();
  const Params best{{"partition_bytes", std::int64_t{1 << 19}},
                    {"credit_bytes", std::int64_t{1 << 23}}};
  const Donor donor{.study = "earlier", .evaluations = {{best, 1e8, 0}}};
  const auto search = make_search(space, {.seed = 1, .step = {}, .donor = donor}).value();
  const auto first = search->ask()->params;
  EXPECT_EQ(first, space.defaults());
  ASSERT_TRUE(search->tell({first, 2e8, 0}));
  EXPECT_EQ(search->ask()->params, best);
  ASSERT_TRUE(search->tell({best, 1.5e8, 0}));
  EXPECT_THAT(search->ask()->reason, ::testing::HasSubstr("expects"));
}

TEST(Transfer, SurvivesDonorsAndValuesThatNoModelLikes) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto odd = [&] {
      const double values[] = {7, 1.7e308, -1.7e308, 5e-324, -5e-324, 0, 1, 3};
      return values[pick(random, 0, seed % 3 == 0 ? 2 : 7)];
    };
    const Space space = random_space(random);
    const auto anywhere = [&] {
      UnitPoint unit(space.parameters().size());
      for (double& coordinate : unit) coordinate = random_unit(random);
      return space.decode(unit);
    };
    Donor donor{.study = "odd"};
    for (auto count = pick(random, 0, 12); count > 0; --count)
      donor.evaluations.push_back({anywhere(), odd(), 0});
    const auto search = make_search(space, {.seed = seed, .step = {}, .donor = donor});
    if (!search) continue;  // a space of one point
    for (int i = 0; i < 14; ++i) {
      const auto suggestion = (*search)->ask();
      if (!suggestion) break;
      ASSERT_TRUE(space.admit(suggestion->params));
      ASSERT_TRUE((*search)->tell({suggestion->params, odd(), 0}));
    }
    ASSERT_TRUE((*search)->recommend());
  }
}

}  // namespace
}  // namespace hocket
