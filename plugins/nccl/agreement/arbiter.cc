#include "plugins/nccl/agreement/arbiter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plugins/nccl/agreement/state_text.h"

namespace hocket::nccl {
namespace {

std::string rank_text(std::uint32_t rank) {
  return "rank " + std::to_string(rank);
}

/// Returns the first call at or after `call` at which the schedule may begin.
std::uint64_t aligned(std::uint64_t call, const Schedule& schedule) {
  if (schedule.period_calls == 0) return call;
  if (call <= schedule.boundary_call) return schedule.boundary_call;
  const std::uint64_t over = (call - schedule.boundary_call) % schedule.period_calls;
  return over == 0 ? call : call + schedule.period_calls - over;
}

}  // namespace

std::string_view text_of(StayReason reason) {
  switch (reason) {
    case StayReason::none:
      return "";
    case StayReason::refused:
      return "a rank refused the proposal";
    case StayReason::passed:
      return "a rank had passed the gate";
    case StayReason::link_lost:
      return "the link to a rank was lost";
    case StayReason::goodbye:
      return "a rank ends the communicator";
    case StayReason::timed_out:
      return "a rank did not arrive in time";
    case StayReason::digests_differ:
      return "ranks made different calls";
    case StayReason::abstained:
      return "a rank takes no part";
    case StayReason::withdrawn:
      return "the proposal was withdrawn";
  }
  return "";
}

Arbiter::Arbiter(const ArbiterOptions& options)
    : options_(options),
      time_(options.max_step_ns),
      ranks_(options.ranks),
      margin_calls_(options.margin_calls) {}

void Arbiter::receive(std::uint32_t from, const Message& message, std::int64_t now_ns) {
  time_.advance(now_ns);
  if (from >= ranks_.size()) return;
  if (!ranks_[from].has_link && !std::holds_alternative<Hello>(message)) return;
  ranks_[from].unanswered_ns.reset();
  std::visit([&](const auto& m) { on(from, m); }, message);
}

void Arbiter::link_lost(std::uint32_t rank, std::int64_t now_ns) {
  time_.advance(now_ns);
  if (rank < ranks_.size()) lose(rank);
}

void Arbiter::tick(std::int64_t now_ns) {
  time_.advance(now_ns);
  const std::int64_t now = time_.now_ns();
  if (first_arrival_ns_ && now - *first_arrival_ns_ >= options_.gate_timeout_ns) expire();
  if (now < next_ping_ns_) return;
  next_ping_ns_ = now + options_.ping_interval_ns;
  ping();
}

void Arbiter::ping() {
  ++last_ping_;
  for (Rank& rank : ranks_) {
    if (rank.has_link && !rank.unanswered_ns) rank.unanswered_ns = time_.now_ns();
  }
  actions_.push_back({.to = kEveryone, .message = Ping{last_ping_}});
}

std::string_view Arbiter::why_not(std::int64_t now_ns) const {
  if (!frozen_.empty()) return "the communicator is frozen";
  if (outcome_.is_pending) return "a proposal is undecided";
  RunningTime time = time_;
  time.advance(now_ns);
  for (const Rank& rank : ranks_) {
    if (rank.has_left) return "a rank ends the communicator";
    if (!rank.has_link) return "a rank has no link";
    if (!rank.pong_ns || time.now_ns() - *rank.pong_ns > options_.fresh_ns) {
      return "a rank has not answered lately";
    }
  }
  return "";
}

Proposed Arbiter::propose(const Schedule& schedule, std::int64_t now_ns) {
  time_.advance(now_ns);
  if (const std::string_view why = why_not(now_ns); !why.empty()) return {.why_not = why};
  const std::uint64_t first_call = aligned(expected_count() + margin_calls_, schedule);
  Proposal proposal{.version = outcome_.version + 1, .payloads = schedule.payloads, .gates = {}};
  for (const Schedule::Entry& entry : schedule.entries) {
    if (entry.after_calls >= kNoGate - first_call) return {.why_not = "a gate's call is too large"};
    proposal.gates.push_back({.call = first_call + entry.after_calls,
                              .payload = entry.payload,
                              .is_return = entry.is_return});
  }
  if (const auto problem = problem_of(proposal); !problem.empty()) return {.why_not = problem};
  proposal_ = std::move(proposal);
  outcome_ = {.version = proposal_.version, .is_pending = true};
  first_arrival_ns_.reset();
  for (Rank& rank : ranks_) rank.digest.reset();
  actions_.push_back({.to = kEveryone, .message = proposal_});
  return {.version = proposal_.version, .first_call = proposal_.gates.front().call};
}

void Arbiter::withdraw(std::int64_t now_ns) {
  time_.advance(now_ns);
  object(StayReason::withdrawn, 0);
}

RankState Arbiter::rank_state(std::uint32_t rank) const {
  if (rank >= ranks_.size()) return {};
  const Rank& r = ranks_[rank];
  return {.has_link = r.has_link,
          .has_left = r.has_left,
          .count = r.count,
          .pong_age_ns = r.pong_ns ? time_.now_ns() - *r.pong_ns : INT64_MAX};
}

std::vector<Arbiter::RankStatistics> Arbiter::take_statistics() {
  return std::exchange(statistics_, {});
}

std::vector<Send> Arbiter::take_actions() {
  return std::exchange(actions_, {});
}

void Arbiter::on(std::uint32_t from, const Hello& hello) {
  lose(from);
  if (hello.rank != from || hello.ranks != options_.ranks || hello.comm_id != options_.comm_id ||
      hello.protocol != kProtocolVersion) {
    freeze(rank_text(from) + " belongs to another communicator or has another version");
    return object(StayReason::abstained, from);
  }
  Rank& rank = ranks_[from];
  rank.has_link = true;
  rank.count = std::max(rank.count, hello.count);
  rank.counted_ns = time_.now_ns();
  if (hello.undecided != 0 && hello.undecided != outcome_.version) {
    repeat_verdicts(from, hello.undecided);
  }
  repeat_verdicts(from, outcome_.version);
}

void Arbiter::on(std::uint32_t from, const Pong& pong) {
  if (pong.number == 0 || pong.number > last_ping_) return;
  Rank& rank = ranks_[from];
  rank.pong_ns = time_.now_ns();
  rank.last_pong = pong.number;
  const std::int64_t passed_ns = time_.now_ns() - rank.counted_ns;
  if (passed_ns <= 0) return;
  const std::uint64_t calls = pong.count > rank.count ? pong.count - rank.count : 0;
  rank.calls_per_ns = static_cast<double>(calls) / static_cast<double>(passed_ns);
  rank.count += calls;
  rank.counted_ns = time_.now_ns();
}

void Arbiter::on(std::uint32_t from, const Passed& passed) {
  if (!is_first_gate_of(passed.version)) return;
  margin_calls_ = std::min(std::max<std::uint64_t>(1, margin_calls_) * 2,
                           std::max(options_.max_margin_calls, options_.margin_calls));
  ranks_[from].count = std::max(ranks_[from].count, passed.count);
  object(StayReason::passed, from);
}

void Arbiter::on(std::uint32_t from, const Refused& refused) {
  if (is_first_gate_of(refused.version)) object(StayReason::refused, from, refused.reason);
}

void Arbiter::on(std::uint32_t from, const Abstention& abstention) {
  freeze(rank_text(from) + " takes no part: " + abstention.reason);
  object(StayReason::abstained, from, abstention.reason);
}

void Arbiter::on(std::uint32_t from, const Arrived& arrived) {
  record_arrival(from, from, arrived);
}

void Arbiter::on(std::uint32_t from, const Ask& ask) {
  if (ask.rank < ranks_.size()) record_arrival(ask.rank, from, ask.arrived);
}

void Arbiter::on(std::uint32_t from, const Goodbye& goodbye) {
  Rank& rank = ranks_[from];
  rank.has_left = true;
  rank.count = std::max(rank.count, goodbye.count);
  object(StayReason::goodbye, from);
  go_if_all_arrived();
}

void Arbiter::on(std::uint32_t from, const Statistics& statistics) {
  statistics_.push_back({.rank = from, .bytes = statistics.bytes});
}

bool Arbiter::is_first_gate_of(std::uint64_t version) const {
  return outcome_.is_pending && version == outcome_.version && outcome_.gates_gone == 0;
}

void Arbiter::repeat_verdicts(std::uint32_t to, std::uint64_t version) {
  for (std::uint32_t gate = 0; gate < kMaxGates; ++gate) {
    const auto go = verdicts_.find(version, gate);
    if (go) actions_.push_back({.to = to, .message = Verdict{version, gate, *go}});
    if (!go || !*go) return;
  }
}

/// `answer_to` is told the verdict if there is one: the rank may have missed it.
void Arbiter::record_arrival(std::uint32_t rank, std::uint32_t answer_to, const Arrived& arrived) {
  if (const auto go = verdicts_.find(arrived.version, arrived.gate)) {
    actions_.push_back({.to = answer_to, .message = Verdict{arrived.version, arrived.gate, *go}});
    return;
  }
  if (!outcome_.is_pending || arrived.version != outcome_.version ||
      arrived.gate != outcome_.gates_gone || arrived.call != gate().call) {
    return;
  }
  ranks_[rank].digest = arrived.digest;
  ranks_[rank].count = std::max(ranks_[rank].count, arrived.call);
  if (!first_arrival_ns_) first_arrival_ns_ = time_.now_ns();
  for (std::uint32_t other = 0; other < ranks_.size(); ++other) {
    if (!ranks_[other].digest || *ranks_[other].digest == arrived.digest) continue;
    // One of the two made a call too many or too few; their digests do not tell which.
    freeze("ranks " + std::to_string(std::min(rank, other)) + " and " +
           std::to_string(std::max(rank, other)) + " have made different calls");
    return object(StayReason::digests_differ, rank, "unlike those of " + rank_text(other));
  }
  go_if_all_arrived();
}

void Arbiter::lose(std::uint32_t rank) {
  Rank& lost = ranks_[rank];
  if (!lost.has_link) return;
  lost.has_link = false;
  lost.calls_per_ns = 0;
  lost.pong_ns.reset();
  lost.unanswered_ns.reset();
  object(StayReason::link_lost, rank);
}

/// Decides "stay" if there is an undecided forward gate, or a return gate whose digests differ. At
/// other return gates an objection is no obstacle (protocol.h, invariant 4).
void Arbiter::object(StayReason reason, std::uint32_t rank, std::string detail) {
  if (!outcome_.is_pending) return;
  const bool blocks_return =
      reason == StayReason::digests_differ || reason == StayReason::timed_out;
  if (gate().is_return && !blocks_return) return;
  outcome_.stayed = reason;
  outcome_.at_return = gate().is_return;
  outcome_.rank = rank;
  outcome_.detail = std::move(detail);
  decide(false);
}

void Arbiter::go_if_all_arrived() {
  if (!outcome_.is_pending) return;
  const bool may_lack_leavers = gate().is_return;
  const bool all = std::all_of(ranks_.begin(), ranks_.end(), [&](const Rank& rank) {
    return rank.digest || (may_lack_leavers && rank.has_left);
  });
  if (all) decide(true);
}

/// The time limit of the current gate has passed. At a return gate, a missing rank is thought late
/// only if it answers a ping of now: one that was just cut off decides "go" by default.
void Arbiter::expire() {
  bool may_be_silent = false;
  for (std::uint32_t late = 0; late < ranks_.size(); ++late) {
    const Rank& rank = ranks_[late];
    if (rank.digest) continue;
    if (gate().is_return) {
      if (rank.has_left || !rank.has_link || is_silent(rank)) continue;
      if (!expiry_ping_) {
        ping();
        expiry_ping_ = last_ping_;
      }
      if (rank.last_pong < *expiry_ping_) {
        may_be_silent = true;
        continue;
      }
    }
    if (++timeouts_in_a_row_ >= options_.max_timeouts) {
      freeze(rank_text(late) + " was late at several gates in a row");
    }
    return object(StayReason::timed_out, late);
  }
  if (!may_be_silent) decide(true);
}

bool Arbiter::is_silent(const Rank& rank) const {
  return rank.unanswered_ns && time_.now_ns() - *rank.unanswered_ns >= options_.silent_ns;
}

void Arbiter::decide(bool go) {
  const Verdict verdict{outcome_.version, outcome_.gates_gone, go};
  verdicts_.learn(verdict);
  actions_.push_back({.to = kEveryone, .message = verdict});
  first_arrival_ns_.reset();
  expiry_ping_.reset();
  for (Rank& rank : ranks_) rank.digest.reset();
  if (!go) {
    outcome_.is_pending = false;
    return;
  }
  timeouts_in_a_row_ = 0;
  ++outcome_.gates_gone;
  if (outcome_.gates_gone == proposal_.gates.size()) {
    outcome_.is_pending = false;
  } else if (!gate().is_return) {
    refuse_if_impaired();
  }
}

/// A forward gate that becomes the next one cannot go while a rank is away.
void Arbiter::refuse_if_impaired() {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].has_left) return object(StayReason::goodbye, rank);
    if (!ranks_[rank].has_link) return object(StayReason::link_lost, rank);
  }
  if (!frozen_.empty()) object(StayReason::abstained, 0, frozen_);
}

void Arbiter::freeze(std::string reason) {
  if (frozen_.empty()) frozen_ = std::move(reason);
}

/// Returns the largest count of a rank, and the calls that it makes until ranks know a proposal.
std::uint64_t Arbiter::expected_count() const {
  std::uint64_t expected = 0;
  for (const Rank& rank : ranks_) {
    const auto ahead_ns = static_cast<double>(time_.now_ns() - rank.counted_ns + options_.lead_ns);
    const double calls = std::ceil(ahead_ns * rank.calls_per_ns);
    expected = std::max(expected, rank.count + static_cast<std::uint64_t>(calls));
  }
  return expected;
}

void Arbiter::append_state(std::string& out) const {
  StateText state(out, time_.now_ns());
  for (const Rank& rank : ranks_) {
    state.add(rank.has_link, rank.has_left, rank.count, rank.digest.value_or(0));
    if (rank.unanswered_ns) state.add(state.since(*rank.unanswered_ns));
    state.add(rank.pong_ns.has_value());
  }
  state.add(outcome_.version, outcome_.is_pending, outcome_.gates_gone, frozen_,
            static_cast<int>(outcome_.stayed), timeouts_in_a_row_);
  if (first_arrival_ns_) state.add(state.since(*first_arrival_ns_));
  if (expiry_ping_) {
    for (const Rank& rank : ranks_) state.add(rank.last_pong >= *expiry_ping_);
  }
  verdicts_.append_state(state, outcome_.version);
  for (const Send& action : actions_) state.add(action.to, encode(action.message));
}

}  // namespace hocket::nccl
