#include "core/sim/simulation_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/sim/jitter.h"

namespace hocket {
namespace {

/// Longer than any useful simulation, and far from overflow.
constexpr std::int64_t kMaxTimeNs = std::int64_t{1} << 61;
/// Limit of a task's time after all factors, so that adding it to a time does not overflow.
constexpr double kMaxTaskNs = 0x1p60;

PlanOptions plan_options(const SimulationSetup& setup, std::size_t group) {
  PlanOptions options = setup.plan;
  if (!setup.static_order.empty() || setup.is_urgent_first || (setup.negotiated && group > 0))
    options.order = PartOrder::announced;
  return options;
}

}  // namespace

std::int64_t SimulationRun::rounded(double ns) {
  return std::llround(std::min(ns, kMaxTaskNs));
}

SimulationRun::SimulationRun(SimulationSetup setup, const SimulationOptions& options)
    : setup_(std::move(setup)), trace_(options.trace), clock_(options.clock) {
  for (Link& link : links_) link.transfers = {setup_.comm_channels, setup_.channel_split};
  if (setup_.fold) group_parts_.emplace(setup_.fold, setup_.comm_channels, setup_.channel_split);
  if (setup_.servers) served_.emplace(*setup_.servers, setup_.groups, setup_.comm_channels);
  ranks_.reserve(setup_.groups.size());
  for (std::size_t group = 0; group < setup_.groups.size(); ++group) {
    ranks_.emplace_back(plan_options(setup_, group), setup_.groups[group], setup_.streams,
                        setup_.comm_channels);
    tasks_ += program_of(static_cast<std::uint32_t>(group)).captured->size();
  }
  ranks_[setup_.watched_group].plan.observe(options.observer);
  if (!setup_.static_order.empty()) {
    for (std::size_t rank = 0; setup_.fold && rank < ranks_.size(); ++rank)
      static_orders_.push_back(order_of_class(*setup_.fold, rank, setup_.static_order));
    if (!setup_.fold) static_orders_.push_back(setup_.static_order);
  }
  if (setup_.is_urgent_first) watch_what_is_ready();
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) pump(rank);
  start_urgent_parts();
}

Result<SimulationRun::Finished> SimulationRun::next_finished() {
  while (finished_.empty()) {
    HOCKET_CHECK(!events_to_come_.empty(), "a simulated step waits for what never happens");
    const auto event = events_to_come_.pop();
    if (event.time_ns > kMaxTimeNs) {
      return failure(ErrorCode::invalid_argument,
                     "the simulated time overflows; the step's times, its jitter or its "
                     "slow-down are too large");
    }
    now_ns_ = event.time_ns;
    if (clock_) clock_->set_ns(now_ns_);
    handle(event.payload);
    release_held();
    start_urgent_parts();
  }
  const Finished next = finished_.front();
  finished_.pop_front();
  return next;
}

SimulatedRank::BusyTimes SimulationRun::mean_busy_times() {
  double ranks = 0, compute_ns = 0, communication_ns = 0, exposed_ns = 0;
  std::array<double, kTaskLanes> lanes_ns = {};
  for (SimulatedRank& rank : ranks_) {
    rank.account(now_ns_);
    const auto weight = static_cast<double>(rank.group.ranks);
    ranks += weight;
    compute_ns += weight * static_cast<double>(rank.busy.compute_ns);
    communication_ns += weight * static_cast<double>(rank.busy.communication_ns);
    exposed_ns += weight * static_cast<double>(rank.busy.exposed_ns);
    for (std::size_t lane = 0; lane < kTaskLanes; ++lane)
      lanes_ns[lane] += weight * static_cast<double>(rank.busy.lanes_ns[lane]);
  }
  SimulatedRank::BusyTimes mean{std::llround(compute_ns / ranks),
                                std::llround(communication_ns / ranks),
                                std::llround(exposed_ns / ranks)};
  for (std::size_t lane = 0; lane < kTaskLanes; ++lane)
    mean.lanes_ns[lane] = std::llround(lanes_ns[lane] / ranks);
  return mean;
}

void SimulationRun::handle(const EventData& event) {
  switch (event.kind) {
    case EventKind::compute_end:
      return end_compute(event.rank, static_cast<std::uint32_t>(event.value),
                         static_cast<std::uint32_t>(event.value >> 32));
    case EventKind::lane_end:
      return end_lane(event.rank, static_cast<TaskLane>(event.value));
    case EventKind::on_link:
      if (!group_parts_) return enter_link(event.value);
      group_parts_->enter_links(static_cast<std::uint32_t>(event.value), now_ns_);
      return reschedule_groups();
    case EventKind::link_end: {
      const auto tier = static_cast<LinkTier>(event.value >> 32);
      if (static_cast<std::uint32_t>(event.value) == link(tier).ticket) end_transfer(tier);
      return;
    }
    case EventKind::part_done:
      return group_parts_ ? end_group_part(static_cast<std::uint32_t>(event.value))
                          : end_part(event.value);
    case EventKind::groups_leave:
      if (static_cast<std::uint32_t>(event.value) == groups_ticket_) leave_group_links();
      return;
    case EventKind::announce:
      return announce_to_others(event.value);
    case EventKind::served_enters:
      ++events_;
      served_->enter_links(event.value, now_ns_);
      return reschedule_served();
    case EventKind::served_leaves:
      if (static_cast<std::uint32_t>(event.value) == served_ticket_) leave_served_links();
      return;
    case EventKind::served_done:
      return end_served_part(event.value);
  }
}

void SimulationRun::launch_steps(std::uint32_t rank) {
  SimulatedRank& r = ranks_[rank];
  const ProgramSetup& program = program_of(rank);
  while (r.plan.may_launch(*program.captured)) {
    if (r.launches - finished_launches_ >= most_ahead()) {
      if (std::ranges::find(held_, rank) == held_.end()) held_.push_back(rank);
      return;
    }
    announce_launch(rank);
    r.plan.launch(program.captured);
    if (++r.launches - finished_launches_ > launches_.size()) {
      launches_.push_back({tasks_, 0, {}});
    }
  }
}

void SimulationRun::release_held() {
  if (held_.empty() || finished_launches_ == released_at_) return;
  released_at_ = finished_launches_;
  for (const std::uint32_t rank : std::exchange(held_, {})) pump(rank);
}

void SimulationRun::announce_launch(std::uint32_t rank) {
  if (static_orders_.empty()) return;
  Plan& plan = ranks_[rank].plan;
  std::vector<std::uint64_t> order;
  for (const std::uint32_t collective : static_orders_[setup_.fold ? rank : 0])
    order.push_back(plan.submitted_collectives() + collective);
  plan.announce(order);
}

void SimulationRun::pump(std::uint32_t rank) {
  ranks_[rank].account(now_ns_);
  launch_steps(rank);
  if (served_) {
    start_served_parts(rank);
  } else if (group_parts_) {
    start_group_parts(rank);
    take_group_channels(rank);
  } else {
    start_parts(rank);
    take_channels(rank);
  }
  follow_slowdown(rank);
  start_computes(rank);
  start_lanes(rank);
}

void SimulationRun::start_parts(std::uint32_t rank) {
  SimulatedRank& r = ranks_[rank];
  const CapturedStep& captured = *program_of(rank).captured;
  while (const auto decision = r.plan.next_part()) {
    const std::uint64_t index = r.started_parts++;
    if (index == first_part_ + parts_.size()) {
      parts_.push_back(
          {.decision = *decision,
           .collective = static_cast<std::uint32_t>(decision->collective % captured.collectives()),
           .arrived = 0,
           .not_before_ns = now_ns_,
           .taken_ns = 0,
           .lane = 0,
           .done = false});
    }
    Part& started = part(index);
    HOCKET_CHECK(started.decision == *decision, "two ranks start their parts in different orders");
    if (rank != 0) continue;
    launches_[decision->task.generation - finished_launches_].part_order.push_back(
        started.collective);
    if (!setup_.negotiated) continue;
    started.not_before_ns = now_ns_ + setup_.announce_ns;
    if (ranks_.size() > 1) {
      events_to_come_.push(started.not_before_ns, {EventKind::announce, 0, decision->collective});
    }
  }
}

void SimulationRun::take_channels(std::uint32_t rank) {
  SimulatedRank& r = ranks_[rank];
  for (; r.free_channels > 0 && r.taken_parts < r.started_parts; --r.free_channels) {
    const std::uint64_t index = r.taken_parts++;
    Part& taken = part(index);
    if (watched(rank) && trace_) {
      taken.taken_ns = now_ns_;
      taken.lane = take_part_lane();
    }
    if (++taken.arrived == ranks_.size()) begin_transfer(index);
  }
}

void SimulationRun::begin_transfer(std::uint64_t index) {
  const Part& beginning = part(index);
  const std::int64_t begin_ns = std::max(now_ns_, beginning.not_before_ns);
  ++events_;
  events_to_come_.push(begin_ns + rounded(cost_of(beginning).alpha_ns),
                       {EventKind::on_link, 0, index});
}

const PartCost& SimulationRun::cost_of(const Part& of) const {
  const std::int64_t end_bytes = of.decision.offset_bytes + of.decision.bytes;
  const ProgramSetup& program = setup_.programs.front();
  const bool last = end_bytes == task_of(program, of.decision.task).bytes;
  return (last ? program.last_part : program.full_part)[of.collective];
}

void SimulationRun::enter_link(std::uint64_t index) {
  const Part& entering = part(index);
  const double bytes_ns =
      cost_of(entering).beta_ns_per_byte * static_cast<double>(entering.decision.bytes);
  const LinkTier tier = tier_of(entering);
  link(tier).transfers.begin(index, std::min(bytes_ns, kMaxTaskNs), now_ns_);
  reschedule_link(tier);
}

void SimulationRun::reschedule_link(LinkTier tier) {
  Link& changed = link(tier);
  const auto end = changed.transfers.next_end();
  ++changed.ticket;
  if (!end) return;
  const std::uint64_t value = static_cast<std::uint64_t>(tier) << 32 | changed.ticket;
  events_to_come_.push(end->time_ns, {EventKind::link_end, 0, value});
}

void SimulationRun::end_transfer(LinkTier tier) {
  SharedLink& transfers = link(tier).transfers;
  const std::uint64_t index = transfers.next_end()->transfer;
  transfers.end_next(now_ns_);
  reschedule_link(tier);
  ++events_;
  events_to_come_.push(now_ns_ + rounded(cost_of(part(index)).latency_ns),
                       {EventKind::part_done, 0, index});
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    ++ranks_[rank].free_channels;
    take_channels(rank);
    follow_slowdown(rank);
  }
}

std::int32_t SimulationRun::take_part_lane() {
  const auto free = std::find(part_lanes_.begin(), part_lanes_.end(), false);
  const auto lane = free - part_lanes_.begin();
  free == part_lanes_.end() ? part_lanes_.push_back(true) : void(*free = true);
  return static_cast<std::int32_t>(lane);
}

void SimulationRun::end_part(std::uint64_t index) {
  part(index).done = true;
  const Part done = part(index);
  // With several channels, parts may end out of order; they are removed from the front.
  for (; !parts_.empty() && parts_.front().done; ++first_part_) parts_.pop_front();

  const TaskId task = done.decision.task;
  if (trace_) {
    const ProgramSetup& program = setup_.programs.front();
    part_lanes_[static_cast<std::size_t>(done.lane)] = false;
    trace_->record({TraceKind::communication, done.lane, task_of(program, task).name,
                    task.generation, done.taken_ns, now_ns_, done.decision.bytes, task,
                    static_cast<std::int64_t>(index), program.kinds[done.collective],
                    program.among[done.collective]});
  }
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    ranks_[rank].account(now_ns_);
    ++events_;
    if (ranks_[rank].plan.finish_part(task, done.decision.bytes)) task_finished(task);
    pump(rank);
  }
}

void SimulationRun::announce_to_others(std::uint64_t collective) {
  for (std::uint32_t rank = 1; rank < ranks_.size(); ++rank) {
    ranks_[rank].plan.announce({&collective, 1});
    pump(rank);
  }
}

void SimulationRun::start_computes(std::uint32_t rank) {
  SimulatedRank& r = ranks_[rank];
  while (!r.free_streams.empty()) {
    const auto task = r.plan.next_compute();
    if (!task) return;
    const std::uint32_t stream = r.free_streams.back();
    r.free_streams.pop_back();
    SimulatedRank::Running& running = r.running[stream];
    running.task = *task;
    running.begin_ns = now_ns_;
    running.left_ns = duration_ns(r, *task);
    running.since_ns = now_ns_;
    running.busy = true;
    schedule_end(rank, stream);
  }
}

double SimulationRun::duration_ns(const SimulatedRank& rank, TaskId task) const {
  const ProgramSetup& program = setup_.programs[rank.group.program];
  const std::uint32_t index = program.captured->index_of(task);
  auto ns = static_cast<double>(program.durations_ns[index]);
  const TaskLane lane = program.captured->task(index).lane;
  // The links to the host are alike on all ranks, however fast these compute.
  if (lane == TaskLane::to_device || lane == TaskLane::to_host) return ns;
  ns *= rank.group.compute_scale;
  if (setup_.jitter.kind == JitterKind::none) return ns;
  return ns * jitter_factor(setup_.jitter, rank.group.first_rank, task.generation, index);
}

void SimulationRun::start_lanes(std::uint32_t rank) {
  if (program_of(rank).copied_bytes.empty()) return;
  SimulatedRank& r = ranks_[rank];
  for (const TaskLane lane : {TaskLane::host, TaskLane::to_device, TaskLane::to_host}) {
    SimulatedRank::Running& running = r.lanes[static_cast<std::size_t>(lane)];
    if (running.busy) continue;
    const auto task = r.plan.next_compute(lane);
    if (!task) continue;
    running.task = *task;
    running.begin_ns = now_ns_;
    running.busy = true;
    events_to_come_.push(now_ns_ + rounded(duration_ns(r, *task)),
                         {EventKind::lane_end, rank, static_cast<std::uint64_t>(lane)});
  }
}

void SimulationRun::end_lane(std::uint32_t rank, TaskLane lane) {
  SimulatedRank& r = ranks_[rank];
  r.account(now_ns_);
  ++events_;
  SimulatedRank::Running& running = r.lanes[static_cast<std::size_t>(lane)];
  running.busy = false;
  const TaskId task = running.task;
  if (watched(rank) && trace_) {
    // The host's lane follows the streams; the copies' lanes are 0 to the device, 1 to the host.
    const bool computes = lane == TaskLane::host;
    const std::int32_t copies = lane == TaskLane::to_device ? 0 : 1;
    const ProgramSetup& program = program_of(rank);
    trace_->record({.kind = computes ? TraceKind::compute : TraceKind::copy,
                    .lane = computes ? setup_.streams : copies,
                    .name = task_of(program, task).name,
                    .step = task.generation,
                    .begin_ns = running.begin_ns,
                    .end_ns = now_ns_,
                    .bytes = program.copied_bytes[program.captured->index_of(task)],
                    .task = task});
  }
  r.plan.finish_compute(task);
  task_finished(task);
  pump(rank);
}

void SimulationRun::schedule_end(std::uint32_t rank, std::uint32_t stream) {
  SimulatedRank& r = ranks_[rank];
  SimulatedRank::Running& running = r.running[stream];
  ++running.ticket;
  events_to_come_.push(
      now_ns_ + rounded(running.left_ns * (1 + r.slowdown)),
      {EventKind::compute_end, rank, std::uint64_t{running.ticket} << 32 | stream});
}

double SimulationRun::slowdown(const SimulatedRank& rank) const {
  if (rank.plan.parts_in_flight() == 0) return 0;
  const auto parts = static_cast<int>(rank.plan.parts_in_flight());
  const int channels = served_ ? std::min(parts, 2 * setup_.comm_channels)
                               : setup_.comm_channels - rank.free_channels;
  const int further_channels = std::max(0, channels - 1);
  return setup_.compute_slowdown + setup_.compute_slowdown_per_channel * further_channels +
         setup_.compute_slowdown_per_byte *
             static_cast<double>(rank.plan.in_flight_bytes() + rank.plan.pulled_in_flight_bytes());
}

void SimulationRun::follow_slowdown(std::uint32_t rank) {
  SimulatedRank& r = ranks_[rank];
  const double slowdown = this->slowdown(r);
  if (slowdown == r.slowdown) return;
  const double factor = 1 + r.slowdown;
  r.slowdown = slowdown;
  for (std::uint32_t stream = 0; stream < r.running.size(); ++stream) {
    SimulatedRank::Running& running = r.running[stream];
    if (!running.busy) continue;
    const auto passed_ns = static_cast<double>(now_ns_ - running.since_ns);
    running.left_ns = std::max(0.0, running.left_ns - passed_ns / factor);
    running.since_ns = now_ns_;
    schedule_end(rank, stream);
  }
}

void SimulationRun::end_compute(std::uint32_t rank, std::uint32_t stream, std::uint32_t ticket) {
  SimulatedRank& r = ranks_[rank];
  SimulatedRank::Running& running = r.running[stream];
  if (running.ticket != ticket) return;
  r.account(now_ns_);
  ++events_;
  running.busy = false;
  r.free_streams.push_back(stream);
  const TaskId task = running.task;
  if (watched(rank) && trace_) {
    trace_->record({TraceKind::compute, static_cast<std::int32_t>(stream),
                    task_of(program_of(rank), task).name, task.generation, running.begin_ns,
                    now_ns_, 0, task});
  }
  r.plan.finish_compute(task);
  task_finished(task);
  pump(rank);
}

void SimulationRun::task_finished(TaskId task) {
  // The generation of a captured task is the number of its launch.
  Launch& launch = launches_[task.generation - finished_launches_];
  --launch.unfinished;
  launch.ends_ns += static_cast<std::uint64_t>(now_ns_);
  while (!launches_.empty() && launches_.front().unfinished == 0) {
    const auto all_ns = static_cast<std::uint64_t>(now_ns_) * static_cast<std::uint64_t>(tasks_);
    finished_.push_back({now_ns_, mean_busy_times(), all_ns - launches_.front().ends_ns});
    part_order_ = std::move(launches_.front().part_order);
    launches_.pop_front();
    ++finished_launches_;
  }
}

}  // namespace hocket
