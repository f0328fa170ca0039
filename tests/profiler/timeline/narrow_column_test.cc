#include "profiler/timeline/narrow_column.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/rounds.h"

namespace hocket {
namespace {

using Value = std::optional<std::int64_t>;

void expect_kept(const std::vector<Value>& values) {
  NarrowColumn column;
  column.reserve(values.size());
  for (const Value& value : values) column.push_back(value);
  column.finish();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(column.at(i), values[i]) << "at " << i;
}

TEST(NarrowColumn, KeepsAnyValues) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kNarrow = std::numeric_limits<std::int32_t>::max();
  expect_kept({0, kNarrow, kNarrow + 1, -kNarrow - 1, -kNarrow, -kNarrow + 1, Value(), kMost});
  expect_kept({kMost, kLeast, 0, Value(), kMost - kNarrow});
  expect_kept({Value(), kLeast, kMost, kLeast + kNarrow});
}

TEST(NarrowColumn, KeepsRandomValues) {
  for (std::uint64_t seed = 1; seed <= rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<Value> values(random() % 50);
    for (Value& value : values) {
      if (random() % 4 > 0) value = static_cast<std::int64_t>(random()) >> random() % 64;
    }
    expect_kept(values);
  }
}

TEST(NarrowColumn, TakesFourBytesForNearValuesAndNoneForUnknownOnes) {
  NarrowColumn near, unknown;
  near.reserve(1000);
  unknown.reserve(1000);
  for (std::int64_t i = 0; i < 1000; ++i) {
    near.push_back((std::int64_t{1} << 60) + i);
    unknown.push_back(std::nullopt);
  }
  near.finish();
  unknown.finish();
  EXPECT_EQ(near.bytes(), 4000u);
  EXPECT_EQ(unknown.bytes(), 0u);
  EXPECT_EQ(unknown.at(999), std::nullopt);
}

}  // namespace
}  // namespace hocket
