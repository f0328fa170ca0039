#include "cli/output/columns.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

TEST(Columns, CountsWideAndCombiningCharacters) {
  EXPECT_EQ(columns_of(""), 0u);
  EXPECT_EQ(columns_of("gpt2"), 4u);
  EXPECT_EQ(columns_of("größe"), 5u);
  EXPECT_EQ(columns_of("訓練"), 4u);
  EXPECT_EQ(columns_of("e\xcc\x81t\xc3\xa9"), 3u) << "with a combining accent";
  EXPECT_EQ(columns_of("█▁…"), 3u);
  EXPECT_EQ(columns_of("🚂"), 2u);
}

TEST(Columns, FillsUpAndCutsBetweenCharacters) {
  EXPECT_EQ(fitted("ab", 4), "ab  ");
  EXPECT_EQ(fitted_right("ab", 4), "  ab");
  EXPECT_EQ(fitted("abcdef", 4), "abc…");
  EXPECT_EQ(fitted("größe", 4), "grö…");
  EXPECT_EQ(fitted("訓練所", 4), "訓… ") << "a wide one does not fit beside the dots";
  EXPECT_EQ(fitted("訓練", 4), "訓練");
  EXPECT_EQ(fitted("ab", 1), "…");
  EXPECT_EQ(fitted("ab", 0), "");
}

TEST(Columns, WhateverTheTextItFits) {
  const char* const kCharacters[] = {"a", "ö", "訓", "🚂", "\xcc\x81", "█", " "};
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::string text;
    for (auto left = random() % 30; left > 0; --left) text += kCharacters[random() % 7];
    const std::size_t columns = random() % 40;
    EXPECT_EQ(columns_of(fitted(text, columns)), columns);
    EXPECT_EQ(columns_of(fitted_right(text, columns)), columns);
    if (columns_of(text) <= columns) {
      EXPECT_TRUE(fitted(text, columns).starts_with(text));
    }
  }
}

}  // namespace
}  // namespace hocket
