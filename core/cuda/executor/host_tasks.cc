#include "core/cuda/executor/host_tasks.h"

#include <exception>
#include <utility>

namespace hocket {

HostTasks::~HostTasks() {
  std::lock_guard lock(shared_->mutex);
  shared_->has_ended = true;
}

Result<void> HostTasks::put(const ComputeWork& work, DeviceStream stream) {
  auto task = std::make_shared<Task>();
  task->name = *work.name;
  if (work.once) task->own = std::move(*work.body);
  task->body = work.once ? &task->own : work.body;
  auto call = std::make_unique<Call>(Call{shared_, task});
  HOCKET_TRY(driver_.run_on_host(stream, &HostTasks::run, call.get()));
  static_cast<void>(call.release());  // the stream has it
  tasks_.push_back(std::move(task));
  return {};
}

void HostTasks::run(void* argument) {
  const std::unique_ptr<Call> call(static_cast<Call*>(argument));
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
