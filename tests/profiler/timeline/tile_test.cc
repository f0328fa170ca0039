#include "profiler/timeline/tile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include "profiler/timeline/timeline.h"
#include "tests/profiler/timeline/random_profile.h"
#include "tests/rounds.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

using Tile = std::map<std::uint32_t, std::vector<TileBox>>;

Tile decoded(const std::vector<std::uint32_t>& words) {
  Tile tile;
  EXPECT_GE(words.size(), 2u);
  EXPECT_EQ(words[0], 0x31544b48u);
  std::size_t at = 2 + 2 * std::size_t{words[1]};
  for (std::size_t i = 0; i < words[1]; ++i) {
    auto& boxes = tile[words[2 + 2 * i]];
    for (std::uint32_t left = words[3 + 2 * i]; left > 0; --left, at += 7) {
      const auto number = [&](std::size_t j) { return std::bit_cast<float>(words[at + j]); };
      boxes.push_back({number(0), number(1), number(2), words[at + 3], words[at + 4], words[at + 5],
                       words[at + 6]});
    }
    EXPECT_FALSE(boxes.empty()) << "a lane without boxes is not told";
  }
  EXPECT_EQ(at, words.size());
  return tile;
}

/// A tile's place on the axis, computed as its definition says.
struct Place {
  long double begin_ns, length_ns;

  Place(const Timeline& timeline, std::int64_t level, std::int64_t index)
      : begin_ns(static_cast<long double>(timeline.end_ns()) * static_cast<long double>(index) /
                 static_cast<long double>(std::int64_t{1} << level)),
        length_ns(static_cast<long double>(timeline.end_ns()) /
                  static_cast<long double>(std::int64_t{1} << level)) {}

  long double column(std::int64_t time_ns) const {
    return (static_cast<long double>(time_ns) - begin_ns) / length_ns * 512;
  }
  long double cut(std::int64_t time_ns) const { return std::clamp(column(time_ns), 0.0L, 512.0L); }
  bool has(const RecordDetails& r) const {
    const auto begin = static_cast<long double>(r.begin_ns),
               end = static_cast<long double>(r.end_ns);
    return begin < begin_ns + length_ns && (end > begin_ns || begin >= begin_ns);
  }
};

/// Columns to which positions are exact: those of binary32 near 512, and somewhat more.
constexpr double kNear = 1e-4;

/// Checks one box against the records that it stands for, all of which lie in the tile.
void expect_box(const TileBox& box, std::span<const RecordDetails> records, const Place& place,
                const std::vector<std::string>& names) {
  const RecordDetails &first = records.front(), &last = records.back();
  EXPECT_NEAR(box.begin_column, static_cast<double>(place.cut(first.begin_ns)), kNear);
  EXPECT_NEAR(box.end_column, static_cast<double>(place.cut(last.end_ns)), kNear);
  if (records.size() == 1) {
    EXPECT_EQ(box.busy, 1);
    EXPECT_EQ(names[box.name], first.name);
  } else {
    EXPECT_LE(place.column(last.end_ns) - place.column(first.begin_ns), 1 + kNear)
        << "records farther apart than a column are in one box";
  }
  long double busy = 0;
  bool is_one_name = true;
  for (const RecordDetails& record : records) {
    busy += place.cut(record.end_ns) - place.cut(record.begin_ns);
    is_one_name = is_one_name && record.name == first.name;
  }
  EXPECT_NEAR((box.end_column - box.begin_column) * box.busy, static_cast<double>(busy), 3 * kNear);
  EXPECT_EQ(box.name == kSeveralNames, !is_one_name);
  EXPECT_EQ(box.join != 0, !first.parts.empty() && first.sequence == last.sequence);
}

void expect_tile(const Timeline& timeline, const std::vector<std::vector<RecordDetails>>& lanes,
                 std::int64_t level, std::int64_t index) {
  SCOPED_TRACE("level " + std::to_string(level) + ", index " + std::to_string(index));
  const auto words = timeline.tile(level, index);
  ASSERT_TRUE(words) << words.error().message;
  const Tile tile = decoded(*words);
  const Place place(timeline, level, index);
  for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
    std::vector<std::uint32_t> inside;
    for (std::uint32_t i = 0; i < lanes[lane].size(); ++i) {
      if (place.has(lanes[lane][i])) inside.push_back(i);
    }
    const auto found = tile.find(lane);
    ASSERT_EQ(found == tile.end(), inside.empty());
    if (inside.empty()) continue;
    std::size_t next = 0;
    float last_column = 0;
    for (const TileBox& box : found->second) {
      ASSERT_LE(next + box.records, inside.size());
      ASSERT_EQ(box.record, inside[next]) << "boxes hold the records of the tile in their order";
      ASSERT_GT(box.records, 0u);
      EXPECT_GE(box.begin_column, last_column - kNear);
      last_column = box.end_column;
      expect_box(box, std::span(lanes[lane]).subspan(box.record, box.records), place,
                 timeline.names());
      next += box.records;
    }
    ASSERT_EQ(next, inside.size());
    EXPECT_LE(found->second.size(), 2u * 512 + 2);
  }
}

TEST(Tile, StandsForTheRecordsInIt) {
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TimelineInput input = random_input(seed);
    const Timeline timeline = input.timeline();
    const auto lanes = records_by_lane(timeline);
    std::mt19937_64 random(seed);
    for (std::int64_t level = 0; level <= 12; ++level) {
      for (int i = 0; i < 4; ++i) {
        const auto index = static_cast<std::int64_t>(random() % (std::uint64_t{1} << level));
        expect_tile(timeline, lanes, level, index);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Tile, MergesManyShortRecords) {
  for (std::uint64_t seed = 1; seed <= rounds(10); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    TimelineInput input;
    RankTrace& trace = input.add(0);
    std::int64_t time_ns = 1'700'000'000'000'000'000;
    for (int i = 0; i < 3000; ++i) {
      const bool is_long = random() % 500 == 0, is_far = random() % 300 == 0;
      const auto length_ns = static_cast<std::int64_t>(random() % (is_long ? 4000 : 10));
      trace.records.push_back(
          record_of(TraceKind::compute, time_ns, time_ns + length_ns, 0, i / 40 % 2));
      time_ns += length_ns + static_cast<std::int64_t>(random() % (is_far ? 3000 : 8));
    }
    const Timeline timeline = input.timeline();
    const auto lanes = records_by_lane(timeline);
    for (std::int64_t level = 0; level <= 5; ++level) {
      for (std::int64_t index = 0; index < std::int64_t{1} << level; ++index) {
        expect_tile(timeline, lanes, level, index);
        if (testing::Test::HasFailure()) return;
      }
    }
    const Tile whole = decoded(*timeline.tile(0, 0));
    EXPECT_LT(whole.at(0).size(), 1026u);
    EXPECT_GT(whole.at(0).size(), 50u);
  }
}

double busy_columns(const Tile& tile, std::uint32_t lane) {
  double sum = 0;
  if (!tile.contains(lane)) return sum;
  for (const TileBox& box : tile.at(lane)) sum += (box.end_column - box.begin_column) * box.busy;
  return sum;
}

TEST(Tile, IsAsBusyAsItsHalves) {
  for (std::uint64_t seed = 1; seed <= rounds(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Timeline timeline = random_input(seed).timeline();
    std::mt19937_64 random(seed);
    for (std::int64_t level = 0; level < 10; ++level) {
      const auto index = static_cast<std::int64_t>(random() % (std::uint64_t{1} << level));
      const Tile whole = decoded(*timeline.tile(level, index));
      const Tile left = decoded(*timeline.tile(level + 1, 2 * index));
      const Tile right = decoded(*timeline.tile(level + 1, 2 * index + 1));
      for (std::uint32_t lane = 0; lane < timeline.lanes().size(); ++lane) {
        ASSERT_NEAR(2 * busy_columns(whole, lane),
                    busy_columns(left, lane) + busy_columns(right, lane), 0.05);
      }
    }
  }
}

TEST(Tile, IsExactWhenItIsDeep) {
  TimelineInput input;
  input.add(0).records = {record_of(TraceKind::compute, 0, 1'000'000'000),
                          record_of(TraceKind::compute, 1'000'000'000, 1'000'000'000),
                          record_of(TraceKind::compute, 1'000'000'000, 1'099'511'627'776)};
  const Timeline timeline = input.timeline();
  ASSERT_EQ(timeline.end_ns(), std::int64_t{1} << 40) << "so that a tile is 1 ns long";
  const auto boxes = decoded(*timeline.tile(40, 1'000'000'000)).at(0);
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[0].record, 1u);
  EXPECT_EQ(boxes[0].end_column, 0);
  EXPECT_EQ(boxes[1].end_column, 512);
  EXPECT_EQ(decoded(*timeline.tile(40, 999'999'999)).at(0)[0].end_column, 512);
}

TEST(Tile, HasALastRecordWithoutLength) {
  TimelineInput input;
  input.add(0).records = {record_of(TraceKind::compute, 0, 10),
                          record_of(TraceKind::compute, 10, 10),
                          record_of(TraceKind::compute, 10, 10)};
  const Timeline timeline = input.timeline();
  EXPECT_EQ(timeline.end_ns(), 11);
  const auto boxes = decoded(*timeline.tile(0, 0)).at(0);
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[1].records, 2u);
  EXPECT_EQ(boxes[1].busy, 1);
}

TEST(Tile, CanBeOfSomeLanesOnly) {
  const Timeline timeline = random_input(3).timeline();
  const auto lanes = static_cast<std::uint32_t>(timeline.lanes().size());
  ASSERT_GT(lanes, 3u);
  const Tile all = decoded(*timeline.tile(2, 1));
  const Tile some = decoded(*timeline.tile(2, 1, {1, 2}));
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    EXPECT_EQ(some.contains(lane), all.contains(lane) && (lane == 1 || lane == 2));
  }
  EXPECT_EQ(timeline.tile(2, 1, {lanes, 5})->size(), 2u);
  EXPECT_EQ(timeline.tile(2, 1, {1, 0})->size(), 2u);
  EXPECT_EQ(timeline.tile(2, 1, {lanes + 1, 0}).error().code, ErrorCode::invalid_argument);
}

TEST(Tile, IsRefusedOutsideTheAxis) {
  const Timeline timeline = random_input(1).timeline();
  EXPECT_TRUE(timeline.tile(40, (std::int64_t{1} << 40) - 1));
  for (const auto& [level, index, message] :
       std::vector<std::tuple<std::int64_t, std::int64_t, std::string>>{
           {-1, 0, "level must be from 0 to 40, found -1"},
           {41, 0, "level must be from 0 to 40, found 41"},
           {3, 8, "index must be from 0 to 7 at level 3, found 8"},
           {0, -1, "index must be from 0 to 0 at level 0, found -1"}}) {
    const auto tile = timeline.tile(level, index);
    ASSERT_FALSE(tile);
    EXPECT_EQ(tile.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(tile.error().message, message);
  }
}

}  // namespace
}  // namespace hocket
