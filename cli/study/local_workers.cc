#include "cli/study/local_workers.h"

#include <unistd.h>

#include "archive/studies/owner.h"
#include "archive/workers/store_trial_source.h"
#include "archive/workers/waiting.h"
#include "archive/workers/worker.h"

namespace hocket {
namespace {

/// Tells the study's owner, which shows the progress, when a trial has ended.
class RingingWorker final : public WorkerObserver {
 public:
  explicit RingingWorker(Bell& for_owner) : for_owner_(for_owner) {}

  void trial_started(const Trial&) override {}
  void trial_ended(const Trial&, bool) override { for_owner_.ring(); }

 private:
  Bell& for_owner_;
};

}  // namespace

std::string own_worker_name(std::optional<std::int64_t> number) {
  std::string name = this_host().name + ":" + std::to_string(getpid());
  if (number) name += ":" + std::to_string(*number);
  return name;
}

std::string worker_label(std::string_view host, std::string_view place) {
  std::string label(host);
  label.append("-").append(place);
  for (char& c : label) {
    const bool is_safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!is_safe) c = '-';
  }
  return label;
}

LocalWorkers::LocalWorkers(Store& store, const StudyRow& study, std::int64_t count,
                           const Clock& clock, Bell& for_owner, StudyTime* time) {
  for (std::int64_t number = 0; number < count; ++number) {
    Bell& bell = bells_.emplace_back();
    threads_.emplace_back([this, &store, &clock, &for_owner, &bell, time, number, id = study.id] {
      RingingWorker observer(for_owner);
      StoreTrialSource source(store);
      const WorkerOptions options{
          .study = std::to_string(id), .name = own_worker_name(number), .host = this_host().name};
      auto runners =
          command_runners(clock, cancel_, {{"HOCKET_WORKER", std::to_string(number)}},
                          worker_label(this_host().name, std::to_string(number)), time_left(time));
      const auto end = run_worker(source, options, timed_runners(std::move(runners), time),
                                  observer, clock, cancel_, bell.wait_unless_cancelled(cancel_));
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

void LocalWorkers::wake() {
  for (Bell& bell : bells_) bell.ring();
}

Result<void> LocalWorkers::check() const {
  std::lock_guard lock(mutex_);
  if (error_) return failure(*error_);
  return {};
}

}  // namespace hocket
