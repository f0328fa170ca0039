#pragma once

// A link to a daemon that is the caller itself. Thread-safe.

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "client/link/daemon_link.h"
#include "client/link/newest_messages.h"

namespace hocket {

class LocalDaemonLink final : public DaemonLink {
 public:
  /// Puts in what the next take() gives, unless a newer message of its type comes before.
  void push(DaemonMessage message) {
    const std::lock_guard lock(mutex_);
    messages_.put(std::move(message));
  }

  std::vector<JobReport> reports() const {
    const std::lock_guard lock(mutex_);
    return reports_;
  }

  /// Returns the version of the last update().
  std::int64_t version() const {
    const std::lock_guard lock(mutex_);
    return version_;
  }

  DaemonStanding standing() const override { return {DaemonStanding::State::knows, ""}; }

  std::optional<DaemonMessage> take() override {
    const std::lock_guard lock(mutex_);
    return messages_.take();
  }

  void report(JobReport report) override {
    const std::lock_guard lock(mutex_);
    reports_.push_back(std::move(report));
  }

  void update(const ScheduleConfig&, std::int64_t version) override {
    const std::lock_guard lock(mutex_);
    version_ = version;
  }

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  NewestMessages messages_;
  std::vector<JobReport> reports_;
  std::int64_t version_ = 0;
};

}  // namespace hocket
