// The programs of a simulated job's hosts, and the caller of its arbiter.

#include <algorithm>
#include <utility>

#include "plugins/nccl/agreement/call_digest.h"
#include "tests/plugins/nccl/agreement/simulated_job.h"

namespace hocket::nccl {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Items repeat with this period. Neighbouring calls are never equal: see protocol.h, case c.
constexpr std::uint64_t kPeriod = 7;

std::string payload_of(std::uint32_t setting) {
  std::string payload;
  for (int shift = 0; shift < 32; shift += 8) {
    payload.push_back(static_cast<char>(setting >> shift & 0xff));
  }
  return payload;
}

/// The empty payload of the beginning is setting 0.
std::uint32_t setting_of(const std::string& payload) {
  std::uint32_t setting = 0;
  for (std::size_t i = 0; i < payload.size(); ++i) {
    setting |= std::uint32_t{static_cast<unsigned char>(payload[i])} << (8 * i);
  }
  return setting;
}

std::uint64_t bytes_of(std::uint64_t item, std::uint32_t call) {
  return 1024 * (1 + item % kPeriod) + 4 * call;
}

}  // namespace

/// Single collectives, now and then a group, now and then a captured graph.
std::uint32_t SimulatedJob::calls_of(std::uint64_t item) const {
  if (group_shape_ == 0) return 1;
  const std::uint64_t at = item % kPeriod;
  return static_cast<std::uint32_t>(at == 2 ? 1 + group_shape_ : at == 5 ? 2 * group_shape_ : 1);
}

void SimulatedJob::host_step(std::uint32_t r) {
  Rank& rank = ranks_[r];
  if (rank.has_left || rank.is_at_gate) return;
  if (rank.call_in_item == 0) {
    if (rank.must_leave || rank.item >= end_item_) {
      // Destroying a communicator waits for what was launched, unless it is torn down.
      if (completed_ < rank.item && !rank.must_leave) {
        rank.is_waiting_for_completion = true;
        return;
      }
      rank.has_left = true;
      rank.member.leave(rank.count);
      flush(r);
      for (std::uint32_t other = 1; other < ranks_.size(); ++other) {
        if (r == 0 || r == other) lose_link(other, false);
      }
      return;
    }
    if (rank.item >= completed_ + run_ahead_) {
      rank.is_waiting_for_completion = true;
      return;
    }
    if (std::exchange(rank.must_make_extra_call, false)) {
      rank.is_in_extra_call = true;
      const bool is_like_the_next = chance(2);
      return begin_call(r, 4, is_like_the_next ? bytes_of(rank.item, 0) : 12);
    }
  }
  if (rank.call_in_item < calls_of(rank.item)) {
    return begin_call(r, 4, bytes_of(rank.item, rank.call_in_item));
  }
  launch(r);
}

void SimulatedJob::begin_call(std::uint32_t r, std::uint32_t function, std::uint64_t bytes) {
  Rank& rank = ranks_[r];
  const std::uint64_t call = rank.count++;
  rank.digest = call_digest::add(rank.digest, function, bytes, 1);
  if (rank.member.next_gate() != call) return end_call(r);
  // The host's thread may have to wait for the plugin's before it can say that it is there.
  push(chance(4) ? delay_ns() : 0, Kind::host_arrives, r);
}

void SimulatedJob::end_call(std::uint32_t r) {
  Rank& rank = ranks_[r];
  push(1'000 + static_cast<std::int64_t>(below(50'000)), Kind::host_step, r);
  if (std::exchange(rank.is_in_extra_call, false)) return;
  rank.settings[rank.call_in_item++] = setting_of(rank.member.in_force().payload);
}

void SimulatedJob::launch(std::uint32_t r) {
  Rank& rank = ranks_[r];
  while (launched_base_ + launched_.size() <= rank.item) launched_.emplace_back();
  Launched& launched = launched_[rank.item - launched_base_];
  const std::uint32_t calls = calls_of(rank.item);
  const std::vector<std::uint32_t> settings(rank.settings.begin(), rank.settings.begin() + calls);
  if (!launched.settings) launched.settings = settings;
  launched.differs |= *launched.settings != settings;
  if (rank.member.decided_by_default() == 0) {
    if (!launched.others) launched.others = settings;
    launched.others_differ |= *launched.others != settings;
  }
  ++rank.item;
  rank.call_in_item = 0;
  push(chance(50) ? 20 * delay_ns() : delay_ns(), Kind::host_step, r);
  if (++launched.ranks < ranks_.size()) return;
  if (launched.differs) {
    const bool is_case_b = has_extra_call_ && has_silence_;
    if ((launched.others_differ || !has_wrong_default()) && !is_case_b) {
      broken("item " + std::to_string(rank.item - 1) + " has two settings");
    }
    if (!std::exchange(has_two_settings_, true)) {
      ++(launched.others_differ ? counts_.excepted_b : counts_.excepted_a);
    }
  }
  // All earlier items were launched by all ranks before, since each rank launches them in order.
  launched_.pop_front();
  ++launched_base_;
  const std::uint64_t replays = calls > 3 ? 1 + below(10) : 1;
  push(static_cast<std::int64_t>(replays) * (10'000 + static_cast<std::int64_t>(below(40'000))),
       Kind::item_completes, r);
}

void SimulatedJob::count_verdicts() {
  const Outcome& outcome = arbiter_.outcome();
  counts_.went += outcome.gates_gone - seen_gates_;
  seen_gates_ = outcome.gates_gone;
  if (outcome.is_pending || std::exchange(has_seen_end_, true)) return;
  if (outcome.has_stayed()) {
    ++counts_.stayed;
    ++counts_.stayed_by_reason[static_cast<std::size_t>(outcome.stayed)];
    // The setting in force is another than the present one if anything has gone.
    must_propose_present_ |= outcome.at_return || outcome.gates_gone % 2 == 1;
  } else if (proposed_keep_) {
    present_ = *proposed_keep_;
    must_propose_present_ = false;
  }
  proposed_keep_.reset();
}

void SimulatedJob::end_if_done() {
  const bool is_hopeless = is_permanent_ || !arbiter_.frozen().empty();
  if (open_faults_ > 0 || !has_faults_) went_at_heal_ = counts_.went;
  const std::int64_t quiet_ns = now_ns_ - last_fault_ns_;
  if (is_permanent_ && quiet_ns > 5'000 * kMs) is_stopping_ = true;
  if (open_faults_ > 0 || arbiter_.outcome().is_pending) return;
  if (is_hopeless) {
    is_stopping_ |= quiet_ns > 2'500 * kMs;
    return;
  }
  const bool has_recovered = !has_faults_ || counts_.went > went_at_heal_ + 2;
  if (!has_recovered && quiet_ns > 10'000 * kMs) {
    broken("no proposal goes after the faults have ceased");
  }
  const bool is_done = counts_.went >= gates_wanted_ && has_recovered && !must_propose_present_;
  // The last verdict has to reach the ranks.
  if (is_done && !done_ns_) done_ns_ = now_ns_;
  is_stopping_ |= done_ns_ && now_ns_ > *done_ns_ + 20 * kMs;
}

/// A window that ends in the present setting, two of them, or a setting to keep.
Schedule SimulatedJob::choose_schedule() {
  if (must_propose_present_) {
    proposed_keep_ = present_;
    return {.payloads = {payload_of(present_)}, .entries = {{0, 0, false}}};
  }
  const std::uint32_t candidate = next_setting_++;
  if (chance(4)) {
    proposed_keep_ = candidate;
    return {.payloads = {payload_of(candidate)}, .entries = {{0, 0, false}}};
  }
  Schedule schedule{.payloads = {payload_of(candidate), payload_of(present_)}, .entries = {}};
  const std::uint64_t length = 1 + below(12);
  const std::uint64_t blocks = chance(5) ? 4 : 2;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const bool is_return = block % 2 == 1;
    schedule.entries.push_back(
        {block * length, static_cast<std::uint8_t>(is_return ? 1 : 0), is_return});
  }
  return schedule;
}

void SimulatedJob::caller_step() {
  push(static_cast<std::int64_t>(1 + below(2)) * kMs, Kind::caller_step, 0);
  count_verdicts();
  end_if_done();
  if (done_ns_ || is_stopping_ || now_ns_ < caller_returns_ns_ || !arbiter_.can_propose(now_ns_))
    return;
  const Proposed proposed = arbiter_.propose(choose_schedule(), now_ns_);
  if (proposed.version == 0) return broken("refused: " + std::string(proposed.why_not));
  ++counts_.proposals;
  seen_gates_ = 0;
  has_seen_end_ = false;
}

/// Without faults everything goes, and every rank ends in the setting that was proposed last.
void SimulatedJob::check_end() {
  const std::string& frozen = arbiter_.frozen();
  const bool has_default = std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
    return rank.member.decided_by_default() > 0;
  });
  const auto says = [&](const char* text) { return frozen.find(text) != frozen.npos; };
  if ((says("different calls") && !has_extra_call_) ||
      (says("takes no part") && !has_abstention_ && !has_default) ||
      (says("late") && !has_silence_ && !has_extra_call_)) {
    broken("frozen without that fault: " + frozen);
  }
  if (has_faults_ || has_refusal_) {
    counts_.recoveries += has_faults_ && !is_permanent_ && counts_.went > went_at_heal_;
    return;
  }
  if (!arbiter_.frozen().empty()) broken("frozen without a fault: " + arbiter_.frozen());
  for (const Rank& rank : ranks_) {
    if (setting_of(rank.member.in_force().payload) != present_) {
      broken("a rank ends in another setting than the proposed one");
    }
  }
}

}  // namespace hocket::nccl
