#include "core/servers/local_servers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/base/check.h"

namespace hocket {
namespace {

/// The thread that waits for the sums of a server.
class WaitingThread final : public SumWaiter {
 public:
  void wake() override {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }
  void set_waiting(bool waits) {
    const std::lock_guard lock(mutex_);
    waits_ = waits;
    changed_.notify_all();
  }

  enum class End { woken, ended, too_late };
  /// Waits until the next wake() or since the last.
  End wait(std::int64_t timeout_ns) {
    std::unique_lock lock(mutex_);
    const bool in_time = changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns),
                                           [&] { return woken_ || !waits_; });
    if (!waits_) return End::ended;
    woken_ = false;
    return in_time ? End::woken : End::too_late;
  }
  bool waits() {
    const std::lock_guard lock(mutex_);
    return waits_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  bool woken_ = false, waits_ = true;
};

}  // namespace

class LocalServersOfRank final : public ParameterServers {
 public:
  LocalServersOfRank(LocalServers& group, int rank) : group_(group), rank_(rank) {
    for (std::size_t server = 0; server < group.sums_.size(); ++server)
      waiting_.push_back(std::make_shared<WaitingThread>());
  }

  ~LocalServersOfRank() override {
    for (const auto& sums : group_.sums_) sums->lose(rank_, "has left");
  }

  int rank() const override { return rank_; }
  int world_size() const override { return group_.ranks_; }
  int servers() const override { return static_cast<int>(group_.sums_.size()); }

  using ParameterServers::push;
  Result<void> push(const ServedPart& part, std::span<const float> values,
                    const PartUpdate* update) override {
    if (aborted_) return failure(aborted());
    if (update) HOCKET_TRY(validate(update->step));
    PartSums& sums = sums_of(part.server);
    auto summand =
        sums.begin_push({part.collective, part.offset_bytes}, rank_, values.size(), update);
    if (!summand) return failure(summand.error().in(name_of(part.server)));
    std::ranges::copy(values, summand->values().begin());
    const auto done = sums.finish_push(std::move(*summand));
    return done ? done : failure(done.error().in(name_of(part.server)));
  }

  Result<std::optional<ServedPart>> next_sum(int server) override {
    PartSums& sums = sums_of(server);
    const auto& waiting = waiting_[static_cast<std::size_t>(server)];
    std::uint64_t pushes = sums.pushes(rank_);
    while (waiting->waits()) {
      PartKey key;
      const auto taken = sums.take_sums(rank_, {&key, 1}, waiting);
      if (!taken) return failure(aborted_ ? aborted() : taken.error().in(name_of(server)));
      if (*taken > 0) return ServedPart{key.collective, key.offset_bytes, server};
      if (waiting->wait(group_.timeout_ns_) != WaitingThread::End::too_late) continue;
      // Parts that were pushed during the wait have more time.
      if (const auto unfinished = sums.unfinished(rank_, pushes))
        return failure(no_sum_in_time(*unfinished, group_.timeout_ns_).in(name_of(server)));
      pushes = sums.pushes(rank_);
    }
    return std::nullopt;
  }

  Result<void> pull(const ServedPart& part, std::span<float> values) override {
    if (aborted_) return failure(aborted());
    const Result<PartSum> sum =
        sums_of(part.server).pull({part.collective, part.offset_bytes}, rank_, values.size());
    if (!sum) return failure(sum.error().in(name_of(part.server)));
    std::ranges::copy(sum->values(), values.begin());
    return {};
  }

  void end_waiting() override {
    for (const auto& waiting : waiting_) waiting->set_waiting(false);
  }
  void begin_waiting() override {
    for (const auto& waiting : waiting_) waiting->set_waiting(true);
  }

  void abort() override {
    aborted_ = true;
    for (const auto& sums : group_.sums_) sums->lose(rank_);
  }

 private:
  PartSums& sums_of(int server) {
    HOCKET_CHECK(server >= 0 && server < servers(), "there is such a server");
    return *group_.sums_[static_cast<std::size_t>(server)];
  }

  static std::string name_of(int server) { return "parameter server " + std::to_string(server); }

  Error aborted() const {
    return {ErrorCode::unavailable, "rank " + std::to_string(rank_) + " has aborted"};
  }

  LocalServers& group_;
  const int rank_;
  std::atomic<bool> aborted_ = false;
  std::vector<std::shared_ptr<WaitingThread>> waiting_;  // by server
};

LocalServers::LocalServers(int ranks, int servers, std::int64_t timeout_ns, std::size_t limit_bytes)
    : ranks_(ranks), timeout_ns_(timeout_ns) {
  HOCKET_CHECK(servers > 0, "there is at least one server");
  for (int server = 0; server < servers; ++server)
    sums_.push_back(std::make_unique<PartSums>(ranks, limit_bytes));
}

std::unique_ptr<ParameterServers> LocalServers::join(int rank) {
  HOCKET_CHECK(rank >= 0 && rank < ranks_, "rank out of range");
  return std::make_unique<LocalServersOfRank>(*this, rank);
}

}  // namespace hocket
