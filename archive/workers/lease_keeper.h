#pragma once

// Renews the lease of a worker while it runs a trial, in a thread of its own.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "archive/workers/trial_source.h"

namespace hocket {

class LeaseKeeper {
 public:
  /// `source` must outlive this, which alone calls its renew(). Renews every third of the lease;
  /// more often while the store cannot be reached.
  LeaseKeeper(TrialSource& source, std::int64_t study_id, NewClaim claim);
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

 private:
  void run();

  TrialSource& source_;
  const std::int64_t study_id_;
  const NewClaim claim_;
  std::mutex mutex_;
  std::condition_variable ended_changed_;
  bool is_ended_ = false;  ///< guarded by mutex_
  std::thread thread_;     ///< last, since it uses the others
};

}  // namespace hocket
