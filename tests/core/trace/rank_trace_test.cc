#include "core/trace/rank_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket {
namespace {

TraceRecord a_record() {
  TraceRecord record;
  record.begin_ns = 10;
  record.end_ns = 20;
  return record;
}

TEST(RankTrace, WhatIsUnknownIsPlausible) {
  EXPECT_TRUE(is_plausible(TraceRecord{}));
  EXPECT_TRUE(is_plausible(a_record()));
}

TEST(RankTrace, ALengthOfZeroIsPlausible) {
  TraceRecord record = a_record();
  record.end_ns = record.begin_ns;
  EXPECT_TRUE(is_plausible(record));
}

TEST(RankTrace, AnEndBeforeTheBeginIsNot) {
  TraceRecord record = a_record();
  record.end_ns = record.begin_ns - 1;
  EXPECT_FALSE(is_plausible(record));
}

TEST(RankTrace, NothingIsNegativeButTheSignsForNone) {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  const auto with = [](auto TraceRecord::*field, std::int64_t value) {
    TraceRecord record = a_record();
    record.*field = static_cast<std::decay_t<decltype(record.*field)>>(value);
    return is_plausible(record);
  };
  for (std::int64_t TraceRecord::*field :
       {&TraceRecord::begin_ns, &TraceRecord::end_ns, &TraceRecord::bytes,
        &TraceRecord::submitted_ns, &TraceRecord::ready_ns}) {
    EXPECT_FALSE(with(field, -1));
    EXPECT_FALSE(with(field, kLowest));
  }
  EXPECT_FALSE(with(&TraceRecord::lane, -1));
  for (std::int64_t TraceRecord::*field :
       {&TraceRecord::step, &TraceRecord::task, &TraceRecord::sequence}) {
    EXPECT_TRUE(with(field, -1));
    EXPECT_TRUE(with(field, 7));
    EXPECT_FALSE(with(field, -2));
    EXPECT_FALSE(with(field, kLowest));
  }
}

/// Returns a random trace with some invalid records. `task` numbers the records, so that the order
/// of equal ones is visible.
RankTrace random_trace(std::mt19937_64& random) {
  RankTrace trace;
  trace.names = {"a", "b"};
  trace.quarantined = static_cast<std::int64_t>(random() % 3);
  const std::size_t count = random() % 200;
  for (std::size_t i = 0; i < count; ++i) {
    TraceRecord record;
    record.begin_ns = static_cast<std::int64_t>(random() % 30) - 2;
    record.end_ns = record.begin_ns + static_cast<std::int64_t>(random() % 20) - 2;
    record.name = static_cast<std::uint32_t>(random() % 3);
    record.task = static_cast<std::int64_t>(i);
    trace.records.push_back(record);
  }
  return trace;
}

TEST(RankTrace, PuttingInOrderKeepsEveryRecordThatCanBeTrueAndCountsTheOthers) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const RankTrace before = random_trace(random);
    RankTrace after = before;
    put_in_order(after);

    std::vector<TraceRecord> expected;
    for (const TraceRecord& record : before.records) {
      if (is_plausible(record) && record.name < before.names.size()) expected.push_back(record);
    }
    const auto left_out = static_cast<std::int64_t>(before.records.size() - expected.size());
    EXPECT_EQ(after.quarantined, before.quarantined + left_out);
    // Records that begin at the same time keep their order of arrival.
    std::sort(expected.begin(), expected.end(), [](const TraceRecord& a, const TraceRecord& b) {
      return std::pair(a.begin_ns, a.task) < std::pair(b.begin_ns, b.task);
    });
    EXPECT_EQ(after.records, expected);

    RankTrace again = after;
    put_in_order(again);
    EXPECT_EQ(again, after);
  }
}

}  // namespace
}  // namespace hocket
