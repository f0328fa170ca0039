#pragma once

// Threads that carry out the units of a kernel together, at the memory's bandwidth where the caches
// are too small: updates on the host beside a device (ZeRO-Offload, USENIX ATC 2021, section 5.1).
//
// Any thread may call it; kernels that come at the same time run one after the other.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/result.h"
#include "kernels/kernel.h"

namespace hocket {

/// Returns the number of hardware threads that this process may use.
int usable_hardware_threads();

class UnitThreads {
 public:
  /// The calling thread of run() is one of the `threads`, at least 1; the others are started here
  /// and sleep between runs.
  explicit UnitThreads(int threads = usable_hardware_threads());
  ~UnitThreads();
  UnitThreads(const UnitThreads&) = delete;
  UnitThreads& operator=(const UnitThreads&) = delete;

  int threads() const { return static_cast<int>(helpers_.size()) + 1; }

  /// Runs all units in ranges, as many at the same time as there are threads. The first error, when
  /// all that had begun have ended.
  Result<void> run(std::int64_t units, const std::function<Result<void>(UnitRange)>& run);

 private:
  class Work;

  void help();
  /// Lets up to `helpers` threads take part in `work`.
  void offer(Work& work, std::size_t helpers);
  /// Blocks until no helper takes part in the work offered, and none will.
  void withdraw();

  std::mutex one_run_;

  std::mutex mutex_;
  // guarded by mutex_
  Work* work_ = nullptr;  ///< null: there is nothing to join
  std::size_t busy_helpers_ = 0;
  bool ending_ = false;

  std::condition_variable offered_, left_;
  std::vector<std::jthread> helpers_;
};

}  // namespace hocket
