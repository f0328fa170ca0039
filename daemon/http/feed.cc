#include "daemon/http/feed.h"

#include <utility>

namespace hocket {

void Feed::publish(const std::string& topic, FeedEvent event) {
  auto shared = std::make_shared<const FeedEvent>(std::move(event));
  std::shared_ptr<const std::function<void(const std::string&)>> listener;
  {
    std::lock_guard lock(mutex_);
    topics_[topic] = {++sequence_, std::move(shared)};
    listener = listener_;
  }
  if (listener && *listener) (*listener)(topic);
}

void Feed::forget(const std::string& topic) {
  std::lock_guard lock(mutex_);
  topics_.erase(topic);
}

Feed::Position Feed::position(const std::string& topic) const {
  std::lock_guard lock(mutex_);
  const auto found = topics_.find(topic);
  return found == topics_.end() ? Position{} : found->second;
}

void Feed::set_watched(const std::string& topic, bool is_watched) {
  std::lock_guard lock(mutex_);
  if (is_watched) {
    watched_.insert(topic);
  } else {
    watched_.erase(topic);
  }
}

bool Feed::is_watched(const std::string& topic) const {
  std::lock_guard lock(mutex_);
  return watched_.contains(topic);
}

void Feed::listen(std::function<void(const std::string& topic)> listener) {
  auto shared =
      std::make_shared<const std::function<void(const std::string&)>>(std::move(listener));
  std::lock_guard lock(mutex_);
  listener_ = std::move(shared);
}

}  // namespace hocket
