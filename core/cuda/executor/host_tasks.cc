#include "core/cuda/executor/host_tasks.h"

#include <exception>
#include <unordered_map>
#include <utility>

namespace hocket {

/// The calls that are in streams. Those of a device that has failed never come.
class HostTasks::Calls {
 public:
  static Calls& all() {
    // Never destroyed: a call may come at exit.
    static Calls& calls = *new Calls;
    return calls;
  }

  Call* add(Call call) {
    auto added = std::make_unique<Call>(std::move(call));
    Call* const address = added.get();
    const std::lock_guard lock(mutex_);
    calls_.emplace(address, std::move(added));
    return address;
  }
  std::unique_ptr<Call> take(Call* call) {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(call);
    std::unique_ptr<Call> taken = std::move(found->second);
    calls_.erase(found);
    return taken;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Call*, std::unique_ptr<Call>> calls_;
};

HostTasks::~HostTasks() {
  std::lock_guard lock(shared_->mutex);
  shared_->has_ended = true;
}

Result<void> HostTasks::put(const ComputeWork& work, DeviceStream stream) {
  auto task = std::make_shared<Task>();
  task->name = *work.name;
  if (work.once) task->own = std::move(*work.body);
  task->body = work.once ? &task->own : work.body;
  Call* const call = Calls::all().add({shared_, task});
  const auto put = driver_.run_on_host(stream, &HostTasks::run, call);
  if (!put) {
    Calls::all().take(call);
    return put;
  }
  tasks_.push_back(std::move(task));
  return {};
}

void HostTasks::run(void* argument) {
  const std::unique_ptr<Call> call = Calls::all().take(static_cast<Call*>(argument));
  Shared& shared = *call->shared;
  // Held while the body runs, so that the end waits for it; only bodies contend for it, which the
  // stream runs one by one, and looks at the error.
  std::lock_guard lock(shared.mutex);
  if (!shared.has_ended && !shared.error) {
    try {
      (*call->task->body)();
    } catch (const std::exception& e) {
      shared.error =
          Error{ErrorCode::unavailable, "task \"" + call->task->name + "\" threw: " + e.what()};
    }
  }
  call->task->has_run = true;
}

std::optional<Error> HostTasks::error() const {
  // A body that runs holds the lock; whether it throws is known at the next look.
  const std::unique_lock lock(shared_->mutex, std::try_to_lock);
  return lock ? shared_->error : std::nullopt;
}

void HostTasks::drop_run() {
  while (!tasks_.empty() && tasks_.front()->has_run) tasks_.pop_front();
}

}  // namespace hocket
