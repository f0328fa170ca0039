#include "tuner/search/pareto_front.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace hocket {
namespace {

TEST(ParetoFront, KeepsExactlyWhatNothingDominates) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto objectives = 1 + random() % 3;
    std::vector<std::vector<double>> values(random() % 30);
    for (auto& value : values)
      for (std::size_t k = 0; k < objectives; ++k)
        value.push_back(static_cast<double>(random() % 6));
    const auto front = pareto_front(values);
    const auto dominates = [&](std::size_t a, std::size_t b) {
      bool lower = false;
      for (std::size_t k = 0; k < objectives; ++k) {
        if (values[a][k] > values[b][k]) return false;
        lower = lower || values[a][k] < values[b][k];
      }
      return lower;
    };
    for (std::size_t i = 0; i < values.size(); ++i) {
      bool expected = true;
      for (std::size_t j = 0; j < values.size(); ++j)
        if (dominates(j, i) || (j < i && values[j] == values[i])) expected = false;
      EXPECT_EQ(std::find(front.begin(), front.end(), i) != front.end(), expected);
    }
    EXPECT_TRUE(std::is_sorted(front.begin(), front.end()));
    EXPECT_EQ(front.empty(), values.empty());
  }
}

}  // namespace
}  // namespace hocket
