// The parts of a run that some of its ranks take part in, and those that go over servers.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/sim/simulation_run.h"

namespace hocket {

void SimulationRun::watch_what_is_ready() {
  std::vector<std::shared_ptr<const CapturedStep>> captured;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
    captured.push_back(program_of(rank).captured);
  urgent_order_.emplace(setup_.fold, std::move(captured), setup_.plan.partition_bytes);
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
    ranks_[rank].plan.observe(urgent_order_->observer(rank));
}

void SimulationRun::start_urgent_parts() {
  if (!urgent_order_) return;
  const auto collective = [&](std::uint32_t rank, std::uint32_t number, std::uint32_t launch) {
    return std::uint64_t{launch} * program_of(rank).captured->collectives() + number;
  };
  const auto may_start = [&](std::uint32_t rank, std::uint32_t number, std::uint32_t launch) {
    return ranks_[rank].plan.may_start(collective(rank, number, launch));
  };
  while (const auto next = urgent_order_->next(may_start)) {
    launches_[next->launch - finished_launches_].part_order.push_back(next->communication);
    for (const std::uint32_t rank : setup_.fold->communications[next->communication].members) {
      const std::uint64_t number =
          collective(rank, urgent_order_->number(rank, next->communication), next->launch);
      ranks_[rank].plan.announce({&number, 1});
      pump(rank);
    }
  }
}

void SimulationRun::start_group_parts(std::uint32_t rank) {
  SimulatedRank& r = ranks_[rank];
  const ProgramSetup& program = program_of(rank);
  while (const auto decision = r.plan.next_part()) {
    const auto number =
        static_cast<std::uint32_t>(decision->collective % program.captured->collectives());
    const std::int64_t end_bytes = decision->offset_bytes + decision->bytes;
    const bool last = end_bytes == task_of(program, decision->task).bytes;
    group_parts_->start(rank, number, *decision,
                        (last ? program.last_part : program.full_part)[number]);
    if (rank == 0 && !urgent_order_)
      launches_[decision->task.generation - finished_launches_].part_order.push_back(number);
  }
}

void SimulationRun::take_group_channels(std::uint32_t rank) {
  SimulatedRank& r = ranks_[rank];
  for (; r.free_channels > 0 && group_parts_->has_waiting(rank); --r.free_channels) {
    const std::uint32_t index = group_parts_->take_channel(rank, now_ns_);
    if (watched(rank) && trace_) group_parts_->last_member(index).lane = take_part_lane();
    if (!group_parts_->is_met(index)) continue;
    ++events_;
    events_to_come_.push(now_ns_ + rounded(group_parts_->part(index).cost.alpha_ns),
                         {EventKind::on_link, 0, index});
  }
}

void SimulationRun::reschedule_groups() {
  ++groups_ticket_;
  if (const auto time_ns = group_parts_->next_leaves_ns())
    events_to_come_.push(*time_ns, {EventKind::groups_leave, 0, groups_ticket_});
}

void SimulationRun::leave_group_links() {
  ++events_;
  const std::uint32_t index = group_parts_->leave_links(now_ns_);
  reschedule_groups();
  const GroupParts::Part& left = group_parts_->part(index);
  events_to_come_.push(now_ns_ + rounded(left.cost.latency_ns), {EventKind::part_done, 0, index});
  for (const GroupParts::Member& member : left.members) {
    ++ranks_[member.rank].free_channels;
    take_group_channels(member.rank);
    follow_slowdown(member.rank);
  }
}

void SimulationRun::end_group_part(std::uint32_t index) {
  const GroupParts::Part done = group_parts_->part(index);
  group_parts_->end(index);
  for (const GroupParts::Member& member : done.members) {
    ranks_[member.rank].account(now_ns_);
    if (watched(member.rank) && trace_) record(done, member);
    ++events_;
    if (ranks_[member.rank].plan.finish_part(member.task, done.bytes)) task_finished(member.task);
    pump(member.rank);
  }
}

void SimulationRun::record(const GroupParts::Part& part, const GroupParts::Member& member) {
  const ProgramSetup& program = program_of(member.rank);
  part_lanes_[static_cast<std::size_t>(member.lane)] = false;
  trace_->record({TraceKind::communication, member.lane, task_of(program, member.task).name,
                  member.task.generation, member.taken_ns, now_ns_, part.bytes, member.task,
                  kNoSequence, program.kinds[member.number], program.among[member.number]});
}

void SimulationRun::start_served_parts(std::uint32_t rank) {
  SimulatedRank& r = ranks_[rank];
  while (const auto push = r.plan.next_part()) {
    served_->add(rank, false, *push);
    if (rank != 0) continue;
    launches_[push->task.generation - finished_launches_].part_order.push_back(
        static_cast<std::uint32_t>(push->collective % program_of(rank).captured->collectives()));
  }
  while (const auto pull = r.plan.next_pull()) served_->add(rank, true, *pull);
  schedule(EventKind::served_enters, served_->take_channels(rank, now_ns_));
}

void SimulationRun::schedule(EventKind kind, const std::vector<ServedParts::Later>& later) {
  for (const ServedParts::Later& each : later)
    events_to_come_.push(each.time_ns, {kind, 0, each.part});
}

void SimulationRun::reschedule_served() {
  ++served_ticket_;
  if (const auto time_ns = served_->next_leaves_ns())
    events_to_come_.push(*time_ns, {EventKind::served_leaves, 0, served_ticket_});
}

void SimulationRun::leave_served_links() {
  ++events_;
  schedule(EventKind::served_done, {served_->leave_links(now_ns_)});
  reschedule_served();
}

void SimulationRun::end_served_part(std::uint64_t index) {
  const auto [part, makes_sum] = served_->end(index);
  const PartDecision& decision = part.decision;
  const std::uint32_t rank = part.rank;
  if (watched(rank) && trace_) {
    trace_->record({.kind = TraceKind::communication,
                    .lane = part.channel,
                    .name = task_of(program_of(rank), decision.task).name,
                    .step = decision.task.generation,
                    .begin_ns = part.taken_ns,
                    .end_ns = now_ns_,
                    .bytes = decision.bytes,
                    .task = decision.task,
                    .collective = part.is_pull ? CollectiveKind::pull : CollectiveKind::push});
  }
  ranks_[rank].account(now_ns_);
  ++events_;
  Plan& plan = ranks_[rank].plan;
  if (part.is_pull ? plan.finish_pull(decision) : plan.finish_push(decision))
    task_finished(decision.task);
  pump(rank);
  if (!makes_sum) return;
  const std::vector<PartDecision> decisions = served_->decisions(decision);
  for (std::uint32_t other = 0; other < ranks_.size(); ++other) {
    ranks_[other].account(now_ns_);
    ranks_[other].plan.summed(decisions[other]);
    pump(other);
  }
}

}  // namespace hocket
