#include "plugins/nccl/agreement/member.h"

#include <algorithm>
#include <utility>

#include "plugins/nccl/agreement/state_text.h"

namespace hocket::nccl {

Member::Member(MemberOptions options) : options_(std::move(options)), time_(options_.max_step_ns) {}

void Member::receive(std::uint32_t from, const Message& message, std::uint64_t count,
                     std::int64_t now_ns) {
  time_.advance(now_ns);
  count_ = count;
  std::visit([&](const auto& m) { on(from, m); }, message);
}

void Member::link_up(std::uint64_t count, std::int64_t now_ns) {
  time_.advance(now_ns);
  count_ = count;
  has_link_ = true;
  send(0, Hello{.rank = options_.rank,
                .ranks = options_.ranks,
                .comm_id = options_.comm_id,
                .protocol = kProtocolVersion,
                .count = count,
                .undecided = undecided()});
  if (abstains_) send(0, Abstention{frozen_});
  if (has_left_) send(0, Goodbye{count});
  if (is_blocked_) send(0, arrival());
}

void Member::link_lost(std::int64_t now_ns) {
  time_.advance(now_ns);
  has_link_ = false;
  heard_ns_ = time_.now_ns();
  if (is_blocked_) ask_everyone();
}

std::uint64_t Member::next_gate() const {
  return next_ < proposal_.gates.size() ? proposal_.gates[next_].call : kNoGate;
}

void Member::arrive(std::uint64_t call, std::uint64_t digest, std::int64_t now_ns) {
  time_.advance(now_ns);
  if (is_blocked_ || call == kNoGate || call != next_gate()) return;
  is_blocked_ = true;
  digest_ = digest;
  heard_ns_ = time_.now_ns();
  settle();
  if (!is_blocked_) return;
  if (has_link_) {
    send(0, arrival());
  } else {
    ask_everyone();
  }
}

void Member::tick(std::uint64_t count, std::int64_t now_ns) {
  time_.advance(now_ns);
  count_ = count;
  say_if_passed();
  if (!is_blocked_ || has_link_) return;
  if (time_.now_ns() - heard_ns_ >= options_.isolation_ns) {
    decide_by_default();
  } else if (time_.now_ns() - asked_ns_ >= options_.ask_interval_ns) {
    ask_everyone();
  }
}

void Member::abstain(const std::string& reason) {
  if (abstains_) return;
  abstains_ = true;
  frozen_ = reason;
  send(0, Abstention{reason});
}

void Member::leave(std::uint64_t count) {
  count_ = count;
  has_left_ = true;
  is_blocked_ = false;
  proposal_ = {};
  next_ = known_ = 0;
  send(0, Goodbye{count});
}

bool Member::send_statistics(std::string bytes) {
  if (!has_link_ || bytes.size() > kMaxPayloadBytes) return false;
  send(0, Statistics{std::move(bytes)});
  return true;
}

std::vector<Send> Member::take_actions() {
  return std::exchange(actions_, {});
}

void Member::on(std::uint32_t from, const Ping& ping) {
  send(from, Pong{ping.number, count_});
}

void Member::on(std::uint32_t, const Proposal& proposal) {
  if (has_left_ || !problem_of(proposal).empty()) return;
  if (verdicts_.find(proposal.version, 0)) return;
  std::string reason = frozen_;
  if (reason.empty() && next_gate() != kNoGate) {
    reason = "a gate of an earlier proposal lies ahead";
  }
  if (reason.empty() && options_.objection) reason = options_.objection(proposal);
  if (!reason.empty()) return send(0, Refused{proposal.version, reason});
  proposal_ = proposal;
  next_ = known_ = 0;
  has_said_passed_ = false;
  say_if_passed();
}

void Member::on(std::uint32_t, const Verdict& verdict) {
  verdicts_.learn(verdict);
  resolve_doubt();
  settle();
}

void Member::on(std::uint32_t from, const Ask& ask) {
  const Arrived& arrived = ask.arrived;
  if (const auto go = verdicts_.find(arrived.version, arrived.gate)) {
    return send(from, Verdict{arrived.version, arrived.gate, *go});
  }
  send(from, Unknown{arrived.version, arrived.gate, has_link_});
  send(0, ask);
}

void Member::on(std::uint32_t, const Unknown& unknown) {
  if (unknown.has_link) heard_ns_ = time_.now_ns();
}

/// The first gate alone can be passed (protocol.h, invariant 4).
void Member::say_if_passed() {
  if (next_ != 0 || has_said_passed_ || is_blocked_ || !has_link_) return;
  if (next_gate() == kNoGate || count_ <= next_gate()) return;
  has_said_passed_ = true;
  send(0, Passed{proposal_.version, count_});
}

void Member::ask_everyone() {
  asked_ns_ = time_.now_ns();
  actions_.push_back({.to = kEveryone, .message = Ask{options_.rank, arrival()}});
}

/// Takes over what is known of the proposal's gates: the memory may forget it before the rank
/// arrives, since other proposals may come and be refused meanwhile.
void Member::settle() {
  while (known_ < proposal_.gates.size()) {
    const auto go = verdicts_.find(proposal_.version, static_cast<std::uint32_t>(known_));
    if (!go) break;
    if (*go) {
      ++known_;
    } else {
      proposal_.gates.resize(known_);
    }
  }
  if (is_blocked_ && next_ < known_) go();
  if (is_blocked_ && next_ == proposal_.gates.size()) is_blocked_ = false;
}

/// Puts the setting of the gate at which this rank stands in force.
void Member::go() {
  is_blocked_ = false;
  in_force_ = {proposal_.version, proposal_.payloads[proposal_.gates[next_].payload]};
  ++next_;
  known_ = std::max(known_, next_);
}

void Member::decide_by_default() {
  const bool goes = proposal_.gates[next_].is_return;
  doubt_ = Verdict{proposal_.version, static_cast<std::uint32_t>(next_), goes};
  last_default_ = doubt_;
  ++decided_by_default_;
  if (!abstains_) frozen_ = "a gate was decided by default, without a link to rank 0";
  if (goes) return go();
  is_blocked_ = false;
  proposal_.gates.resize(next_);
}

void Member::resolve_doubt() {
  if (!doubt_) return;
  const auto go = verdicts_.find(doubt_->version, doubt_->gate);
  if (!go) return;
  const bool was_right = *go == doubt_->go;
  doubt_.reset();
  if (abstains_) return;
  frozen_.clear();
  if (!was_right) abstain("a gate was decided by default, otherwise than by rank 0");
}

void Member::send(std::uint32_t to, Message message) {
  if (to == 0 && !has_link_) return;
  actions_.push_back({.to = to, .message = std::move(message)});
}

/// While a default is in doubt, proposals are refused: so there is one such version at most.
std::uint64_t Member::undecided() const {
  if (doubt_) return doubt_->version;
  return next_gate() != kNoGate ? proposal_.version : 0;
}

Arrived Member::arrival() const {
  return {.version = proposal_.version,
          .gate = static_cast<std::uint32_t>(next_),
          .call = next_gate(),
          .digest = digest_};
}

void Member::append_state(std::string& out) const {
  StateText state(out, time_.now_ns());
  state.add(in_force_.version, in_force_.payload, count_, has_link_, has_left_, abstains_, frozen_);
  state.add(proposal_.version, next_, known_, proposal_.gates.size(), has_said_passed_,
            is_blocked_);
  if (is_blocked_) state.add(digest_);
  if (is_blocked_ && !has_link_) state.add(state.since(asked_ns_), state.since(heard_ns_));
  if (doubt_) state.add(doubt_->version, doubt_->gate, doubt_->go);
  verdicts_.append_state(state, proposal_.version);
  for (const Send& action : actions_) state.add(action.to, encode(action.message));
}

}  // namespace hocket::nccl
