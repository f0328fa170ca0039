#pragma once

// Tells pages that something has changed: an event at most once a second, with a number each for
// the running jobs and for the store. Costs nothing while nobody listens. Thread-safe.

#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "daemon/http/feed.h"
#include "daemon/live/job_registry.h"
#include "store/store.h"

namespace hocket {

class ChangePublisher {
 public:
  static constexpr std::string_view kTopic = "changes";

  /// The parts must outlive this object. `page` is the version of the page.
  ChangePublisher(Store& store, Feed& feed, const JobRegistry& jobs, std::string_view page);

  /// Publishes an event if a number differs from that of the last event.
  void look();

  /// Starts a thread that looks every second while the topic is watched; it ends with this object.
  void start();

 private:
  void run(const std::stop_token& stop);

  Store& store_;
  Feed& feed_;
  const JobRegistry& jobs_;
  const std::string page_;
  std::mutex mutex_;
  // Guarded by mutex_:
  std::uint64_t jobs_seen_ = 0;
  std::int64_t store_seen_ = 0;
  bool has_looked_ = false;
  std::jthread thread_;
};

}  // namespace hocket
