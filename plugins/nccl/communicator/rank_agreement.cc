#include "plugins/nccl/communicator/rank_agreement.h"

#include <pthread.h>
#include <algorithm>
#include <utility>

#include "plugins/nccl/communicator/quiet_thread.h"

namespace hocket::nccl {
namespace {

ArbiterOptions arbiter_options(const MemberOptions& member) {
  ArbiterOptions options;
  options.ranks = member.ranks;
  options.comm_id = member.comm_id;
  return options;
}

}  // namespace

RankAgreement::RankAgreement(RankAgreementOptions options, std::unique_ptr<Links> links)
    : options_(std::move(options)), links_(std::move(links)), member_(options_.member) {
  if (options_.member.rank == 0) {
    arbiter_.emplace(arbiter_options(options_.member));
    member_.link_up(0, options_.now_ns());
    route();
  }
  thread_ = start_quietly("hocket-nccl", [this] { run(); });
}

RankAgreement::~RankAgreement() {
  close();
}

void RankAgreement::close() {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    is_closed_ = true;
    member_.leave(count_.load());
    route();
  }
  moved_.notify_all();
  links_->wake();
  thread_.join();
}

const SettingInForce* RankAgreement::wait_at_gate(std::uint64_t call, std::uint64_t digest) {
  std::unique_lock lock(mutex_);
  const std::int64_t arrived_ns = options_.now_ns();
  member_.arrive(call, digest, arrived_ns);
  route();
  // Rank 0's arrival may be the last one, so that there is a verdict to send.
  if (!output_.empty()) links_->wake();
  moved_.wait(lock, [this] { return !member_.is_blocked(); });
  waited_ns_ += options_.now_ns() - arrived_ns;
  if (member_.in_force().version == version_in_force_ &&
      member_.in_force().payload == in_force_.payload) {
    return nullptr;
  }
  in_force_ = member_.in_force();
  version_in_force_ = in_force_.version;
  return &in_force_;
}

void RankAgreement::send_statistics() {
  if (!is_introduced_ && !options_.introduction.empty()) {
    const std::lock_guard lock(mutex_);
    is_introduced_ = member_.send_statistics(options_.introduction);
    route();
  }
  if (!options_.next_statistics) return;
  while (true) {
    std::string bytes = options_.next_statistics();
    if (bytes.empty()) return;
    const std::lock_guard lock(mutex_);
    member_.send_statistics(std::move(bytes));
    route();
  }
}

std::string RankAgreement::frozen() const {
  const std::lock_guard lock(mutex_);
  return member_.frozen();
}

Proposed RankAgreement::propose(const Schedule& schedule) {
  Proposed proposed;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || !arbiter_) return {.why_not = "the communicator is closed"};
    proposed = arbiter_->propose(schedule, options_.now_ns());
    route();
  }
  links_->wake();
  return proposed;
}

Outcome RankAgreement::outcome() const {
  const std::lock_guard lock(mutex_);
  return arbiter_->outcome();
}

std::string RankAgreement::why_not() const {
  const std::lock_guard lock(mutex_);
  return std::string(arbiter_->why_not(options_.now_ns()));
}

std::string RankAgreement::arbiter_frozen() const {
  const std::lock_guard lock(mutex_);
  return arbiter_->frozen();
}

std::vector<Arbiter::RankStatistics> RankAgreement::take_statistics() {
  const std::lock_guard lock(mutex_);
  return arbiter_->take_statistics();
}

void RankAgreement::run() {
  bool ends = false;
  while (!ends) {
    send_statistics();
    for (const Send& action : take_output()) links_->send(action.to, action.message);
    const std::vector<LinkEvent> events = links_->wait(options_.tick_ns);
    const std::lock_guard lock(mutex_);
    const std::int64_t now_ns = options_.now_ns();
    for (const LinkEvent& event : events) take(event, now_ns);
    tick(now_ns);
    if (!member_.is_blocked()) moved_.notify_all();
    ends = is_closed_;
  }
  for (const Send& action : take_output()) links_->send(action.to, action.message);
  links_->close();
}

void RankAgreement::take(const LinkEvent& event, std::int64_t now_ns) {
  const std::uint64_t count = count_.load();
  switch (event.kind) {
    case LinkEvent::Kind::up:
      if (!arbiter_) member_.link_up(count, now_ns);
      is_introduced_ = arbiter_.has_value() && is_introduced_;
      break;
    case LinkEvent::Kind::lost:
      if (arbiter_) {
        arbiter_->link_lost(event.rank, now_ns);
      } else {
        member_.link_lost(now_ns);
      }
      break;
    case LinkEvent::Kind::message:
      if (arbiter_) {
        arbiter_->receive(event.rank, event.message, now_ns);
      } else {
        member_.receive(event.rank, event.message, count, now_ns);
      }
      break;
  }
  route();
}

void RankAgreement::tick(std::int64_t now_ns) {
  if (arbiter_) arbiter_->tick(now_ns);
  route();
  // The gate is published before the count is read (member.h).
  member_.tick(count_.load(), now_ns);
  route();
}

void RankAgreement::route() {
  const std::uint32_t own = options_.member.rank;
  while (true) {
    std::vector<Send> of_member = member_.take_actions();
    std::vector<Send> of_arbiter = arbiter_ ? arbiter_->take_actions() : std::vector<Send>();
    if (of_member.empty() && of_arbiter.empty()) break;
    const std::int64_t now_ns = options_.now_ns();
    for (Send& action : of_member) {
      if (arbiter_ && action.to == 0) {
        arbiter_->receive(0, action.message, now_ns);
      } else if (action.to != kEveryone) {
        output_.push_back(std::move(action));
      } else {
        for (std::uint32_t rank = 1; rank < options_.member.ranks; ++rank)
          if (rank != own) output_.push_back({.to = rank, .message = action.message});
      }
    }
    for (Send& action : of_arbiter) {
      const std::uint32_t first = action.to == kEveryone ? 1 : action.to;
      const std::uint32_t end = action.to == kEveryone ? options_.member.ranks : action.to + 1;
      if (action.to == 0 || action.to == kEveryone)
        member_.receive(0, action.message, count_.load(), now_ns);
      for (std::uint32_t rank = std::max(first, 1U); rank < end; ++rank)
        output_.push_back({.to = rank, .message = action.message});
    }
  }
  publish();
}

void RankAgreement::publish() {
  next_gate_.store(member_.next_gate());
}

std::vector<Send> RankAgreement::take_output() {
  const std::lock_guard lock(mutex_);
  return std::exchange(output_, {});
}

}  // namespace hocket::nccl
