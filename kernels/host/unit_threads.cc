#include "kernels/host/unit_threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "core/base/check.h"

namespace hocket {
namespace {

/// Units of a range: some hundred kilobytes of elementwise work.
constexpr std::int64_t kUnitsOfRange = 32 * 1024;

}  // namespace

int usable_hardware_threads() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  // Fails on a machine with more processors than a set has; the library then knows the number.
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) return std::max(CPU_COUNT(&usable), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

/// One run, of which each thread takes a range at a time.
class UnitThreads::Work {
 public:
  Work(std::int64_t units, const std::function<Result<void>(UnitRange)>& run)
      : units_(units), run_(run) {}

  std::int64_t ranges() const { return (units_ + kUnitsOfRange - 1) / kUnitsOfRange; }

  /// Runs ranges until all are taken or one has failed.
  void take_part() {
    while (!has_failed_.load(std::memory_order_relaxed)) {
      const std::int64_t range = next_.fetch_add(1, std::memory_order_relaxed);
      if (range >= ranges()) return;
      const auto done =
          run_({range * kUnitsOfRange, std::min((range + 1) * kUnitsOfRange, units_)});
      if (done || has_failed_.exchange(true)) continue;
      error_ = done.error();
    }
  }

  /// Returns the first error. Call it when nobody takes part any more.
  Result<void> result() const { return error_ ? failure(*error_) : Result<void>(); }

 private:
  const std::int64_t units_;
  const std::function<Result<void>(UnitRange)>& run_;
  std::atomic<std::int64_t> next_ = 0;
  std::atomic<bool> has_failed_ = false;
  std::optional<Error> error_;  // written by the one who failed first
};

UnitThreads::UnitThreads(int threads) {
  HOCKET_CHECK(threads >= 1, "at least the calling thread");
  for (int helper = 1; helper < threads; ++helper) helpers_.emplace_back([this] { help(); });
}

UnitThreads::~UnitThreads() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  offered_.notify_all();
  helpers_.clear();
}

Result<void> UnitThreads::run(std::int64_t units,
                              const std::function<Result<void>(UnitRange)>& run) {
  Work work(units, run);
  const std::lock_guard one(one_run_);
  // The first range is the calling thread's.
  const auto others = static_cast<std::size_t>(std::max<std::int64_t>(work.ranges() - 1, 0));
  const std::size_t helpers = std::min(helpers_.size(), others);
  if (helpers > 0) offer(work, helpers);
  work.take_part();
  if (helpers > 0) withdraw();
  return work.result();
}

void UnitThreads::offer(Work& work, std::size_t helpers) {
  {
    const std::lock_guard lock(mutex_);
    HOCKET_CHECK(work_ == nullptr && busy_helpers_ == 0, "one run at a time");
    work_ = &work;
  }
  for (; helpers > 0; --helpers) offered_.notify_one();
}

void UnitThreads::withdraw() {
  std::unique_lock lock(mutex_);
  // A helper that has not woken up yet finds nothing to join, so nobody waits for it.
  work_ = nullptr;
  left_.wait(lock, [this] { return busy_helpers_ == 0; });
}

void UnitThreads::help() {
  std::unique_lock lock(mutex_);
  for (;;) {
    offered_.wait(lock, [this] { return ending_ || work_ != nullptr; });
    if (ending_) return;
    Work& work = *work_;
    ++busy_helpers_;
    lock.unlock();
    work.take_part();
    lock.lock();
    // All ranges are taken. The work is still the one offered: its run waits for this helper.
    work_ = nullptr;
    if (--busy_helpers_ == 0) left_.notify_one();
  }
}

}  // namespace hocket
