#include "daemon/api/changes.h"

#include <condition_variable>
#include <nlohmann/json.hpp>

namespace hocket {

ChangePublisher::ChangePublisher(Store& store, Feed& feed, const JobRegistry& jobs,
                                 std::string_view page)
    : store_(store), feed_(feed), jobs_(jobs), page_(page) {}

void ChangePublisher::look() {
  // While the store cannot be read, its number stays.
  const auto count = store_.change_count();
  const std::lock_guard lock(mutex_);
  const std::uint64_t jobs = jobs_.revision();
  const std::int64_t store = count ? *count : store_seen_;
  if (has_looked_ && jobs == jobs_seen_ && store == store_seen_) return;
  has_looked_ = true;
  jobs_seen_ = jobs;
  store_seen_ = store;
  const nlohmann::json data = {{"page", page_}, {"jobs", jobs}, {"store", store}};
  feed_.publish(std::string(kTopic), {.type = "changes", .data = data.dump()});
}

void ChangePublisher::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void ChangePublisher::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    stopped.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
    if (feed_.is_watched(std::string(kTopic))) look();
  }
}

}  // namespace hocket
