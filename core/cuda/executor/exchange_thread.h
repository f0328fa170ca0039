#pragma once

// A thread that puts parts of collectives into their streams, one at a time, for a thread that must
// not wait for that: a library of collectives may take long to begin one. NCCL starts a thread for
// each collective of a communicator that does not block, and the caller waits for that thread.
//
// Another thread, the owner, calls all functions. Only the exchange itself runs on this thread:
// the owner has made the stream wait before, and records its event after.

#include <atomic>
#include <optional>
#include <thread>

#include "core/base/result.h"
#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/driver/device_driver.h"
#include "core/scheduler/executor.h"
#include "core/trace/task_marker.h"

namespace hocket {

class ExchangeThread {
 public:
  /// `marker` may be null; the others must outlive the thread.
  ExchangeThread(DeviceDriver& driver, DeviceGroups& groups, TaskMarker* marker);
  /// Waits for the exchange in hand. If that waits for another rank, DeviceGroups::abort() ends it.
  ~ExchangeThread();
  ExchangeThread(const ExchangeThread&) = delete;
  ExchangeThread& operator=(const ExchangeThread&) = delete;

  /// Begins to put `part` into `stream`. Requires that the result of the part before was taken.
  void begin(const PartWork& part, int channel, DeviceStream stream);
  /// Returns the result once the part is in its stream; nothing before. Requires a part in hand.
  std::optional<Result<void>> take_result();
  /// Blocks until no exchange is under way. Its result remains to be taken.
  void wait();

 private:
  /// The owner begins a part (idle to asked), takes its result (done to idle) and ends the thread
  /// (idle or done to ended); the thread answers (asked to done).
  enum class State : int { idle, asked, done, ended };

  void run();
  void tell(State state);

  DeviceDriver& driver_;
  DeviceGroups& groups_;
  TaskMarker* const marker_;
  std::atomic<State> state_ = State::idle;
  // Written by the owner before asked:
  PartWork part_;
  int channel_ = 0;
  DeviceStream stream_;
  // Written by the thread before done:
  Result<void> result_;
  std::jthread thread_;
};

}  // namespace hocket
