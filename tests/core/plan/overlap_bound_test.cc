#include "core/plan/overlap_bound.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

TEST(OverlapBound, HandComputedCases) {
  // All communication is hidden behind the work of other layers, except that of the first layer.
  EXPECT_EQ(overlap_bound_ns({{"a", 10, 10, 5}, {"b", 10, 10, 10}}), 45);
  // Communication-bound: the link is busy from the end of the last layer's backward pass to its
  // forward pass.
  EXPECT_EQ(overlap_bound_ns({{"a", 1, 1, 100}, {"b", 1, 1, 100}}), 202);
  EXPECT_EQ(overlap_bound_ns({{"a", 3, 4, 0}}), 7);
  EXPECT_EQ(overlap_bound_ns({}), 0);
}

TEST(OverlapBound, EqualsTheFormulaAndLiesBetweenTheTrivialBounds) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<LayerCost> layers(1 + random() % 8);
    std::int64_t compute = 0, communication = 0;
    for (auto& layer : layers) {
      layer.forward_ns = static_cast<std::int64_t>(random() % 100);
      layer.backward_ns = static_cast<std::int64_t>(random() % 100);
      layer.communication_ns = static_cast<std::int64_t>(random() % 100);
      compute += layer.forward_ns + layer.backward_ns;
      communication += layer.communication_ns;
    }
    std::int64_t expected = compute;
    for (std::size_t k = 0; k < layers.size(); ++k) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < layers.size(); ++i) {
        if (i >= k) sum += layers[i].backward_ns + layers[i].forward_ns;
        if (i <= k) sum += layers[i].communication_ns;
      }
      expected = std::max(expected, sum);
    }
    const auto bound = overlap_bound_ns(layers);
    ASSERT_EQ(bound, expected);
    ASSERT_GE(bound, std::max(compute, communication));
    ASSERT_LE(bound, compute + communication);
    ASSERT_DOUBLE_EQ(overlap_efficiency(layers, bound), 1);
    if (bound < compute + communication) {
      ASSERT_DOUBLE_EQ(overlap_efficiency(layers, compute + communication), 0);
    }
  }
}

}  // namespace
}  // namespace hocket
