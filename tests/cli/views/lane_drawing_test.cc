#include "cli/views/lane_drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "cli/output/columns.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class Drawn {
 public:
  Drawn& add(TraceKind kind, std::int32_t lane, const std::string& name, std::int64_t begin_ns,
             std::int64_t end_ns) {
    TraceRecord record;
    record.kind = kind;
    record.lane = lane;
    record.name = static_cast<std::uint32_t>(trace.names.size());
    record.begin_ns = begin_ns;
    record.end_ns = end_ns;
    trace.names.push_back(name);
    trace.records.push_back(record);
    return *this;
  }

  std::vector<std::string> lines(std::int64_t begin_ns, std::int64_t end_ns, int columns = 40,
                                 bool calls = false) {
    put_in_order(trace);
    return draw_lanes(trace, {begin_ns, end_ns, columns, calls});
  }

  RankTrace trace;
};

TEST(LaneDrawing, DrawsStreamsAndChannelsWithNamesAndAnAxis) {
  Drawn drawn;
  drawn.add(TraceKind::compute, 0, "forward", 0, 100)
      .add(TraceKind::compute, 0, "b", 110, 130)
      .add(TraceKind::communication, 0, "grad", 100, 250)
      .add(TraceKind::copy, 1, "x y", 5, 250);
  EXPECT_THAT(drawn.lines(0, 250), ElementsAre("stream 0     |[forward## [#            |",
                                               "channel 0    |          (grad==========|",
                                               "copies 1     |{x_y+++++++++++++++++++++|",
                                               "              |0 ns     |100 ns         "));
}

TEST(LaneDrawing, ShowsOnlyTheWindowAndWhatBeganBeforeItHasNoMark) {
  Drawn drawn;
  drawn.add(TraceKind::compute, 0, "early", 0, 1050)
      .add(TraceKind::compute, 0, "inside", 1050, 1200)
      .add(TraceKind::compute, 0, "late", 1250, 2000)
      .add(TraceKind::compute, 7, "elsewhere", 0, 1000);
  EXPECT_THAT(drawn.lines(1000, 1250),
              ElementsAre("stream 0     |#####[inside########     |", HasSubstr("|0 ns")));
}

TEST(LaneDrawing, CutsTheLongestNameBetweenCharacters) {
  Drawn drawn;
  drawn.add(TraceKind::compute, 0, "ééééééééééééééé", 0, 100)
      .add(TraceKind::compute, 0, "alsotoolongforit", 100, 190);
  EXPECT_EQ(drawn.lines(0, 250)[0], "stream 0     |[ééééééé…#[########      |");
}

TEST(LaneDrawing, OverlapsGoOnFurtherLinesTheLastOfWhichHasTheRest) {
  Drawn drawn;
  for (int i = 0; i < 6; ++i) drawn.add(TraceKind::compute, 0, "t", i * 10, 250);
  const auto lines = drawn.lines(0, 250);
  ASSERT_THAT(lines, SizeIs(kMostLinesOfLane + 1));
  EXPECT_THAT(lines[1], HasSubstr("stream 0 (2) | [t#"));
  EXPECT_THAT(lines[3], HasSubstr("stream 0 (4+)|   [[[###"));
}

TEST(LaneDrawing, CallsAreDrawnIfAsked) {
  Drawn drawn;
  drawn.add(TraceKind::call, 0, "launch", 0, 250).add(TraceKind::range, 0, "step", 0, 250);
  EXPECT_THAT(drawn.lines(0, 250), SizeIs(2));
  EXPECT_THAT(drawn.lines(0, 250, 40, true), SizeIs(3));
  EXPECT_EQ(lane_legend(drawn.trace, false), "- range");
  EXPECT_EQ(lane_legend(drawn.trace, true), "- range   . call");
}

TEST(LaneDrawing, ManyLanesAreCounted) {
  Drawn drawn;
  for (int lane = 0; lane < 100; ++lane) drawn.add(TraceKind::compute, lane, "t", 0, 10);
  const auto lines = drawn.lines(0, 250);
  EXPECT_THAT(lines, SizeIs(kMostDrawnLanes + 2));
  EXPECT_EQ(lines.back(), "(36 further lanes are not drawn)");
  EXPECT_THAT(Drawn().lines(0, 250), SizeIs(1)) << "the axis alone";
}

const std::vector<std::string> kNames = {"a",       "forward 3", "größer",    "反向传播",
                                         "e\u0301", "\xff\xfe",  "bell\a",    "",
                                         "\u200b",  "🚀🚀🚀",       "all_reduce"};

class RandomDrawing {
 public:
  explicit RandomDrawing(std::uint64_t seed) : random_(seed) {
    for (auto left = below(60); left > 0; --left) {
      const std::int64_t begin = below(1000);
      const std::int64_t length = below(3) == 0 ? 0 : below(below(2) == 0 ? 20 : 600);
      drawn.add(static_cast<TraceKind>(below(5)), static_cast<std::int32_t>(below(3)),
                kNames[static_cast<std::size_t>(below(std::ssize(kNames)))], kBase + begin,
                kBase + begin + length);
    }
    begin_ns = kBase + below(600);
    end_ns = begin_ns + 1 + below(below(2) == 0 ? 10 : 1000);
    columns = static_cast<int>(kLeastColumns + below(kMostColumns - kLeastColumns + 1));
  }

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }

  Drawn drawn;
  std::int64_t begin_ns = 0, end_ns = 0;
  int columns = 0;

 private:
  static constexpr std::int64_t kBase = 1'700'000'000'000'000'000;
  std::mt19937_64 random_;
};

/// Returns one character per column.
std::string in_columns(const std::string& line) {
  std::string columns;
  for (std::size_t at = 0; at < line.size();) {
    std::size_t end = at + 1;
    while (end < line.size() && (static_cast<unsigned char>(line[end]) >> 6) == 2) ++end;
    columns.append(columns_of(line.substr(at, end - at)), end - at == 1 ? line[at] : 'x');
    at = end;
  }
  return columns;
}

TEST(LaneDrawing, ACellIsBlankIffNoRecordOverlapsIt) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    RandomDrawing random(seed);
    const auto lines = random.drawn.lines(random.begin_ns, random.end_ns, random.columns, true);
    std::map<std::string, std::string> drawn;  // by lane, with its lines overlaid
    std::size_t cells = 0;
    for (const std::string& line : lines) {
      EXPECT_EQ(columns_of(line), static_cast<std::size_t>(random.columns)) << line;
      EXPECT_NO_THROW(static_cast<void>(nlohmann::json(line).dump())) << "not UTF-8: " << line;
      if (&line == &lines.back()) break;
      const std::string text = in_columns(line);
      const auto border = text.find('|');
      ASSERT_NE(border, std::string::npos);
      const std::string lane = text.substr(0, text.find(' ', text.find(' ') + 1));
      const std::string shown = text.substr(border + 1, text.size() - border - 2);
      cells = shown.size();
      auto& all = drawn.try_emplace(lane, cells, ' ').first->second;
      for (std::size_t i = 0; i < cells; ++i) {
        if (shown[i] != ' ') all[i] = '#';
      }
    }
    const auto count = static_cast<std::int64_t>(cells);
    const std::int64_t length = std::max(random.end_ns - random.begin_ns, count);
    std::map<std::string, std::string> expected;
    const char* kLanes[] = {"stream ", "channel ", "copies ", "thread ", "calls "};
    for (const TraceRecord& record : random.drawn.trace.records) {
      std::string cells_of(cells, ' ');
      bool is_inside = false;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t begin = random.begin_ns + i * length / count;
        const std::int64_t end = random.begin_ns + (i + 1) * length / count;
        const bool is_point = record.begin_ns == record.end_ns;
        if (record.begin_ns < end &&
            (is_point ? record.begin_ns >= begin : record.end_ns > begin)) {
          cells_of[static_cast<std::size_t>(i)] = '#';
          is_inside = true;
        }
      }
      if (!is_inside) continue;
      auto& all =
          expected
              .try_emplace(kLanes[static_cast<int>(record.kind)] + std::to_string(record.lane),
                           cells, ' ')
              .first->second;
      for (std::size_t i = 0; i < cells; ++i) {
        if (cells_of[i] == '#') all[i] = '#';
      }
    }
    EXPECT_EQ(drawn, expected);
  }
}

TEST(LaneDrawing, TheAxisHasRoundTimesInOrder) {
  for (const std::int64_t length : {1, 7, 999, 25'000'000}) {
    for (int columns = kLeastColumns; columns <= kMostColumns; ++columns) {
      const auto lines = Drawn().lines(5, 5 + length, columns);
      EXPECT_THAT(lines.back(), HasSubstr("|0 ns")) << columns;
      EXPECT_EQ(lines.back().size(), static_cast<std::size_t>(columns));
    }
  }
  // A year in nanoseconds, and the maximum time.
  constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(Drawn().lines(0, kLongest, 100).back(), HasSubstr("|0 ns"));
  Drawn drawn;
  drawn.add(TraceKind::compute, 0, "all", 0, kLongest);
  EXPECT_THAT(drawn.lines(0, kLongest, 100)[0], HasSubstr("[all####"));
}

}  // namespace
}  // namespace hocket
