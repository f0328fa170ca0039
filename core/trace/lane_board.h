#pragma once

// A board in memory on which a rank shows what each of its lanes runs, for `hocket top --ranks`.
// Another process reads it while the rank trains, and just so while it waits for a rank that is
// gone. The board is a memory file without a name in the file system. Whoever may read the rank's
// open files finds it among these (core/host/shown_ranks.h), and it is gone when the rank is.
//
// One thread at a time writes a lane. A write makes no system call, takes no lock and allocates
// nothing. It raises the lane's version before and after, so a reader sees whether it has read the
// whole of one write (Boehm, "Can seqlocks get along with programming language memory models?",
// MSPC 2012). Times are those of the kernel's coarse monotonic clock, which every process of a
// machine shares and which advances every few milliseconds.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/step/mesh.h"
#include "core/trace/trace_sink.h"

namespace hocket {

inline constexpr std::int32_t kNoPeer = -1;

/// Numbers of the lanes of each kind (TraceEvent::lane).
struct BoardLanes {
  int compute = 0, communication = 0, copy = 0;

  int total() const { return compute + communication + copy; }
  bool operator==(const BoardLanes&) const = default;
};

/// Most lanes of a board.
inline constexpr int kMostBoardLanes = 4096;
/// The system shows a descriptor of a board's memory so.
inline constexpr const char* kBoardLabel = "/memfd:hocket-lanes (deleted)";

enum class LaneState : std::uint8_t {
  waiting,   ///< the lane has no work, or had none yet
  running,   ///< it runs what the rest of ShownLane says
  changing,  ///< its work changed whenever it was read
};

inline constexpr std::size_t kMostShownNameBytes = 80;

/// A lane as it was read. Of one that waits only `since_ns` is meant, of one that changes nothing.
struct ShownLane {
  TraceKind kind = TraceKind::compute;
  std::int32_t lane = 0;
  LaneState state = LaneState::waiting;
  std::int64_t since_ns = 0;  ///< by the coarse monotonic clock; 0: it never had work
  std::string name = {};      ///< as the rank has it, cut after kMostShownNameBytes
  bool is_cut = false;
  std::int64_t step = 0, bytes = 0;
  CollectiveKind collective = CollectiveKind::all_reduce;
  CollectiveGroup group = CollectiveGroup::world;
  std::int32_t peer_rank = kNoPeer;

  bool operator==(const ShownLane&) const = default;
};

/// A rank, and what its lanes run.
struct RankLanes {
  std::int64_t pid = 0;  ///< the rank's process, as that knows itself
  std::int32_t rank = 0;
  Mesh mesh = {};
  std::vector<ShownLane> lanes = {};  ///< those of computation, then communication, then copies
};

/// The side of the rank that shows its lanes.
class LaneBoard {
 public:
  /// Returns null where the system makes no memory files, or none more for this process: the rank
  /// then shows nothing. Requires a rank of the mesh, and 1 to kMostBoardLanes lanes.
  static std::unique_ptr<LaneBoard> open(const Mesh& mesh, int rank, const BoardLanes& lanes);
  ~LaneBoard();
  LaneBoard(const LaneBoard&) = delete;
  LaneBoard& operator=(const LaneBoard&) = delete;

  /// Shows that the lane of `work` runs it from now on. Its times, task and sequence are not read.
  /// `peer_rank` is the rank at the other end of a message.
  void begin(const TraceEvent& work, std::int32_t peer_rank = kNoPeer);
  /// Does the same for a computation, which has run since `since_ns` (coarse_monotonic_ns()).
  /// Reading that clock takes most of the time, so that short tasks may have it in common.
  void begin_task(std::int32_t lane, std::string_view name, std::int64_t step,
                  std::int64_t since_ns);
  /// Shows that a lane waits for work from now on.
  void end(TraceKind kind, std::int32_t lane);

  /// The memory file.
  int descriptor() const { return descriptor_; }

 private:
  struct Slot;

  LaneBoard(int descriptor, const BoardLanes& lanes) : descriptor_(descriptor), lanes_(lanes) {}
  bool map(const std::string& header);
  Slot* slot(TraceKind kind, std::int32_t lane);

  friend Result<RankLanes> read_lane_board(std::span<const std::byte> board);

  const int descriptor_;
  const BoardLanes lanes_;
  std::span<std::byte> memory_ = {};
};

/// Reads a board that its rank may be writing. invalid_argument for bytes that are none, or that
/// another version of hocket wrote.
Result<RankLanes> read_lane_board(std::span<const std::byte> board);

/// Returns the time of the clock whose times boards have.
std::int64_t coarse_monotonic_ns();

}  // namespace hocket
