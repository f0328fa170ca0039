#include "core/placement/address_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/rounds.h"

namespace hocket::placement {
namespace {

TEST(AddressRanges, DataThatAreThereAtOnceAreApart) {
  int found_any = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < rounds(500); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t bound) {
      return static_cast<std::uint32_t>(random() % bound);
    };
    std::vector<DataToPlace> data(1 + below(12));
    std::vector<Residency> residencies;
    for (std::uint32_t item = 0; item < data.size(); ++item) {
      data[item].bytes = 1 + below(2000);
      for (std::uint32_t time = below(10); time < 40; time += 1 + below(20)) {
        const std::uint32_t earliest = time, first = earliest + below(4), last = first + below(6);
        residencies.push_back({.data = item,
                               .first = first,
                               .last = last,
                               .earliest = earliest,
                               .is_fetched = below(2) == 0,
                               .is_evicted = below(3) == 0});
        time = last;
      }
    }
    const std::int64_t limit_bytes = 1024 + 256 * below(40);
    const auto found = find_ranges(data, residencies, limit_bytes);
    found ? ++found_any : ++refused;
    if (!found) continue;
    std::int64_t peak_bytes = 0;
    for (const Residency& a : residencies) {
      const std::int64_t a_begin = found->address_bytes[a.data];
      ASSERT_GE(a_begin, 0);
      EXPECT_EQ(a_begin % kAlignmentBytes, 0);
      peak_bytes = std::max(peak_bytes, a_begin + aligned(data[a.data].bytes));
      for (const Residency& b : residencies) {
        const std::int64_t b_begin = found->address_bytes[b.data];
        if (a.data == b.data || a.last < b.first || b.last < a.first) continue;
        EXPECT_TRUE(a_begin + data[a.data].bytes <= b_begin ||
                    b_begin + data[b.data].bytes <= a_begin)
            << a.data << " and " << b.data;
      }
    }
    EXPECT_EQ(found->peak_bytes, peak_bytes);
    EXPECT_LE(peak_bytes, limit_bytes);
  }
  EXPECT_GT(found_any, 0);
  EXPECT_GT(refused, 0);
}

TEST(AddressRanges, AFetchInAdvanceHasARangeOfItsOwnWhereThereIsRoom) {
  const std::vector<DataToPlace> data{{"a", 256}, {"b", 256}};
  const std::vector<Residency> residencies{
      {.data = 0, .first = 0, .last = 3, .earliest = 0},
      {.data = 1, .first = 4, .last = 6, .earliest = 2, .is_fetched = true}};
  EXPECT_EQ(find_ranges(data, residencies, 512)->peak_bytes, 512);
  EXPECT_EQ(find_ranges(data, residencies, 511)->peak_bytes, 256) << "then it waits";
  EXPECT_FALSE(find_ranges(data, residencies, 255));
}

TEST(AddressRanges, DataThatAreCopiedShareWithEachOtherOnlyWhereThereIsRoom) {
  const std::vector<DataToPlace> data{{"a", 256}, {"b", 256}};
  const auto peak_bytes = [&](Residency a, Residency b, std::int64_t limit_bytes) {
    a = {.data = 0, .last = 1, .is_fetched = a.is_fetched, .is_evicted = a.is_evicted};
    b = {.data = 1, .first = 4, .last = 6, .earliest = 4, .is_fetched = b.is_fetched};
    return find_ranges(data, std::vector{a, b}, limit_bytes)->peak_bytes;
  };
  const Residency fetched{.is_fetched = true}, evicted{.is_evicted = true};
  for (const Residency& copied : {fetched, evicted}) {
    EXPECT_EQ(peak_bytes(copied, {}, 512), 512);
    EXPECT_EQ(peak_bytes(copied, {}, 511), 256);
    EXPECT_EQ(peak_bytes(copied, fetched, 512), 256);
  }
  EXPECT_EQ(peak_bytes({}, fetched, 512), 512);
  EXPECT_EQ(peak_bytes({}, {}, 512), 256);
}

TEST(AddressRanges, DataThatAreNeverThereHaveNone) {
  const std::vector<DataToPlace> data{{"a", 256}, {"b", 256}};
  const std::vector<Residency> residencies{{.data = 1, .first = 4, .last = 6, .earliest = 2}};
  EXPECT_EQ(find_ranges(data, residencies, 512)->address_bytes,
            (std::vector<std::int64_t>{kNotOnDevice, 0}));
}

}  // namespace
}  // namespace hocket::placement
