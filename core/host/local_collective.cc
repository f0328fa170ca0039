#include "core/host/local_collective.h"

#include <chrono>
#include <string>

#include "core/check.h"

namespace hocket {

class LocalCollective final : public Collective {
 public:
  LocalCollective(LocalGroup& group, int rank) : group_(group), rank_(rank) {}

  int rank() const override { return rank_; }
  int world_size() const override { return group_.world_size_; }
  std::int64_t timeout_ns() const override { return group_.timeout_ns_; }

  Result<void> all_reduce(std::span<float> values, std::uint64_t index) override {
    return group_.all_reduce(rank_, values, index);
  }

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

LocalGroup::LocalGroup(int world_size, std::int64_t timeout_ns)
    : world_size_(world_size),
      timeout_ns_(timeout_ns),
      messages_(static_cast<std::size_t>(world_size)) {
  HOCKET_CHECK(world_size > 0, "a group has at least one rank");
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

void LocalGroup::reduce(Meeting& meeting) {
  const std::span<float> first = meeting.values[0];
  for (const auto& values : meeting.values) meeting.mismatch |= values.size() != first.size();
  if (meeting.mismatch) return;
  for (std::size_t i = 0; i < first.size(); ++i) {
    float sum = first[i];
    for (std::size_t rank = 1; rank < meeting.values.size(); ++rank) sum += meeting.values[rank][i];
    for (const auto& values : meeting.values) values[i] = sum;
  }
}

Result<void> LocalGroup::all_reduce(int rank, std::span<float> values, std::uint64_t index) {
  std::unique_lock lock(mutex_);
  // Indices may come again, even while a slow rank has not left the part that had this one before.
  const auto left = [&] {
    const auto before = meetings_.find(index);
    return before == meetings_.end() || before->second.arrived < world_size_;
  };
  if (const auto ok = wait(lock, left, "waiting for the other ranks to leave"); !ok) return ok;
  Meeting& meeting = meetings_[index];
  meeting.values.resize(static_cast<std::size_t>(world_size_));
  meeting.values[static_cast<std::size_t>(rank)] = values;
  if (++meeting.arrived == world_size_ && !aborted_) {
    reduce(meeting);
    changed_.notify_all();
  }
  const auto met = wait(
      lock, [&] { return meeting.arrived == world_size_; }, "meeting the other ranks");
  if (!met) return met;
  const bool mismatch = meeting.mismatch;
  if (++meeting.left == world_size_) {
    meetings_.erase(index);
    changed_.notify_all();
  }
  if (mismatch) {
    return failure(ErrorCode::invalid_argument,
                   "ranks disagree on the size of part " + std::to_string(index) +
                       "; submit the same collectives with the same configuration on every rank");
  }
  return {};
}

Result<std::string> LocalGroup::hear(int rank) {
  std::unique_lock lock(mutex_);
  auto& queue = messages_[static_cast<std::size_t>(rank)];
  if (const auto ok = wait(
          lock, [&] { return !queue.empty(); }, "hearing from rank 0");
      !ok) {
    return failure(ok.error());
  }
  auto message = std::move(queue.front());
  queue.pop_front();
  return message;
}

}  // namespace hocket
