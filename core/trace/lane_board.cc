#include "core/trace/lane_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/check.h"
#include "core/base/json.h"
#include "core/base/json_reader.h"

namespace hocket {
namespace {

constexpr std::int64_t kMostRanks = 1'000'000'000;
constexpr std::string_view kFormat = "hocket-lanes";
constexpr int kVersion = 1;
/// The header is JSON, filled up with zeros. The longest one, of kMostAxes axes, is shorter.
constexpr std::size_t kHeaderBytes = 2048;
/// So many reads of a lane that is being written until it counts as changing.
constexpr int kMostReads = 64;

/// Work of a lane, as bytes that any process may have written.
struct SlotContent {
  std::int64_t step, since_ns, bytes;
  std::int32_t peer_rank;
  std::uint16_t axes;
  std::uint8_t tier, collective, state, name_bytes, is_cut, unused;
  std::array<char, kMostShownNameBytes> name;
};

void put_task(std::string_view name, std::int64_t step, std::int64_t since_ns,
              SlotContent& content) {
  const std::size_t name_bytes = std::min(name.size(), kMostShownNameBytes);
  content.step = step;
  content.since_ns = since_ns;
  content.state = static_cast<std::uint8_t>(LaneState::running);
  content.name_bytes = static_cast<std::uint8_t>(name_bytes);
  content.is_cut = name_bytes < name.size();
  std::copy_n(name.data(), name_bytes, content.name.begin());
}

std::string header_of(const Mesh& mesh, int rank, const BoardLanes& lanes) {
  auto axes = nlohmann::json::array();
  for (const MeshAxis& axis : mesh.axes())
    axes.push_back({{"name", axis.name}, {"size", axis.size}});
  return nlohmann::json{{"format", kFormat},
                        {"version", kVersion},
                        {"pid", ::getpid()},
                        {"rank", rank},
                        {"ranks", mesh.grid().ranks},
                        {"ranks_per_host", mesh.grid().ranks_per_host},
                        {"axes", std::move(axes)},
                        {"compute_lanes", lanes.compute},
                        {"communication_lanes", lanes.communication},
                        {"copy_lanes", lanes.copy}}
      .dump();
}

struct Header {
  RankLanes rank;
  BoardLanes lanes;
};

void read_axis(JsonReader& fields, MeshAxis& axis) {
  fields.text("name", axis.name);
  fields.integer("size", axis.size, 1, kMostRanks);
}

Result<Header> read_header(std::string_view text) {
  const auto document = parse_object(text.substr(0, text.find('\0')), "lanes of a rank");
  HOCKET_TRY(document);
  JsonReader fields(*document, "lanes of a rank");
  Header header;
  RankGrid grid;
  std::vector<MeshAxis> axes;
  fields.format(kFormat, kVersion);
  fields.integer("pid", header.rank.pid, 1, std::numeric_limits<std::int32_t>::max());
  fields.integer("ranks", grid.ranks, 1, kMostRanks);
  fields.integer("ranks_per_host", grid.ranks_per_host, 1, grid.ranks);
  fields.integer("rank", header.rank.rank, 0, grid.ranks - 1);
  fields.parts("axes", axes, read_axis, kMostAxes);
  fields.integer("compute_lanes", header.lanes.compute, 0, kMostBoardLanes);
  fields.integer("communication_lanes", header.lanes.communication, 0, kMostBoardLanes);
  fields.integer("copy_lanes", header.lanes.copy, 0, kMostBoardLanes);
  HOCKET_TRY(fields.done());
  if (header.lanes.total() > kMostBoardLanes) {
    return failure(ErrorCode::invalid_argument, "lanes of a rank: expected at most " +
                                                    std::to_string(kMostBoardLanes) + ", found " +
                                                    std::to_string(header.lanes.total()));
  }
  auto mesh = Mesh::make(std::move(axes), grid);
  if (!mesh) return failure(mesh.error().in("lanes of a rank"));
  header.rank.mesh = std::move(*mesh);
  return header;
}

/// Reads a group of the mesh; false if the mesh has no such axes, the group has none at all, or
/// there is no such tier.
bool read_group(const SlotContent& content, const Mesh& mesh, CollectiveGroup& group) {
  if (content.tier >= kGroupTiers.size()) return false;
  group = {AxisSet(), kGroupTiers[content.tier]};
  if (content.axes == AxisSet().bits()) return true;
  group.axes = AxisSet::none();
  for (std::size_t axis = 0; axis < mesh.axes().size(); ++axis)
    if ((content.axes >> axis & 1u) != 0) group.axes = group.axes.with(AxisSet::of(axis));
  return content.axes != 0 && group.axes.bits() == content.axes;
}

/// Reads what only communication and copies say of themselves; false if it cannot be.
bool read_transfer(const SlotContent& content, const Mesh& mesh, ShownLane& shown) {
  if (content.collective >= kRecordedKinds || content.peer_rank < kNoPeer ||
      content.peer_rank >= mesh.grid().ranks || !read_group(content, mesh, shown.group))
    return false;
  shown.bytes = content.bytes;
  shown.collective = static_cast<CollectiveKind>(content.collective);
  shown.peer_rank = content.peer_rank;
  return true;
}

Result<void> read_content(const SlotContent& content, const Mesh& mesh, ShownLane& shown) {
  shown.since_ns = content.since_ns;
  if (content.state == static_cast<std::uint8_t>(LaneState::waiting)) return {};
  const bool is_transfer = shown.kind != TraceKind::compute;
  if (content.state != static_cast<std::uint8_t>(LaneState::running) ||
      content.name_bytes > content.name.size() ||
      (is_transfer && !read_transfer(content, mesh, shown))) {
    return failure(ErrorCode::invalid_argument, "lanes of a rank: a lane is not understood");
  }
  shown.state = LaneState::running;
  shown.name.assign(content.name.data(), content.name_bytes);
  shown.is_cut = content.is_cut != 0;
  shown.step = content.step;
  return {};
}

}  // namespace

/// Lanes do not share lines of the cache.
struct alignas(128) LaneBoard::Slot {
  /// Odd while the content is being written.
  std::atomic<std::uint32_t> version;
  SlotContent content;

  /// Writes the content with `fill`.
  template <class Fill>
  void write(const Fill& fill) {
    const std::uint32_t before = version.load(std::memory_order_relaxed);
    version.store(before + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    fill(content);
    version.store(before + 2, std::memory_order_release);
  }

  /// Copies the content; false if it was being written each time.
  bool read(SlotContent& copy) const {
    for (int i = 0; i < kMostReads; ++i) {
      const std::uint32_t before = version.load(std::memory_order_acquire);
      std::memcpy(&copy, &content, sizeof copy);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (before % 2 == 0 && version.load(std::memory_order_relaxed) == before) return true;
    }
    return false;
  }
};

std::int64_t coarse_monotonic_ns() {
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

std::unique_ptr<LaneBoard> LaneBoard::open(const Mesh& mesh, int rank, const BoardLanes& lanes) {
  HOCKET_CHECK(rank >= 0 && rank < mesh.grid().ranks, "a rank of the mesh");
  HOCKET_CHECK(lanes.total() > 0 && lanes.total() <= kMostBoardLanes, "1 to kMostBoardLanes lanes");
  const int descriptor = ::memfd_create("hocket-lanes", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return nullptr;
  std::unique_ptr<LaneBoard> board(new LaneBoard(descriptor, lanes));
  return board->map(header_of(mesh, rank, lanes)) ? std::move(board) : nullptr;
}

bool LaneBoard::map(const std::string& header) {
  static_assert(sizeof(Slot) == 128 && std::atomic<std::uint32_t>::is_always_lock_free);
  HOCKET_CHECK(header.size() < kHeaderBytes, "a header of the longest names fits");
  const std::size_t size = kHeaderBytes + static_cast<std::size_t>(lanes_.total()) * sizeof(Slot);
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) return false;
  void* const mapped =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor_, 0);
  if (mapped == MAP_FAILED) return false;
  memory_ = {static_cast<std::byte*>(mapped), size};
  std::memcpy(mapped, header.data(), header.size());
  // A reader takes no board that may shrink below its mapping, and so none before this.
  return ::fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

LaneBoard::~LaneBoard() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
  ::close(descriptor_);
}

LaneBoard::Slot* LaneBoard::slot(TraceKind kind, std::int32_t lane) {
  const auto at = [&](int first, int count) -> Slot* {
    if (lane < 0 || lane >= count) return nullptr;
    auto* const slots = reinterpret_cast<Slot*>(memory_.data() + kHeaderBytes);
    return slots + first + lane;
  };
  switch (kind) {
    case TraceKind::compute:
      return at(0, lanes_.compute);
    case TraceKind::communication:
      return at(lanes_.compute, lanes_.communication);
    case TraceKind::copy:
      return at(lanes_.compute + lanes_.communication, lanes_.copy);
    case TraceKind::range:
    case TraceKind::call:
      break;
  }
  return nullptr;
}

void LaneBoard::begin(const TraceEvent& work, std::int32_t peer_rank) {
  Slot* const shown = slot(work.kind, work.lane);
  if (!shown) return;
  const std::int64_t now_ns = coarse_monotonic_ns();
  shown->write([&](SlotContent& content) {
    put_task(work.name, work.step, now_ns, content);
    content.bytes = work.bytes;
    content.peer_rank = peer_rank;
    content.axes = work.group.axes.bits();
    content.tier = static_cast<std::uint8_t>(work.group.tier);
    content.collective = static_cast<std::uint8_t>(work.collective);
  });
}

void LaneBoard::begin_task(std::int32_t lane, std::string_view name, std::int64_t step,
                           std::int64_t since_ns) {
  if (Slot* const shown = slot(TraceKind::compute, lane))
    shown->write([&](SlotContent& content) { put_task(name, step, since_ns, content); });
}

void LaneBoard::end(TraceKind kind, std::int32_t lane) {
  Slot* const shown = slot(kind, lane);
  if (!shown) return;
  const std::int64_t now_ns = coarse_monotonic_ns();
  shown->write([&](SlotContent& content) {
    content.state = static_cast<std::uint8_t>(LaneState::waiting);
    content.since_ns = now_ns;
  });
}

Result<RankLanes> read_lane_board(std::span<const std::byte> board) {
  if (board.size() < kHeaderBytes)
    return failure(ErrorCode::invalid_argument, "lanes of a rank: too short for a header");
  // Whoever has the memory may change it meanwhile.
  const std::string copy(reinterpret_cast<const char*>(board.data()), kHeaderBytes);
  auto header = read_header(copy);
  HOCKET_TRY(header);
  const auto lanes = static_cast<std::size_t>(header->lanes.total());
  if (board.size() != kHeaderBytes + lanes * sizeof(LaneBoard::Slot)) {
    return failure(ErrorCode::invalid_argument,
                   "lanes of a rank: not as long as its " + std::to_string(lanes) + " lanes");
  }
  const auto* slots = reinterpret_cast<const LaneBoard::Slot*>(board.data() + kHeaderBytes);
  RankLanes rank = std::move(header->rank);
  const auto read_all = [&](TraceKind kind, int count) -> Result<void> {
    for (std::int32_t lane = 0; lane < count; ++lane, ++slots) {
      ShownLane& shown = rank.lanes.emplace_back(ShownLane{.kind = kind, .lane = lane});
      SlotContent content;
      shown.state = LaneState::changing;
      if (!slots->read(content)) continue;
      shown.state = LaneState::waiting;
      HOCKET_TRY(read_content(content, rank.mesh, shown));
    }
    return {};
  };
  HOCKET_TRY(read_all(TraceKind::compute, header->lanes.compute));
  HOCKET_TRY(read_all(TraceKind::communication, header->lanes.communication));
  HOCKET_TRY(read_all(TraceKind::copy, header->lanes.copy));
  return rank;
}

}  // namespace hocket
