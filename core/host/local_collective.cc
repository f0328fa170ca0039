#include "core/host/local_collective.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include "core/base/check.h"

namespace hocket {

class LocalCollective final : public Collective {
 public:
  LocalCollective(LocalGroup& group, int rank) : group_(group), rank_(rank) {}

  int rank() const override { return rank_; }
  int world_size() const override { return group_.world_size_; }
  int ranks_per_host() const override { return group_.ranks_per_host_; }
  std::int64_t timeout_ns() const override { return group_.timeout_ns_; }

  Result<void> run(const CollectiveWork& work) override { return group_.run(rank_, work); }

  Result<void> tell(std::string_view message) override {
    std::lock_guard lock(group_.mutex_);
    for (int other = 1; other < world_size(); ++other) {
      group_.messages_[static_cast<std::size_t>(other)].emplace_back(message);
    }
    group_.changed_.notify_all();
    return {};
  }

  Result<std::string> hear() override { return group_.hear(rank_); }

  void abort() override {
    std::lock_guard lock(group_.mutex_);
    group_.aborted_ = true;
    group_.changed_.notify_all();
  }

 private:
  LocalGroup& group_;
  const int rank_;
};

LocalGroup::LocalGroup(int world_size, std::int64_t timeout_ns, int ranks_per_host)
    : world_size_(world_size),
      ranks_per_host_(ranks_per_host == 0 ? world_size : ranks_per_host),
      timeout_ns_(timeout_ns),
      messages_(static_cast<std::size_t>(world_size)) {
  HOCKET_CHECK(world_size > 0, "a group has at least one rank");
  HOCKET_CHECK(ranks_per_host_ > 0 && world_size % ranks_per_host_ == 0,
               "hosts have equally many ranks");
}

std::unique_ptr<Collective> LocalGroup::join(int rank) {
  HOCKET_CHECK(rank >= 0 && rank < world_size_, "rank out of range");
  return std::make_unique<LocalCollective>(*this, rank);
}

Result<void> LocalGroup::wait(std::unique_lock<std::mutex>& lock, const auto& ready,
                              const char* what) {
  const bool in_time = changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns_),
                                         [&] { return aborted_ || ready(); });
  if (ready() && !aborted_) return {};
  aborted_ = true;
  changed_.notify_all();
  if (in_time) return failure(ErrorCode::unavailable, "a rank has left the group");
  return failure(ErrorCode::timed_out, std::string(what) + " took longer than " +
                                           std::to_string(timeout_ns_ / 1'000'000) + " ms");
}

namespace {

bool same_part(const CollectiveWork& a, const CollectiveWork& b) {
  return a.kind == b.kind && a.values.size() == b.values.size() && a.begin == b.begin &&
         a.end == b.end;
}

/// Sums the piece of `owner` in the order of ranks, and sets the others' copies of it to NaN.
void sum_piece(const std::vector<CollectiveWork>& works, const CollectiveBlocks& blocks,
               std::size_t owner) {
  for (const ValueRange& range : blocks.piece(owner)) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      float sum = works[0].values[i];
      for (std::size_t member = 1; member < works.size(); ++member) sum += works[member].values[i];
      for (const CollectiveWork& work : works)
        work.values[i] = std::numeric_limits<float>::quiet_NaN();
      works[owner].values[i] = sum;
    }
  }
}

void spread_piece(const std::vector<CollectiveWork>& works, const CollectiveBlocks& blocks,
                  std::size_t owner) {
  for (const ValueRange& range : blocks.piece(owner)) {
    const auto owned = works[owner].values.subspan(range.begin, range.size());
    for (std::size_t member = 0; member < works.size(); ++member) {
      if (member != owner) std::ranges::copy(owned, works[member].values.begin() + range.begin);
    }
  }
}

}  // namespace

void LocalGroup::carry_out(Meeting& meeting, const CollectiveBlocks& blocks) {
  const auto& works = meeting.works;
  for (const CollectiveWork& work : works) meeting.mismatch |= !same_part(work, works[0]);
  if (meeting.mismatch) return;
  for (std::size_t owner = 0; owner < works.size(); ++owner) {
    if (works[0].kind != CollectiveKind::all_gather) sum_piece(works, blocks, owner);
    if (works[0].kind != CollectiveKind::reduce_scatter) spread_piece(works, blocks, owner);
  }
}

Result<void> LocalGroup::run(int rank, const CollectiveWork& work) {
  if (auto ok = check_kind(work.kind); !ok) return ok;
  const CollectiveBlocks blocks(work, {world_size_, ranks_per_host_}, rank);
  const std::size_t members = blocks.members();
  const MeetingKey key{work.index, work.group, blocks.rank_of(0)};
  std::unique_lock lock(mutex_);
  // An index may be reused while a slow rank has not yet left the previous part with this index.
  const auto left = [&] {
    const auto before = meetings_.find(key);
    return before == meetings_.end() || before->second.arrived < members;
  };
  if (const auto ok = wait(lock, left, "waiting for the other ranks to leave"); !ok) return ok;
  Meeting& meeting = meetings_[key];
  meeting.works.resize(members);
  meeting.works[blocks.own()] = work;
  if (++meeting.arrived == members && !aborted_) {
    carry_out(meeting, blocks);
    changed_.notify_all();
  }
  const auto met = wait(
      lock, [&] { return meeting.arrived == members; }, "meeting the other ranks");
  if (!met) return met;
  const bool mismatch = meeting.mismatch;
  if (++meeting.left == members) {
    meetings_.erase(key);
    changed_.notify_all();
  }
  if (mismatch) {
    return failure(ErrorCode::invalid_argument,
                   "ranks disagree on the kind or size of part " + std::to_string(work.index) +
                       "; submit the same collectives with the same configuration on every rank");
  }
  return {};
}

Result<std::string> LocalGroup::hear(int rank) {
  std::unique_lock lock(mutex_);
  auto& queue = messages_[static_cast<std::size_t>(rank)];
  HOCKET_TRY(wait(
      lock, [&] { return !queue.empty(); }, "hearing from rank 0"));
  auto message = std::move(queue.front());
  queue.pop_front();
  return message;
}

}  // namespace hocket
