#pragma once

// One simulated rank: its plan, the tasks on its streams, and the time it has computed and
// communicated. The caller provides the time. Not thread-safe.

#include <array>
#include <cstdint>
#include <vector>

#include "core/plan/plan.h"
#include "core/sim/rank_groups.h"

namespace hocket {

class SimulatedRank {
 public:
  /// A task on a stream.
  struct Running {
    TaskId task;
    std::int64_t begin_ns = 0;
    double left_ns = 0;  ///< undisturbed computation left at since_ns
    std::int64_t since_ns = 0;
    std::uint32_t ticket = 0;  ///< identifies the one event that may end the task
    bool busy = false;
  };
  struct BusyTimes {
    std::int64_t compute_ns = 0, communication_ns = 0, exposed_ns = 0;
    /// Time in which a task runs, by TaskLane; that of streams is compute_ns.
    std::array<std::int64_t, kTaskLanes> lanes_ns = {};
  };

  SimulatedRank(const PlanOptions& options, const RankClass& group, int streams, int channels)
      : plan(options),
        group(group),
        running(static_cast<std::size_t>(streams)),
        free_channels(channels) {
    for (std::uint32_t stream = static_cast<std::uint32_t>(streams); stream > 0; --stream)
      free_streams.push_back(stream - 1);
  }

  /// Adds the time since the last call to the busy times. Call it before anything changes.
  void account(std::int64_t now_ns) {
    const std::int64_t passed_ns = now_ns - accounted_ns_;
    accounted_ns_ = now_ns;
    const bool computes =
        free_streams.size()<running.size(), communicates = plan.parts_in_flight()> 0;
    if (computes) busy.compute_ns += passed_ns;
    if (communicates) busy.communication_ns += passed_ns;
    if (communicates && !computes) busy.exposed_ns += passed_ns;
    for (std::size_t lane = 0; lane < kTaskLanes; ++lane)
      if (lanes[lane].busy) busy.lanes_ns[lane] += passed_ns;
  }

  Plan plan;
  const RankClass group;
  // by stream
  std::vector<Running> running;
  /// Task on each lane, by TaskLane, if `busy`; the entry of streams is unused.
  std::array<Running, kTaskLanes> lanes;
  std::vector<std::uint32_t> free_streams;
  double slowdown = 0;  // slowdown of computation at the last update
  int free_channels = 0;
  std::uint64_t started_parts = 0;  // number of parts that the plan has handed out
  std::uint64_t taken_parts = 0;    // number of started parts that have or had a channel
  std::uint32_t launches = 0;
  BusyTimes busy;

 private:
  std::int64_t accounted_ns_ = 0;
};

}  // namespace hocket
