#pragma once

// Bodies that the host runs when a stream reaches them, such as the updates of a placed step. The
// driver calls them on a thread of its own, one after the other in the order of the stream; they
// must not call the driver. What a body throws is kept for the executor, and the bodies after it do
// not run.
//
// put(), error() and drop_run() are called by one thread.

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/scheduler/executor.h"

namespace hocket {

class HostTasks {
 public:
  /// `driver` must outlive this.
  explicit HostTasks(DeviceDriver& driver) : driver_(driver) {}
  /// Bodies that have not begun do not run any more; waits for the one that runs.
  ~HostTasks();
  HostTasks(const HostTasks&) = delete;
  HostTasks& operator=(const HostTasks&) = delete;

  /// Puts the body of `work` into `stream`. Takes it over if it runs only once; otherwise it must
  /// stay valid until it has run.
  Result<void> put(const ComputeWork& work, DeviceStream stream);

  /// Returns the error of the first body that threw, if any has.
  std::optional<Error> error() const;
  /// Destroys the bodies that have run.
  void drop_run();

 private:
  /// Shared with the calls that are in streams, which may come after the end of this.
  struct Shared {
    mutable std::mutex mutex;
    // Guarded by mutex:
    std::optional<Error> error;
    bool has_ended = false;
  };
  struct Task {
    TaskBody own;
    TaskBody* body = nullptr;
    std::string name;
    std::atomic<bool> has_run = false;
  };
  struct Call {
    std::shared_ptr<Shared> shared;
    std::shared_ptr<Task> task;
  };
  class Calls;
  static void run(void* call);

  DeviceDriver& driver_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::deque<std::shared_ptr<Task>> tasks_;  // in the order of the stream
};

}  // namespace hocket
