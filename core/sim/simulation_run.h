#pragma once

// The event loop behind simulate(): executes a step description launch after launch, until its
// caller stops. Not thread-safe.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/collective/shared_link.h"
#include "core/description/step_description.h"
#include "core/plan/captured_step.h"
#include "core/programs/job_fold.h"
#include "core/programs/urgent_order.h"
#include "core/sim/event_queue.h"
#include "core/sim/group_parts.h"
#include "core/sim/part_cost.h"
#include "core/sim/rank_groups.h"
#include "core/sim/served_parts.h"
#include "core/sim/simulated_rank.h"
#include "core/sim/simulator.h"

namespace hocket {

/// The tasks of the ranks that run one program, and what they take.
struct ProgramSetup {
  std::shared_ptr<const CapturedStep> captured;
  std::vector<std::int64_t> durations_ns;  ///< by task; 0 for collectives
  /// Bytes of copies by task; empty where steps are not placed.
  std::vector<std::int64_t> copied_bytes;
  /// By collective: the cost of a full part, and that of its last part.
  std::vector<PartCost> full_part, last_part;
  std::vector<LinkTier> tiers;         ///< by collective: the links of its parts
  std::vector<CollectiveKind> kinds;   ///< by collective
  std::vector<CollectiveGroup> among;  ///< by collective: the group it runs in
};

/// Everything a simulation needs, derived from a description and a configuration.
struct SimulationSetup {
  /// One; one for each group of ranks if there is a fold.
  std::vector<ProgramSetup> programs;
  /// The communications of each class of ranks; null where all ranks take part in everything.
  std::shared_ptr<const JobFold> fold;
  std::int64_t device_peak_bytes = 0;  ///< peak in a placed step; 0 for other steps
  std::vector<RankClass> groups;       ///< their `program` is an index into `programs`
  PlanOptions plan;
  /// Set if `plan` has servers.
  std::optional<StepServers> servers;
  int streams = 1;
  int comm_channels = 1;
  double channel_split = 0;
  double compute_slowdown = 0, compute_slowdown_per_channel = 0, compute_slowdown_per_byte = 0;
  Jitter jitter;
  /// Collectives of a step, one entry per part, announced when each launch begins (order=static).
  /// With a fold they are its communications, of which each rank announces its own.
  std::vector<std::uint32_t> static_order;
  /// Delay between the start of a part on rank 0 and its announcement on other ranks
  /// (order=negotiated).
  std::int64_t announce_ns = 0;
  bool negotiated = false;
  /// With a fold: the most urgent part starts first (core/programs/urgent_order.h).
  bool is_urgent_first = false;
  std::size_t watched_group = 0;
};

class SimulationRun {
 public:
  /// A launch that every rank has finished.
  struct Finished {
    std::int64_t time_ns = 0;
    SimulatedRank::BusyTimes busy;  ///< until time_ns, mean over the ranks
    /// Time from the end of each task to time_ns, summed over tasks and simulated ranks, modulo
    /// 2^64.
    std::uint64_t lag_ns = 0;
  };

  /// Uses `trace`, `observer` and `clock` of `options`; everything else is in `setup`.
  SimulationRun(SimulationSetup setup, const SimulationOptions& options);

  /// Runs until one more launch is finished. Returns invalid_argument when virtual time overflows.
  Result<Finished> next_finished();

  std::int64_t events() const { return events_; }
  /// Returns the collective of each part of the last finished launch, in the order in which the
  /// parts started on rank 0; with is_urgent_first the communications of all ranks.
  const std::vector<std::uint32_t>& part_order() const { return part_order_; }
  const SimulationSetup& setup() const { return setup_; }
  const ProgramSetup& watched_program() const {
    return program_of(static_cast<std::uint32_t>(setup_.watched_group));
  }
  /// Returns the number of tasks of a launch over all simulated ranks.
  std::int64_t tasks() const { return tasks_; }

 private:
  enum class EventKind : std::uint8_t {
    compute_end,
    lane_end,
    on_link,
    link_end,
    part_done,
    announce,
    groups_leave,   ///< a part of some ranks leaves the links
    served_enters,  ///< a part to or from a server enters the links
    served_leaves,
    served_done,
  };
  struct EventData {
    EventKind kind = EventKind::compute_end;
    std::uint32_t rank = 0;
    /// The part, the lane, or the stream or tier together with a ticket.
    std::uint64_t value = 0;
  };
  /// A part, from its start on the first rank to its end on all.
  struct Part {
    PartDecision decision;
    std::uint32_t collective = 0;  ///< index within the step
    std::size_t arrived = 0;       ///< ranks that have given it a channel
    std::int64_t not_before_ns = 0;
    std::int64_t taken_ns = 0;  ///< time at which the watched rank gave it a channel
    std::int32_t lane = 0;      ///< in the watched rank's trace
    bool done = false;
  };
  /// A launch that some rank has not finished.
  struct Launch {
    std::int64_t unfinished = 0;  ///< unfinished tasks over all simulated ranks
    std::uint64_t ends_ns = 0;    ///< sum of the end times of the finished tasks
    std::vector<std::uint32_t> part_order;
  };

  struct Link {
    SharedLink transfers;
    std::uint32_t ticket = 0;  ///< identifies the one event that may end a transfer
  };

  static std::int64_t rounded(double ns);
  void handle(const EventData& event);
  void launch_steps(std::uint32_t rank);
  /// Returns how many launches a rank may have begun beyond those that every rank has finished.
  /// Ranks that communicate are at most two launches ahead of each other, and so are those between
  /// them, so this holds back only a rank that waits for no other, which would run ahead without
  /// end.
  std::uint32_t most_ahead() const { return 2 * static_cast<std::uint32_t>(ranks_.size()) + 2; }
  /// Lets the ranks go on that were held back, if a launch has finished since.
  void release_held();
  void announce_launch(std::uint32_t rank);
  /// Lets `rank` start everything that it can.
  void pump(std::uint32_t rank);
  void start_parts(std::uint32_t rank);
  void take_channels(std::uint32_t rank);
  void start_computes(std::uint32_t rank);
  double slowdown(const SimulatedRank& rank) const;
  void follow_slowdown(std::uint32_t rank);
  void schedule_end(std::uint32_t rank, std::uint32_t stream);
  void start_lanes(std::uint32_t rank);
  void end_lane(std::uint32_t rank, TaskLane lane);
  /// Returns the time of a task on `rank` in the launch that it is of.
  double duration_ns(const SimulatedRank& rank, TaskId task) const;
  void end_compute(std::uint32_t rank, std::uint32_t stream, std::uint32_t ticket);
  void begin_transfer(std::uint64_t part);
  void enter_link(std::uint64_t part);
  void reschedule_link(LinkTier tier);
  void end_transfer(LinkTier tier);
  void end_part(std::uint64_t part);
  // Used with a fold, in place of the functions of parts above:
  void start_group_parts(std::uint32_t rank);
  void watch_what_is_ready();
  void start_urgent_parts();
  void take_group_channels(std::uint32_t rank);
  void reschedule_groups();
  void leave_group_links();
  void end_group_part(std::uint32_t part);
  void record(const GroupParts::Part& part, const GroupParts::Member& member);
  // With parameter servers, in place of the functions of parts above:
  void start_served_parts(std::uint32_t rank);
  void schedule(EventKind kind, const std::vector<ServedParts::Later>& later);
  void reschedule_served();
  void leave_served_links();
  void end_served_part(std::uint64_t part);
  void announce_to_others(std::uint64_t collective);
  void task_finished(TaskId task);
  SimulatedRank::BusyTimes mean_busy_times();
  Part& part(std::uint64_t index) { return parts_[index - first_part_]; }
  const PartCost& cost_of(const Part& part) const;
  LinkTier tier_of(const Part& part) const {
    return setup_.programs.front().tiers[part.collective];
  }
  Link& link(LinkTier tier) { return links_[static_cast<std::size_t>(tier)]; }
  bool watched(std::uint32_t rank) const { return rank == setup_.watched_group; }
  std::int32_t take_part_lane();
  const ProgramSetup& program_of(std::uint32_t rank) const {
    return setup_.programs[ranks_[rank].group.program];
  }
  static const CapturedStep::Task& task_of(const ProgramSetup& program, TaskId id) {
    return program.captured->task(program.captured->index_of(id));
  }

  SimulationSetup setup_;
  TraceSink* const trace_;
  SimulationClock* const clock_;
  std::vector<SimulatedRank> ranks_;
  EventQueue<EventData> events_to_come_;
  std::array<Link, kLinkTiers> links_;
  std::optional<GroupParts> group_parts_;
  std::optional<UrgentOrder> urgent_order_;
  std::vector<std::vector<std::uint32_t>> static_orders_;  ///< by rank, or the one of all
  std::uint32_t groups_ticket_ = 0;  ///< identifies the one event that may end a transfer
  std::optional<ServedParts> served_;
  std::uint32_t served_ticket_ = 0;  ///< identifies the one event that may end a flow
  std::deque<Part> parts_;
  std::uint64_t first_part_ = 0;
  std::vector<bool> part_lanes_;  // lanes of the watched rank; true while in use
  std::deque<Launch> launches_;   // from finished_launches_ on
  std::uint32_t finished_launches_ = 0;
  std::vector<std::uint32_t> held_;  ///< ranks that are too far ahead
  std::uint32_t released_at_ = 0;    ///< finished_launches_ when ranks were last let go
  std::vector<std::uint32_t> part_order_;
  std::deque<Finished> finished_;  // not returned yet
  std::int64_t now_ns_ = 0;
  std::int64_t events_ = 0;
  std::int64_t tasks_ = 0;  ///< of a launch, over all simulated ranks
};

}  // namespace hocket
