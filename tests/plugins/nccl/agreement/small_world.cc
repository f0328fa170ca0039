#include "tests/plugins/nccl/agreement/small_world.h"

#include <algorithm>
#include <utility>

#include "plugins/nccl/agreement/call_digest.h"
#include "plugins/nccl/agreement/state_text.h"

namespace hocket::nccl {
namespace {

/// Units in which a wait must end.
constexpr std::uint32_t kMostWaitedUnits = 10;

MemberOptions member_options(const WorldOptions& world, std::uint32_t rank) {
  MemberOptions options;
  options.rank = rank;
  options.ranks = world.ranks;
  options.ask_interval_ns = 1000;
  options.isolation_ns = 4000;
  options.max_step_ns = 1000;
  if (world.fault == WorldFault::refusal && rank == world.faulty_rank) {
    options.objection = [](const Proposal&) { return std::string("it is not supported"); };
  }
  return options;
}

ArbiterOptions arbiter_options(const WorldOptions& world) {
  ArbiterOptions options;
  options.ranks = world.ranks;
  options.gate_timeout_ns = 2000;
  options.silent_ns = 1000;
  // The arbiter's pings at the time limit remain. The others multiply the states.
  options.ping_interval_ns = 1'000'000;
  options.margin_calls = 1;
  options.lead_ns = 0;
  options.max_step_ns = 1000;
  return options;
}

}  // namespace

SmallWorld::SmallWorld(const WorldOptions& options)
    : options_(options), arbiter_(arbiter_options(options)) {
  for (std::uint32_t rank = 0; rank < options.ranks; ++rank) {
    ranks_.emplace_back(member_options(options, rank));
    ranks_[rank].member.link_up(0, 0);
  }
  // All join and answer the first ping.
  for (int round = 0; round < 2; ++round) {
    flush();
    for (std::uint32_t rank = 0; rank < options.ranks; ++rank) {
      for (const auto& message : std::exchange(ranks_[rank].to_arbiter, {})) {
        arbiter_.receive(rank, *message, 0);
      }
    }
    if (round == 0) arbiter_.tick(0);
    flush();
    for (Rank& rank : ranks_) {
      for (const auto& message : std::exchange(rank.to_member, {})) {
        rank.member.receive(0, *message, 0, 0);
      }
    }
  }
  arbiter_.propose({.payloads = {"1", "0"}, .entries = {{0, 0, false}, {1, 1, true}}}, 0);
  flush();
}

std::vector<SmallWorld::Step> SmallWorld::steps() const {
  std::vector<Step> steps;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    const Rank& rank = ranks_[r];
    if (can_call(r)) steps.push_back({What::call, r});
    if (runs(r) && !rank.to_member.empty()) steps.push_back({What::to_member, r});
    if (runs(0) && !rank.to_arbiter.empty()) steps.push_back({What::to_arbiter, r});
  }
  for (std::uint32_t i = 0; i < between_.size(); ++i) {
    if (runs(between_[i].to)) steps.push_back({What::between, between_[i].to, i});
  }
  const bool is_quiet = steps.empty();
  const Rank& faulty = ranks_[options_.faulty_rank];
  if (options_.fault != WorldFault::none && options_.fault != WorldFault::refusal &&
      !has_fault_begun_ && !faulty.has_left) {
    const bool is_cut = options_.fault <= WorldFault::killed;
    steps.push_back({What::fault, options_.faulty_rank, 0});
    if (is_cut) steps.push_back({What::fault, options_.faulty_rank, 1});
  }
  const bool heals =
      options_.fault == WorldFault::link_cut_and_restored || options_.fault == WorldFault::stopped;
  if (heals && has_fault_begun_ && !has_healed_) {
    steps.push_back({What::heal, options_.faulty_rank});
  }
  const bool must_heal = options_.fault == WorldFault::stopped && has_fault_begun_ && !has_healed_;
  const bool waits = std::any_of(ranks_.begin(), ranks_.end(),
                                 [](const Rank& rank) { return rank.is_at_gate && !rank.is_dead; });
  if (free_units_ < options_.free_units || (is_quiet && !must_heal && waits)) {
    steps.push_back({What::time});
  }
  return steps;
}

void SmallWorld::take(const Step& step) {
  Rank& rank = ranks_[step.rank];
  switch (step.what) {
    case What::call:
      call(step.rank);
      break;
    case What::to_member: {
      const auto message = std::move(rank.to_member.front());
      rank.to_member.pop_front();
      if (message) {
        rank.member.receive(0, *message, rank.count, now_ns());
      } else {
        rank.member.link_lost(now_ns());
      }
      break;
    }
    case What::to_arbiter: {
      const auto message = std::move(rank.to_arbiter.front());
      rank.to_arbiter.pop_front();
      if (message) {
        arbiter_.receive(step.rank, *message, now_ns());
      } else {
        arbiter_.link_lost(step.rank, now_ns());
      }
      break;
    }
    case What::between: {
      const Between between = between_[step.detail];
      between_.erase(between_.begin() + step.detail);
      rank.member.receive(between.from, between.message, rank.count, now_ns());
      break;
    }
    case What::fault:
      has_fault_begun_ = true;
      start_fault(step.detail);
      break;
    case What::heal:
      has_healed_ = true;
      heal();
      break;
    case What::time:
      ++units_;
      if (free_units_ < options_.free_units) ++free_units_;
      for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        if (!runs(r)) continue;
        ranks_[r].member.tick(ranks_[r].count, now_ns());
        if (ranks_[r].is_at_gate && !ranks_[0].is_stopped) ++ranks_[r].waited_units;
      }
      if (runs(0)) arbiter_.tick(now_ns());
      break;
  }
  flush();
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].is_at_gate && runs(r) && !ranks_[r].member.is_blocked()) finish_call(r);
  }
}

bool SmallWorld::can_call(std::uint32_t r) const {
  const Rank& rank = ranks_[r];
  if (!runs(r) || rank.has_left || rank.is_at_gate || rank.settings.size() >= options_.calls)
    return false;
  const auto fewest = std::min_element(
      ranks_.begin(), ranks_.end(),
      [](const Rank& a, const Rank& b) { return a.settings.size() < b.settings.size(); });
  return rank.settings.size() < fewest->settings.size() + options_.run_ahead;
}

void SmallWorld::call(std::uint32_t r) {
  Rank& rank = ranks_[r];
  const bool is_extra = rank.count == rank.extra_at;
  const std::uint64_t bytes = is_extra ? 999 : rank.settings.size();
  const std::uint64_t call = rank.count++;
  rank.digest = call_digest::add(rank.digest, 4, bytes, 1);
  rank.is_at_gate = true;
  if (rank.member.next_gate() == call) rank.member.arrive(call, rank.digest, now_ns());
}

void SmallWorld::finish_call(std::uint32_t r) {
  Rank& rank = ranks_[r];
  rank.is_at_gate = false;
  rank.waited_units = 0;
  if (rank.count == rank.extra_at + 1 && rank.extra_at != UINT64_MAX) return;
  rank.settings.push_back(rank.member.in_force().payload == "1" ? 1 : 0);
}

void SmallWorld::start_fault(std::uint32_t variant) {
  Rank& rank = ranks_[options_.faulty_rank];
  switch (options_.fault) {
    case WorldFault::cut_off:
      rank.is_isolated = true;
      return cut(options_.faulty_rank, variant == 1);
    case WorldFault::link_cut:
    case WorldFault::link_cut_and_restored:
      return cut(options_.faulty_rank, variant == 1);
    case WorldFault::killed:
      rank.is_dead = true;
      completed_limit_ = options_.calls;
      for (const Rank& r : ranks_) completed_limit_ = std::min(completed_limit_, r.settings.size());
      for (std::uint32_t r = 1; r < ranks_.size(); ++r) {
        if (options_.faulty_rank == 0 || r == options_.faulty_rank) cut(r, variant == 1);
      }
      return;
    case WorldFault::stopped:
      rank.is_stopped = true;
      return;
    case WorldFault::extra_call:
      rank.extra_at = rank.count;
      return;
    case WorldFault::goodbye:
      rank.has_left = true;
      rank.is_at_gate = false;
      return rank.member.leave(rank.count);
    case WorldFault::abstention:
      return rank.member.abstain("another tuner is in charge");
    case WorldFault::none:
    case WorldFault::refusal:
      return;
  }
}

void SmallWorld::heal() {
  Rank& rank = ranks_[options_.faulty_rank];
  if (options_.fault == WorldFault::stopped) {
    rank.is_stopped = false;
    return;
  }
  // Both sides know of the loss before the new link, since a process reads its links in order.
  rank.is_link_open = true;
  rank.to_member.clear();
  rank.member.link_lost(now_ns());
  rank.member.link_up(rank.count, now_ns());
}

void SmallWorld::cut(std::uint32_t r, bool delivers_in_flight) {
  Rank& rank = ranks_[r];
  if (!rank.is_link_open || r == 0) return;
  rank.is_link_open = false;
  if (!delivers_in_flight) {
    rank.to_member.clear();
    rank.to_arbiter.clear();
  }
  rank.to_member.emplace_back();
  rank.to_arbiter.emplace_back();
}

void SmallWorld::flush() {
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    for (Send& send : ranks_[r].member.take_actions()) {
      if (send.to == 0) {
        if (ranks_[r].is_link_open) ranks_[r].to_arbiter.emplace_back(std::move(send.message));
        continue;
      }
      for (std::uint32_t to = 1; to < ranks_.size(); ++to) {
        const bool is_meant = send.to == to || send.to == kEveryone;
        if (!is_meant || to == r || ranks_[r].is_isolated || ranks_[to].is_isolated) continue;
        if (!ranks_[to].is_dead) between_.push_back({r, to, send.message});
      }
    }
  }
  for (const Send& send : arbiter_.take_actions()) {
    for (std::uint32_t to = 0; to < ranks_.size(); ++to) {
      if ((send.to == to || send.to == kEveryone) && ranks_[to].is_link_open &&
          arbiter_.rank_state(to).has_link) {
        ranks_[to].to_member.emplace_back(send.message);
      }
    }
  }
  // One of two ranks without its link is cut off. What it decides by default is compared with
  // what the arbiter says of the same gate.
  const bool is_cut_off = options_.fault == WorldFault::cut_off ||
                          (ranks_.size() == 2 && options_.fault < WorldFault::killed);
  for (const Rank& rank : ranks_) {
    if (rank.member.decided_by_default() > 0 && is_cut_off) {
      const Outcome& outcome = arbiter_.outcome();
      const bool was_cut_off_at_forward = outcome.gates_gone > 0;
      const bool was_late_at_return = outcome.stayed == StayReason::timed_out && outcome.at_return;
      is_excepted_ = was_cut_off_at_forward || was_late_at_return;
    }
  }
}

std::string SmallWorld::broken() const {
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].waited_units > kMostWaitedUnits) {
      return "rank " + std::to_string(r) + " waits without an end";
    }
  }
  std::size_t complete = completed_limit_;
  for (const Rank& rank : ranks_) complete = std::min(complete, rank.settings.size());
  for (std::size_t call = 0; call < complete; ++call) {
    for (std::size_t r = 1; r < ranks_.size(); ++r) {
      if (ranks_[r].settings[call] == ranks_[0].settings[call]) continue;
      const bool is_forward = ranks_[options_.faulty_rank].settings[1] == 0;
      const bool is_late = arbiter_.outcome().stayed == StayReason::timed_out;
      if (is_excepted_ && (is_forward || is_late)) continue;
      return "call " + std::to_string(call) + " has two settings";
    }
  }
  return "";
}

bool SmallWorld::is_at_end() const {
  const auto next = steps();
  return std::all_of(next.begin(), next.end(),
                     [](const Step& step) { return step.what == What::fault; });
}

std::string SmallWorld::state() const {
  std::string text;
  arbiter_.append_state(text);
  StateText state(text, 0);
  state.add(free_units_, completed_limit_, has_fault_begun_, has_healed_, is_excepted_);
  for (const Rank& rank : ranks_) {
    rank.member.append_state(text);
    state.add(rank.count, rank.digest, rank.extra_at, rank.is_at_gate, rank.is_dead,
              rank.is_stopped, rank.has_left, rank.is_isolated, rank.is_link_open,
              rank.waited_units);
    state.add(std::string(rank.settings.begin(), rank.settings.end()));
    for (const auto* queue : {&rank.to_member, &rank.to_arbiter}) {
      state.add(queue->size());
      for (const auto& message : *queue) state.add(message ? encode(*message) : std::string());
    }
  }
  std::vector<std::string> between;
  for (const Between& b : between_) {
    between.push_back(std::to_string(b.from) + ' ' + std::to_string(b.to) + encode(b.message));
  }
  std::sort(between.begin(), between.end());
  for (const std::string& message : between) state.add(message);
  return text;
}

}  // namespace hocket::nccl
