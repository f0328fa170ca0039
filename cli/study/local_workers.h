#pragma once

// Workers of a study in threads of this process. Each has its number, from 0, in the environment
// variable HOCKET_WORKER of its trials, so that a command can use devices or processors of its own,
// and a label, {WORKER}, that no worker elsewhere has.

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "archive/workers/bell.h"
#include "cli/study/study_time.h"
#include "core/base/clock.h"
#include "core/base/result.h"
#include "store/store.h"
#include "tuner/trial/cancel.h"

namespace hocket {

/// Returns a name for a worker in this process: "HOST:PID", with ":NUMBER" if it is one of several.
std::string own_worker_name(std::optional<std::int64_t> number = {});

/// Returns a name of a worker for names of files: letters, digits, ".", "_" and "-". `place` tells
/// the workers of a host apart.
std::string worker_label(std::string_view host, std::string_view place);

class LocalWorkers {
 public:
  /// Starts `count` workers, which ring for the study's owner when a trial has ended. The store,
  /// the clock, the bell and `time`, which may be null, must outlive this.
  LocalWorkers(Store& store, const StudyRow& study, std::int64_t count, const Clock& clock,
               Bell& for_owner, StudyTime* time = nullptr);
  /// Stops them; running trials go back.
  ~LocalWorkers();
  LocalWorkers(const LocalWorkers&) = delete;
  LocalWorkers& operator=(const LocalWorkers&) = delete;

  /// Lets those that wait for a trial look at once whether there is one.
  void wake();

  /// Returns the error with which one of them ended, if one did.
  Result<void> check() const;

 private:
  CancelToken cancel_;
  mutable std::mutex mutex_;
  std::optional<Error> error_;  ///< the first; guarded by mutex_
  std::deque<Bell> bells_;      ///< one for each worker
  std::vector<std::thread> threads_;
};

}  // namespace hocket
