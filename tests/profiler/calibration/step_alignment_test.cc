#include "profiler/calibration/step_alignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace hocket {
namespace {

using Items = std::vector<std::uint32_t>;

/// Returns the length of a longest common subsequence by dynamic programming.
std::int64_t longest(const Items& a, const Items& b) {
  std::vector<std::vector<std::int64_t>> best(a.size() + 1,
                                              std::vector<std::int64_t>(b.size() + 1));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      best[i + 1][j + 1] = a[i] == b[j] ? best[i][j] + 1 : std::max(best[i][j + 1], best[i + 1][j]);
    }
  }
  return best[a.size()][b.size()];
}

/// Checks that partners are equal and in order, and returns their number.
std::int64_t matched(const Items& reference, const Items& other) {
  const auto partners = align_sequences(reference, other);
  EXPECT_EQ(partners.size(), other.size());
  std::int64_t last = -1, count = 0;
  for (std::size_t i = 0; i < partners.size(); ++i) {
    if (partners[i] == kNoPartner) continue;
    EXPECT_GT(partners[i], last);
    EXPECT_EQ(reference.at(static_cast<std::size_t>(partners[i])), other[i]);
    last = partners[i];
    ++count;
  }
  return count;
}

TEST(StepAlignment, FindsALongestCommonSubsequence) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Items a(random() % 30), b(random() % 30);
    const std::uint64_t letters = 1 + random() % 6;
    for (auto* items : {&a, &b}) {
      for (std::uint32_t& item : *items) item = static_cast<std::uint32_t>(random() % letters);
    }
    EXPECT_EQ(matched(a, b), longest(a, b));
  }
}

TEST(StepAlignment, StaysBoundedWhereSequencesDifferALot) {
  std::mt19937_64 random(5);
  Items a(60'000), b;
  for (std::uint32_t& item : a) item = static_cast<std::uint32_t>(random());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i % 10 == 0) b.push_back(static_cast<std::uint32_t>(random()));
    b.push_back(a[i]);
  }
  EXPECT_EQ(matched(a, b), std::ssize(a));
}

}  // namespace
}  // namespace hocket
