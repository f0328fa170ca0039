#include "profiler/timeline/lane_records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "profiler/timeline/timeline.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

struct Sample {
  std::vector<LaneRecord> list;
  std::vector<std::uint32_t> joins;
  LaneRecords records;
};

/// Records of a lane with gaps, records that touch, and records without length.
Sample random_sample(std::mt19937_64& random, std::size_t size) {
  Sample sample;
  std::int64_t time_ns = static_cast<std::int64_t>(random() % 10);
  const std::uint64_t names = 1 + random() % 3, repeats = 1 + random() % 40;
  for (std::size_t i = 0; i < size; ++i) {
    if (random() % 2 == 0) time_ns += static_cast<std::int64_t>(random() % 20);
    LaneRecord record{time_ns, time_ns, static_cast<std::uint32_t>(i / repeats % names)};
    if (random() % 3 > 0) record.end_ns += static_cast<std::int64_t>(random() % 30);
    time_ns = record.end_ns;
    sample.list.push_back(record);
    sample.joins.push_back(static_cast<std::uint32_t>(i / repeats % 2));
    sample.records.push_back(record);
  }
  for (std::size_t i = 0; i < size; ++i) sample.records.set_join(i, sample.joins[i]);
  sample.records.finish();
  return sample;
}

void expect_summary(const Sample& sample, std::size_t first, std::size_t last) {
  const RunSummary summary = sample.records.summary(first, last);
  std::int64_t busy_ns = 0;
  bool is_one_name = true, is_one_join = true;
  for (std::size_t i = first; i < last; ++i) {
    busy_ns += sample.list[i].end_ns - sample.list[i].begin_ns;
    is_one_name = is_one_name && sample.list[i].name == sample.list[first].name;
    is_one_join = is_one_join && sample.joins[i] == sample.joins[first];
  }
  ASSERT_EQ(summary.busy_ns, busy_ns) << first << " to " << last;
  ASSERT_EQ(summary.name, is_one_name ? sample.list[first].name : kSeveralNames);
  ASSERT_EQ(summary.join, is_one_join ? sample.joins[first] : 0);
}

TEST(LaneRecords, SummariseAnyRun) {
  for (std::uint64_t seed = 1; seed <= rounds(40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Sample sample = random_sample(random, 1 + random() % 700);
    for (int i = 0; i < 100; ++i) {
      const std::size_t first = random() % sample.list.size();
      const std::size_t last = first + 1 + random() % (sample.list.size() - first);
      expect_summary(sample, first, last);
    }
    expect_summary(sample, 0, sample.list.size());
  }
}

TEST(LaneRecords, AreFoundByTime) {
  for (std::uint64_t seed = 1; seed <= rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Sample sample = random_sample(random, random() % 60);
    const std::size_t from = random() % (sample.list.size() + 1);
    const auto first_with = [&](std::size_t begin, auto is_meant) {
      const auto at = std::find_if(sample.list.begin() + static_cast<std::ptrdiff_t>(begin),
                                   sample.list.end(), is_meant);
      return static_cast<std::size_t>(at - sample.list.begin());
    };
    for (std::int64_t t = -2; t < 700; t += 1 + static_cast<std::int64_t>(random() % 5)) {
      EXPECT_EQ(sample.records.first_not_before(t), first_with(0, [&](const LaneRecord& r) {
                  return r.end_ns > t || r.begin_ns >= t;
                }));
      EXPECT_EQ(sample.records.first_begin_from(t, from),
                first_with(from, [&](const LaneRecord& r) { return r.begin_ns >= t; }));
      EXPECT_EQ(sample.records.first_end_after(t, from),
                first_with(from, [&](const LaneRecord& r) { return r.end_ns > t; }));
    }
  }
}

TEST(LaneRecords, TellTheBusyTimeOfAWindow) {
  for (std::uint64_t seed = 1; seed <= rounds(200); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Sample sample = random_sample(random, random() % 60);
    for (int i = 0; i < 30; ++i) {
      const auto begin_ns = static_cast<std::int64_t>(random() % 700) - 5;
      const Interval window{begin_ns, begin_ns + static_cast<std::int64_t>(random() % 300) - 20};
      std::int64_t busy_ns = 0;
      for (const LaneRecord& record : sample.list) {
        busy_ns += std::max<std::int64_t>(
            std::min(record.end_ns, window.end_ns) - std::max(record.begin_ns, window.begin_ns), 0);
      }
      ASSERT_EQ(sample.records.busy_ns(window), window.end_ns > window.begin_ns ? busy_ns : 0);
    }
  }
}

TEST(LaneRecords, KeepAllThatIsKnown) {
  LaneRecord full{100, 200, 7};
  full.step = 1, full.task = 2, full.bytes = 3, full.sequence = 4;
  full.submitted_ns = 50, full.ready_ns = 60;
  full.collective = CollectiveKind::broadcast;
  const LaneRecord bare{300, 300, 8};
  LaneRecords records;
  for (const LaneRecord& record : {LaneRecord{0, 1, 9}, full, bare}) records.push_back(record);
  records.finish();
  EXPECT_EQ(records.at(1).step, 1);
  EXPECT_EQ(records.at(1).task, 2);
  EXPECT_EQ(records.at(1).bytes, 3);
  EXPECT_EQ(records.at(1).sequence, 4);
  EXPECT_EQ(records.at(1).submitted_ns, 50);
  EXPECT_EQ(records.at(1).ready_ns, 60);
  EXPECT_EQ(records.at(1).collective, CollectiveKind::broadcast);
  for (const std::size_t i : {0, 2}) {
    EXPECT_EQ(records.at(i).step, std::nullopt);
    EXPECT_EQ(records.at(i).collective, std::nullopt);
    EXPECT_EQ(records.at(i).submitted_ns, std::nullopt);
  }
  EXPECT_EQ(records.at(2).begin_ns, 300);
  EXPECT_EQ(records.at(2).name, 8u);
}

}  // namespace
}  // namespace hocket
