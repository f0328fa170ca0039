#include "core/trace/lane_board.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/rounds.h"

namespace hocket {
namespace {

using testing::HasSubstr;

/// The bytes of a board, as another process maps them.
class BoardMapping {
 public:
  explicit BoardMapping(const LaneBoard& board)
      : size_(static_cast<std::size_t>(::lseek(board.descriptor(), 0, SEEK_END))),
        bytes_(::mmap(nullptr, size_, PROT_READ, MAP_SHARED, board.descriptor(), 0)) {}
  ~BoardMapping() { ::munmap(bytes_, size_); }
  BoardMapping(const BoardMapping&) = delete;
  BoardMapping& operator=(const BoardMapping&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<std::byte*>(bytes_), size_}; }
  RankLanes lanes() const { return read_lane_board(bytes()).value(); }

 private:
  const std::size_t size_;
  void* const bytes_;
};

Mesh sample_mesh() {
  return Mesh::make({{"pipeline", 2}, {"data", 4}}, {8, 4}).value();
}

TEST(LaneBoard, AReaderSeesWhatEachLaneRuns) {
  const Mesh mesh = sample_mesh();
  const auto board = LaneBoard::open(mesh, 5, {.compute = 2, .communication = 1, .copy = 1});
  ASSERT_TRUE(board);
  const std::int64_t before_ns = coarse_monotonic_ns();
  board->begin({.kind = TraceKind::compute, .lane = 1, .name = "forward", .step = 7});
  board->begin({.kind = TraceKind::communication,
                .lane = 0,
                .name = "gradients",
                .step = 6,
                .bytes = 4096,
                .collective = CollectiveKind::send,
                .group = {AxisSet::of(0), GroupTier::whole}},
               1);
  const RankLanes rank = BoardMapping(*board).lanes();
  EXPECT_EQ(rank.pid, ::getpid());
  EXPECT_EQ(rank.rank, 5);
  EXPECT_EQ(rank.mesh, mesh);
  ASSERT_EQ(rank.lanes.size(), 4u);
  EXPECT_EQ(rank.lanes[0], (ShownLane{.kind = TraceKind::compute, .lane = 0}));
  const auto& [kind, lane, state, since_ns, name, is_cut, step, bytes, collective, group, peer] =
      rank.lanes[1];
  EXPECT_EQ(std::tuple(kind, lane, state, name, is_cut, step),
            std::tuple(TraceKind::compute, 1, LaneState::running, "forward", false, 7));
  EXPECT_GE(since_ns, before_ns);
  EXPECT_LE(since_ns, coarse_monotonic_ns());
  const ShownLane& sent = rank.lanes[2];
  EXPECT_EQ(std::tuple(sent.kind, sent.name, sent.step, sent.bytes, sent.collective,
                       rank.mesh.name_of(sent.group), sent.peer_rank),
            std::tuple(TraceKind::communication, "gradients", 6, 4096, CollectiveKind::send,
                       "pipeline", 1));
  EXPECT_EQ(rank.lanes[3].kind, TraceKind::copy);
}

TEST(LaneBoard, ALaneThatEndsWaitsFromThenOn) {
  const auto board = LaneBoard::open(Mesh(), 0, {.compute = 1});
  board->begin({.name = "forward", .step = 1});
  board->end(TraceKind::compute, 0);
  const ShownLane lane = BoardMapping(*board).lanes().lanes.at(0);
  EXPECT_EQ(lane.state, LaneState::waiting);
  EXPECT_EQ(lane.name, "");
  EXPECT_GT(lane.since_ns, 0);
}

TEST(LaneBoard, AComputationHasTheTimeThatItIsGiven) {
  const auto board = LaneBoard::open(sample_mesh(), 3, {.compute = 2});
  board->begin_task(1, "forward", 4, 17);
  EXPECT_EQ(BoardMapping(*board).lanes().lanes.at(1), (ShownLane{.kind = TraceKind::compute,
                                                                 .lane = 1,
                                                                 .state = LaneState::running,
                                                                 .since_ns = 17,
                                                                 .name = "forward",
                                                                 .step = 4}));
  for (const std::int32_t lane : {-1, 2, 1000}) board->begin_task(lane, "elsewhere", 4, 17);
  EXPECT_EQ(BoardMapping(*board).lanes().lanes.at(0).state, LaneState::waiting);
}

TEST(LaneBoard, LanesThatItDoesNotHaveAreNotShown) {
  const auto board = LaneBoard::open(Mesh(), 0, {.compute = 1, .communication = 1});
  for (const TraceKind kind : {TraceKind::compute, TraceKind::communication, TraceKind::copy,
                               TraceKind::range, TraceKind::call}) {
    for (const std::int32_t lane : {-1, 1, 1000}) {
      board->begin({.kind = kind, .lane = lane, .name = "elsewhere"});
      board->end(kind, lane);
    }
  }
  for (const ShownLane& lane : BoardMapping(*board).lanes().lanes) EXPECT_EQ(lane.since_ns, 0);
}

TEST(LaneBoard, ALongNameIsCut) {
  const auto board = LaneBoard::open(Mesh(), 0, {.compute = 1});
  const std::string name(kMostShownNameBytes + 1, 'n');
  board->begin({.name = name});
  const ShownLane lane = BoardMapping(*board).lanes().lanes.at(0);
  EXPECT_EQ(lane.name, name.substr(1));
  EXPECT_TRUE(lane.is_cut);
  board->begin({.name = std::string_view(name).substr(1)});
  EXPECT_FALSE(BoardMapping(*board).lanes().lanes.at(0).is_cut);
}

/// The work number `i`: all of its parts say the number.
TraceEvent numbered(std::int64_t i, std::string& name) {
  name = std::string(static_cast<std::size_t>(i % 70), 'a' + static_cast<char>(i % 26)) +
         std::to_string(i);
  return {.kind = TraceKind::copy, .name = name, .step = i, .bytes = 3 * i};
}

TEST(LaneBoard, AReaderNeverSeesPartsOfTwoWorks) {
  const auto board = LaneBoard::open(Mesh(), 0, {.copy = 1});
  std::atomic<bool> is_over = false;
  std::jthread writer([&] {
    std::string name;
    for (std::int64_t i = 0; !is_over; ++i) board->begin(numbered(i, name));
  });
  const BoardMapping mapping(*board);
  int seen = 0;
  std::string name;
  while (seen < 20'000) {
    const ShownLane lane = mapping.lanes().lanes.at(0);
    if (lane.state != LaneState::running) continue;
    const TraceEvent work = numbered(lane.step, name);
    if (lane.name != name || lane.bytes != work.bytes) break;
    ++seen;
  }
  is_over = true;
  EXPECT_EQ(seen, 20'000);
}

TEST(LaneBoard, BytesThatAreNoBoardAreRefused) {
  const auto board = LaneBoard::open(sample_mesh(), 0, {.compute = 1, .communication = 1});
  const BoardMapping mapping(*board);
  const std::vector<std::byte> good(mapping.bytes().begin(), mapping.bytes().end());
  const auto error_of = [](std::span<const std::byte> bytes) {
    // Aligned as a mapping is.
    alignas(128) static std::array<std::byte, 8192> memory;
    std::copy(bytes.begin(), bytes.end(), memory.begin());
    const auto read = read_lane_board({memory.data(), bytes.size()});
    return read ? std::string() : std::string(read.error().message);
  };
  EXPECT_EQ(error_of(good), "");
  EXPECT_THAT(error_of({}), HasSubstr("too short"));
  EXPECT_THAT(error_of({good.data(), good.size() - 1}), HasSubstr("2 lanes"));
  const auto with = [&](std::string_view before, std::string_view after) {
    std::string text(reinterpret_cast<const char*>(good.data()), good.size());
    const std::size_t at = text.find(before);
    EXPECT_NE(at, std::string::npos) << before;
    text.replace(at, before.size(), after);
    text.resize(good.size());
    return error_of({reinterpret_cast<const std::byte*>(text.data()), text.size()});
  };
  EXPECT_THAT(with(R"("version":1)", R"("version":2)"), HasSubstr("version"));
  EXPECT_THAT(with(R"("rank":0)", R"("rank":8)"), HasSubstr("rank"));
  EXPECT_THAT(with(R"("ranks_per_host":4)", R"("ranks_per_host":3)"), HasSubstr("ranks_per_host"));
  EXPECT_THAT(with(R"("compute_lanes":1)", R"("compute_lanes":4097)"), HasSubstr("compute_lanes"));
  EXPECT_THAT(with("hocket-lanes", "hocket-lines"), HasSubstr("hocket-lanes"));
}

/// Makes every lane of a board run something.
void fill(LaneBoard& board, const BoardLanes& lanes) {
  for (int lane = 0; lane < lanes.compute; ++lane) board.begin_task(lane, "forward", 1, 1);
  for (int lane = 0; lane < lanes.communication; ++lane) {
    board.begin({.kind = TraceKind::communication,
                 .lane = lane,
                 .name = "sum",
                 .group = {AxisSet::of(1), GroupTier::whole}});
  }
}

TEST(LaneBoard, ALaneThatIsNotUnderstoodIsRefused) {
  const BoardLanes lanes{.communication = 1};
  const auto board = LaneBoard::open(sample_mesh(), 0, lanes);
  fill(*board, lanes);
  const BoardMapping mapping(*board);
  alignas(128) std::array<std::byte, 4096> memory;
  const auto error_with = [&](std::size_t at, int byte) {
    std::copy(mapping.bytes().begin(), mapping.bytes().end(), memory.begin());
    memory.at(2048 + at) = static_cast<std::byte>(byte);
    const auto read = read_lane_board({memory.data(), mapping.bytes().size()});
    return read ? std::string() : std::string(read.error().message);
  };
  EXPECT_EQ(error_with(36, 2), "");  // axes
  EXPECT_THAT(error_with(36, 4), HasSubstr("not understood"));
  EXPECT_THAT(error_with(36, 0), HasSubstr("not understood"));
  EXPECT_THAT(error_with(32, 8), HasSubstr("not understood"));   // peer
  EXPECT_THAT(error_with(38, 3), HasSubstr("not understood"));   // tier
  EXPECT_THAT(error_with(39, 10), HasSubstr("not understood"));  // kind
  EXPECT_THAT(error_with(40, 2), HasSubstr("not understood"));   // state
  EXPECT_THAT(error_with(41, 81), HasSubstr("not understood"));  // bytes of the name
  EXPECT_EQ(error_with(0, 1), "");                               // being written
}

TEST(LaneBoard, NoBytesOfALaneCrashAReader) {
  const BoardLanes lanes{.compute = 2, .communication = 2};
  const auto board = LaneBoard::open(sample_mesh(), 0, lanes);
  fill(*board, lanes);
  const BoardMapping mapping(*board);
  alignas(128) std::array<std::byte, 4096> memory;
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < rounds(20'000); ++i) {
    std::copy(mapping.bytes().begin(), mapping.bytes().end(), memory.begin());
    for (int change = 0; change < 4; ++change) {
      const std::size_t at = 2048 + random() % (mapping.bytes().size() - 2048);
      memory.at(at) = static_cast<std::byte>(random());
    }
    const auto read = read_lane_board({memory.data(), mapping.bytes().size()});
    if (!read) continue;
    for (const ShownLane& lane : read->lanes) {
      EXPECT_LE(lane.name.size(), kMostShownNameBytes);
      EXPECT_LT(lane.peer_rank, 8);
      (void)read->mesh.name_of(lane.group);
    }
  }
}

}  // namespace
}  // namespace hocket
