#include "core/graph/interpreter/functions.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/core/graph/same_values.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

/// Calls check(a, b) for random elements, and for 0 and 1.
template <class Check>
void for_random_residues(Check check) {
  std::mt19937_64 random(std::random_device{}());
  const auto any = [&] { return Residue::of_word(random()); };
  for (const double a : {0, 1, -1}) check(Residue(a), any());
  for (std::uint64_t round = 0; round < rounds(300); ++round) check(any(), any());
}

TEST(ResidueFunctions, ExponentialsAreReciprocalAtTheOtherSide) {
  EXPECT_EQ(exponential_of(Residue(0)), 1);
  for_random_residues([](Residue a, Residue) {
    EXPECT_EQ(exponential_of(a) * exponential_of(-a), 1);
    EXPECT_EQ(sigmoid_of(a) + sigmoid_of(-a), 1);
    EXPECT_EQ(sigmoid_of(a) * (1 + exponential_of(-a)), 1);
    EXPECT_EQ(tanh_of(a), 2 * sigmoid_of(2 * a) - 1);
    EXPECT_EQ(tanh_of(-a), -tanh_of(a));
  });
}

TEST(ResidueFunctions, ArbitraryOnesHaveNoFalseLaws) {
  EXPECT_EQ(logarithm_of(Residue(1)), 0);
  for_random_residues([](Residue a, Residue b) {
    if (a * a == 1 || a == 0) return;
    EXPECT_NE(exponential_of(a + b), exponential_of(a) * exponential_of(b));
    EXPECT_NE(exponential_of(a), a);
    EXPECT_NE(logarithm_of(a), exponential_of(a));
    EXPECT_NE(logarithm_of(a), logarithm_of(-a));
    EXPECT_NE(exponential_of(a), exponential_of(b));
  });
}

TEST(ResidueFunctions, RootsOfProductsAreProductsOfRoots) {
  std::set<Residue> signs;
  for_random_residues([&](Residue a, Residue b) {
    EXPECT_EQ(root_of(a * b), root_of(a) * root_of(b));
    const Residue square = root_of(a) * root_of(a);
    EXPECT_TRUE(square == a || square == -a);
    if (a != 0) signs.insert(square / a);
  });
  EXPECT_EQ(signs.size(), 2u);
  for (const double root : {0.0, 1.0, 8.0, 0.125, 65536.0})
    EXPECT_EQ(root_of(Residue(root * root)), Residue(root));
}

TEST(ResidueFunctions, TurnsAreOnTheCircleAndGoBack) {
  std::mt19937_64 random(std::random_device{}());
  std::normal_distribution<double> normal;
  EXPECT_EQ(turn_of<Residue>(0).cosine, 1);
  EXPECT_EQ(turn_of<Residue>(0).sine, 0);
  for (std::uint64_t round = 0; round < rounds(300); ++round) {
    const double angle = normal(random);
    const auto [cosine, sine] = turn_of<Residue>(angle);
    EXPECT_EQ(cosine * cosine + sine * sine, 1);
    EXPECT_EQ(turn_of<Residue>(-angle).cosine, cosine);
    EXPECT_EQ(turn_of<Residue>(-angle).sine, -sine);
    EXPECT_NE(turn_of<Residue>(2 * angle).sine, sine);
    EXPECT_NE(sine, 0);
  }
}

TEST(ResidueFunctions, PowersAreProducts) {
  for_random_residues([](Residue a, Residue) {
    EXPECT_EQ(power_of(a, 0), 1);
    EXPECT_EQ(power_of(a, 1), a);
    EXPECT_EQ(power_of(a, 13) * power_of(a, 6), power_of(a, 19));
    EXPECT_EQ(power_of(a, 3), a * a * a);
  });
}

TEST(ResidueFunctions, NoNumberIsBelowTheLeast) {
  EXPECT_EQ(least_number<Residue>() - 1, -least_number<Residue>());
  for_random_residues([](Residue a, Residue) { EXPECT_GE(a, least_number<Residue>()); });
}

}  // namespace
}  // namespace hocket
