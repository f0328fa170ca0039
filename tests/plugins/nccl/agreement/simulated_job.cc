#include "tests/plugins/nccl/agreement/simulated_job.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace hocket::nccl {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kTickNs = 8 * kMs;
constexpr std::int64_t kGateTimeoutNs = 200 * kMs;
constexpr std::int64_t kIsolationNs = 600 * kMs;
constexpr std::int64_t kMaxStepNs = 40 * kMs;
constexpr std::int64_t kMaxDelayNs = 4 * kMs;
/// A blocked rank ends its wait within this time after the last fault has begun or ended.
constexpr std::int64_t kWaitBoundNs = kIsolationNs + 2 * kGateTimeoutNs + 500 * kMs;

std::uint32_t any_size(std::mt19937_64& random) {
  switch (random() % 20) {
    case 0:
      return static_cast<std::uint32_t>(17 + random() % 48);
    case 1:
    case 2:
      return static_cast<std::uint32_t>(9 + random() % 8);
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
      return static_cast<std::uint32_t>(4 + random() % 5);
    default:
      return static_cast<std::uint32_t>(2 + random() % 2);
  }
}

ArbiterOptions arbiter_options(std::uint32_t ranks, std::mt19937_64& random) {
  ArbiterOptions options;
  options.ranks = ranks;
  options.comm_id = 42;
  options.gate_timeout_ns = kGateTimeoutNs;
  options.ping_interval_ns = 20 * kMs;
  options.fresh_ns = 80 * kMs;
  options.silent_ns = 80 * kMs;
  options.margin_calls = 1 + random() % 16;
  options.max_margin_calls = 64;
  options.lead_ns = static_cast<std::int64_t>(random() % 4) * kMs;
  options.max_step_ns = kMaxStepNs;
  return options;
}

}  // namespace

void JobCounts::add(const JobCounts& other) {
  proposals += other.proposals;
  went += other.went;
  stayed += other.stayed;
  for (std::size_t i = 0; i < stayed_by_reason.size(); ++i) {
    stayed_by_reason[i] += other.stayed_by_reason[i];
  }
  completed_items += other.completed_items;
  excepted_a += other.excepted_a;
  excepted_b += other.excepted_b;
  defaults += other.defaults;
  wrong_defaults += other.wrong_defaults;
  jobs_frozen += other.jobs_frozen;
  jobs_with_faults += other.jobs_with_faults;
  recoveries += other.recoveries;
}

SimulatedJob::SimulatedJob(std::uint64_t seed)
    : seed_(seed), random_(seed * 0x9e3779b97f4a7c15 + 1), arbiter_({}) {
  const std::uint32_t size = any_size(random_);
  arbiter_ = Arbiter(arbiter_options(size, random_));
  uses_wire_ = chance(8);
  run_ahead_ = 1 + below(6);
  group_shape_ = below(4);
  gates_wanted_ = 10 + below(60);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    MemberOptions options;
    options.rank = rank;
    options.ranks = size;
    options.comm_id = 42;
    options.ask_interval_ns = 10 * kMs;
    options.isolation_ns = kIsolationNs;
    options.max_step_ns = kMaxStepNs;
    if (rank == size - 1 && chance(12)) {
      has_refusal_ = true;
      options.objection = [](const Proposal& proposal) {
        const bool refuses = proposal.payloads[0][0] % 5 == 3;
        return std::string(refuses ? "it is not supported" : "");
      };
    }
    ranks_.emplace_back(options);
  }
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    ranks_[rank].member.link_up(0, now_ns_);
    flush(rank);
    push(delay_ns(), Kind::host_step, rank);
    push(delay_ns(), Kind::tick, rank);
  }
  push(50 * kMs, Kind::caller_step, 0);
  if (chance(3)) return;
  // Some jobs have one fault, some have many that heal, some have a few of any kind.
  const std::uint64_t style = below(3);
  only_healing_ = style == 1;
  for (std::uint64_t faults = style == 0 ? 1 : 2 + below(style == 1 ? 20 : 4); faults > 0;) {
    push(static_cast<std::int64_t>(50 + below(style == 1 ? 1500 : 400)) * kMs, Kind::fault, 0);
    ++open_faults_;
    --faults;
  }
  has_faults_ = true;
}

std::string SimulatedJob::run() {
  while (broken_.empty() && !events_.empty() && !is_stopping_) {
    Event event = events_.top();
    events_.pop();
    now_ns_ = event.time_ns;
    dispatch(std::move(event));
    if (now_ns_ > 60'000 * kMs) broken("the job has no end");
  }
  if (broken_.empty()) check_end();
  counts_.defaults = defaults_.size();
  counts_.wrong_defaults = has_wrong_default();
  counts_.jobs_frozen = !arbiter_.frozen().empty();
  counts_.jobs_with_faults = has_faults_;
  counts_.completed_items = completed_;
  return broken_;
}

void SimulatedJob::broken(std::string law) {
  if (broken_.empty()) broken_ = std::move(law) + ", at " + std::to_string(now_ns_ / 1000) + " us";
}

std::int64_t SimulatedJob::delay_ns() {
  const std::uint64_t most = chance(20) ? kMaxDelayNs : 200'000;
  return 5'000 + static_cast<std::int64_t>(below(most));
}

void SimulatedJob::push(std::int64_t delay, Kind kind, std::uint32_t rank, std::uint64_t detail) {
  events_.push({.time_ns = now_ns_ + delay,
                .number = ++last_event_,
                .kind = kind,
                .rank = rank,
                .detail = detail});
}

/// Withholds what happens to a stopped process, and what a dead one would do.
void SimulatedJob::dispatch(Event event) {
  const bool is_of_arbiter = event.kind == Kind::to_arbiter ||
                             event.kind == Kind::arbiter_notices_loss ||
                             event.kind == Kind::caller_step;
  const bool is_outside = event.kind == Kind::item_completes || event.kind == Kind::fault ||
                          event.kind == Kind::continues || event.kind == Kind::reachable_again;
  if (!is_outside) {
    Rank& process = ranks_[is_of_arbiter ? 0 : event.rank];
    if (process.is_dead) {
      // Someone has to end the run.
      if (event.kind == Kind::caller_step)
        is_stopping_ = now_ns_ > last_fault_ns_ + 2 * kWaitBoundNs;
      if (event.kind == Kind::caller_step) push(20 * kMs, Kind::caller_step, 0);
      return;
    }
    if (process.is_stopped) return process.backlog.push_back(std::move(event));
  }
  handle(event);
}

void SimulatedJob::handle(const Event& event) {
  Rank& rank = ranks_[event.rank];
  // The plugin's thread may have read the count before the host's thread went on.
  const std::uint64_t count = rank.count > 0 && chance(8) ? rank.count - 1 : rank.count;
  switch (event.kind) {
    case Kind::to_member:
      if (event.detail == rank.epoch && rank.is_link_open) {
        rank.member.receive(0, *event.message, count, now_ns_);
      }
      break;
    case Kind::to_arbiter:
      if (event.detail != rank.epoch || event.detail <= rank.arbiter_lost_epoch) break;
      if (!rank.is_link_open && !rank.delivers_in_flight) break;
      rank.arbiter_epoch = event.detail;
      arbiter_.receive(event.rank, *event.message, now_ns_);
      flush_arbiter();
      break;
    case Kind::between_ranks:
      rank.member.receive(event.from, *event.message, count, now_ns_);
      break;
    case Kind::member_notices_loss:
      if (event.detail == rank.epoch && !rank.is_link_open) rank.member.link_lost(now_ns_);
      break;
    case Kind::arbiter_notices_loss:
      rank.arbiter_lost_epoch = event.detail;
      if (event.detail == rank.arbiter_epoch) arbiter_.link_lost(event.rank, now_ns_);
      flush_arbiter();
      break;
    case Kind::link_restored:
      --open_faults_;
      last_fault_ns_ = now_ns_;
      if (rank.is_link_open || ranks_[0].is_dead) break;
      ++rank.epoch;
      rank.is_link_open = true;
      rank.last_to_arbiter_ns = rank.last_to_member_ns = now_ns_;
      rank.member.link_lost(now_ns_);
      rank.member.link_up(rank.count, now_ns_);
      break;
    case Kind::tick:
      tick(event.rank);
      break;
    case Kind::host_step:
      host_step(event.rank);
      break;
    case Kind::host_arrives:
      rank.member.arrive(rank.count - 1, rank.digest, now_ns_);
      rank.is_at_gate = true;
      rank.blocked_since_ns = rank.contact_ns = now_ns_;
      break;
    case Kind::item_completes:
      ++completed_;
      for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        if (!std::exchange(ranks_[r].is_waiting_for_completion, false)) continue;
        push(delay_ns(), Kind::host_step, r);
      }
      return;
    case Kind::caller_step:
      caller_step();
      break;
    case Kind::fault:
      --open_faults_;
      inject(static_cast<Fault>(below(only_healing_ ? 5 : 11)));
      return;
    case Kind::reachable_again:
      rank.is_isolated = false;
      last_fault_ns_ = now_ns_;
      return;
    case Kind::continues: {
      rank.is_stopped = false;
      // The time of a process that does not run is no waiting.
      rank.blocked_since_ns += now_ns_ - rank.stopped_ns;
      rank.contact_ns += now_ns_ - rank.stopped_ns;
      --open_faults_;
      last_fault_ns_ = now_ns_;
      // Messages are read before time is looked at.
      auto backlog = std::exchange(rank.backlog, {});
      std::stable_partition(backlog.begin(), backlog.end(),
                            [](const Event& e) { return e.kind != Kind::tick; });
      for (Event& late : backlog) dispatch(std::move(late));
      return;
    }
  }
  flush(event.rank);
  if (event.rank == 0) flush_arbiter();
  if (rank.is_at_gate && !rank.member.is_blocked()) {
    check_rank(event.rank);
    rank.is_at_gate = false;
    end_call(event.rank);
  }
}

void SimulatedJob::flush(std::uint32_t rank) {
  for (const Send& send : ranks_[rank].member.take_actions()) {
    if (std::holds_alternative<Ask>(send.message) && send.to == kEveryone) {
      for (std::uint32_t to = 1; to < ranks_.size(); ++to) {
        if (to != rank) post_between(rank, to, send.message);
      }
    } else if (send.to == 0) {
      post_to_arbiter(rank, send.message);
    } else {
      post_between(rank, send.to, send.message);
    }
  }
}

void SimulatedJob::flush_arbiter() {
  for (Send& send : arbiter_.take_actions()) {
    if (const auto* verdict = std::get_if<Verdict>(&send.message)) note(*verdict);
    const auto message = std::make_shared<const Message>(std::move(send.message));
    if (uses_wire_) {
      const std::string frame = encode(*message);
      const Decoded decoded = decode(std::as_bytes(std::span(frame)));
      if (!decoded.message || !(*decoded.message == *message)) broken("a message was changed");
    }
    for (std::uint32_t to = 0; to < ranks_.size(); ++to) {
      if (send.to == to || send.to == kEveryone) post_to_member(to, message);
    }
  }
}

void SimulatedJob::post_to_arbiter(std::uint32_t from, const Message& message) {
  Rank& rank = ranks_[from];
  if (!rank.is_link_open) return;
  rank.last_to_arbiter_ns = std::max(rank.last_to_arbiter_ns, now_ns_ + delay_ns());
  events_.push({.time_ns = rank.last_to_arbiter_ns,
                .number = ++last_event_,
                .kind = Kind::to_arbiter,
                .rank = from,
                .detail = rank.epoch,
                .message = std::make_shared<const Message>(message)});
}

/// Messages that the arbiter sends before it knows of a new link go to the old one.
void SimulatedJob::post_to_member(std::uint32_t to, const std::shared_ptr<const Message>& message) {
  Rank& rank = ranks_[to];
  if (!rank.is_link_open || rank.arbiter_epoch != rank.epoch) return;
  rank.last_to_member_ns = std::max(rank.last_to_member_ns, now_ns_ + delay_ns());
  events_.push({.time_ns = rank.last_to_member_ns,
                .number = ++last_event_,
                .kind = Kind::to_member,
                .rank = to,
                .detail = rank.epoch,
                .message = message});
}

void SimulatedJob::post_between(std::uint32_t from, std::uint32_t to, const Message& message) {
  if (ranks_[from].is_isolated || ranks_[to].is_isolated || chance(10)) return;
  events_.push({.time_ns = now_ns_ + delay_ns(),
                .number = ++last_event_,
                .kind = Kind::between_ranks,
                .rank = to,
                .from = from,
                .message = std::make_shared<const Message>(message)});
}

void SimulatedJob::tick(std::uint32_t r) {
  Rank& rank = ranks_[r];
  rank.member.tick(rank.count, now_ns_);
  if (r == 0) {
    arbiter_.tick(now_ns_);
    flush_arbiter();
  }
  check_rank(r);
  push(kTickNs, Kind::tick, r);
}

void SimulatedJob::lose_link(std::uint32_t r, bool comes_back) {
  Rank& rank = ranks_[r];
  if (!rank.is_link_open || r == 0) return;
  rank.is_link_open = false;
  rank.delivers_in_flight = chance(2);
  has_silence_ = true;
  const auto notices = [&] {
    return chance(4) ? static_cast<std::int64_t>(below(300)) * kMs : delay_ns();
  };
  push(notices(), Kind::member_notices_loss, r, rank.epoch);
  push(notices(), Kind::arbiter_notices_loss, r, rank.epoch);
  if (!comes_back) {
    is_permanent_ = true;
    return;
  }
  ++open_faults_;
  push(static_cast<std::int64_t>(1 + below(chance(3) ? 1500 : 60)) * kMs, Kind::link_restored, r);
}

void SimulatedJob::kill(std::uint32_t r) {
  is_permanent_ = true;
  ranks_[r].is_dead = true;
  for (std::uint32_t other = 1; other < ranks_.size(); ++other) {
    if (r == 0 || r == other) lose_link(other, false);
  }
}

void SimulatedJob::stop(std::uint32_t r) {
  if (ranks_[r].is_stopped || ranks_[r].is_dead) return;
  has_silence_ = true;
  ranks_[r].is_stopped = true;
  ranks_[r].stopped_ns = now_ns_;
  ++open_faults_;
  push(static_cast<std::int64_t>(1 + below(chance(3) ? 1500 : 100)) * kMs, Kind::continues, r);
}

void SimulatedJob::inject(Fault fault) {
  last_fault_ns_ = now_ns_;
  const auto r = static_cast<std::uint32_t>(below(ranks_.size()));
  const auto not_0 = static_cast<std::uint32_t>(1 + below(ranks_.size() - 1));
  switch (fault) {
    case Fault::link_cut:
      lose_link(not_0, only_healing_ || !chance(4));
      if (chance(4)) {
        for (std::uint32_t other = 1; other < ranks_.size(); ++other) lose_link(other, true);
      }
      return;
    case Fault::cut_off:
      ranks_[not_0].is_isolated = true;
      lose_link(not_0, only_healing_ || !chance(4));
      return push(static_cast<std::int64_t>(1 + below(1500)) * kMs, Kind::reachable_again, not_0);
    case Fault::stop:
      return stop(r);
    case Fault::stop_rank_0:
      return stop(0);
    case Fault::kill:
      return kill(not_0);
    case Fault::kill_rank_0:
      if (chance(2)) kill(0);
      return;
    case Fault::caller_away:
      caller_returns_ns_ = now_ns_ + static_cast<std::int64_t>(below(400)) * kMs;
      return;
    case Fault::extra_call:
      has_extra_call_ = is_permanent_ = true;
      ranks_[r].must_make_extra_call = true;
      return;
    case Fault::goodbye:
      is_permanent_ = true;
      if (chance(2)) {
        ranks_[r].must_leave = true;
      } else {
        end_item_ = completed_ + 8 + below(20);
      }
      return;
    case Fault::refusal:
      return;
    case Fault::abstention:
      if (ranks_[r].is_dead || ranks_[r].is_stopped) return;
      has_abstention_ = is_permanent_ = true;
      ranks_[r].member.abstain("another tuner is in charge");
      return flush(r);
  }
}

/// A gate has one verdict.
void SimulatedJob::note(const Verdict& verdict) {
  const auto at = verdicts_.emplace(std::pair(verdict.version, verdict.gate), verdict.go).first;
  if (at->second != verdict.go) broken("a gate has two verdicts");
}

bool SimulatedJob::has_wrong_default() const {
  return std::any_of(defaults_.begin(), defaults_.end(), [&](const Verdict& verdict) {
    const auto at = verdicts_.find({verdict.version, verdict.gate});
    return at != verdicts_.end() && at->second != verdict.go;
  });
}

/// Checks that a rank's wait has an end, and that it decides by default only when it must.
void SimulatedJob::check_rank(std::uint32_t r) {
  Rank& rank = ranks_[r];
  if (rank.member.decided_by_default() != rank.defaults_seen) {
    rank.defaults_seen = rank.member.decided_by_default();
    defaults_.push_back(*rank.member.last_default());
    if (now_ns_ - rank.contact_ns < kIsolationNs - 4 * kMaxStepNs) {
      broken("rank " + std::to_string(r) + " decided by default too early");
    }
  }
  bool has_contact = rank.is_link_open && !ranks_[0].is_dead;
  for (std::uint32_t other = 1; other < ranks_.size() && !has_contact; ++other) {
    const Rank& peer = ranks_[other];
    has_contact = other != r && !rank.is_isolated && !peer.is_isolated && peer.is_link_open &&
                  !peer.is_dead && !peer.is_stopped && !ranks_[0].is_dead;
  }
  // A question takes a while, and may have to be repeated.
  if (!has_contact) {
    rank.contact_began_ns.reset();
  } else if (!rank.contact_began_ns) {
    rank.contact_began_ns = now_ns_;
  } else if (now_ns_ - *rank.contact_began_ns > 100 * kMs) {
    rank.contact_ns = now_ns_;
  }
  if (!rank.is_at_gate || !rank.member.is_blocked() || ranks_[0].is_stopped) return;
  if (now_ns_ - std::max(rank.blocked_since_ns, last_fault_ns_) > kWaitBoundNs) {
    broken("rank " + std::to_string(r) + " waits without an end");
  }
}

}  // namespace hocket::nccl
