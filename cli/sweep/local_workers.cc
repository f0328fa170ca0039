#include "cli/sweep/local_workers.h"

#include <unistd.h>

#include "tuner/archive/owner.h"
#include "tuner/workers/waiting.h"
#include "tuner/workers/worker.h"

namespace hocket {
namespace {

/// What they do is shown by the study's owner.
class SilentWorker final : public WorkerObserver {
 public:
  void trial_started(const TrialRow&) override {}
  void trial_ended(const TrialRow&, const TrialOutcome&, bool) override {}
};

}  // namespace

std::string own_worker_name(std::optional<std::int64_t> number) {
  std::string name = this_host().name + ":" + std::to_string(getpid());
  if (number) name += ":" + std::to_string(*number);
  return name;
}

LocalWorkers::LocalWorkers(Store& store, const StudyRow& study, std::int64_t count,
                           const Clock& clock) {
  for (std::int64_t number = 0; number < count; ++number) {
    threads_.emplace_back([this, &store, &clock, number, id = study.id] {
      SilentWorker observer;
      const WorkerOptions options{
          .study = std::to_string(id), .name = own_worker_name(number), .host = this_host().name};
      const auto end =
          run_worker(store, options,
                     command_runners(clock, cancel_, {{"HOCKET_WORKER", std::to_string(number)}}),
                     observer, clock, cancel_, wait_unless_cancelled(cancel_));
      if (end) return;
      std::lock_guard lock(mutex_);
      if (!error_) error_ = end.error();
    });
  }
}

LocalWorkers::~LocalWorkers() {
  cancel_.cancel();
  for (std::thread& thread : threads_) thread.join();
}

Result<void> LocalWorkers::check() const {
  std::lock_guard lock(mutex_);
  if (error_) return failure(*error_);
  return {};
}

}  // namespace hocket
