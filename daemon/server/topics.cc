#include "daemon/server/topics.h"

#include <utility>

#include "daemon/http/http_message.h"

namespace hocket {

WatchedTopics::Membership::Membership(WatchedTopics& topics, const std::string& name,
                                      TopicWatcher& watcher)
    : topics_(&topics), place_(topics.topics_.try_emplace(name).first) {
  auto& [key, topic] = *place_;
  if (topic.watchers.empty()) {
    topics.feed_.set_watched(key, true);
    topics.refresh(key, topic);
  }
  watcher_ = topic.watchers.insert(topic.watchers.end(), &watcher);
}

WatchedTopics::Membership::Membership(Membership&& other) noexcept
    : topics_(std::exchange(other.topics_, nullptr)),
      place_(other.place_),
      watcher_(other.watcher_) {}

WatchedTopics::Membership::~Membership() {
  if (topics_ == nullptr) return;
  Topic& topic = place_->second;
  topic.watchers.erase(watcher_);
  if (!topic.watchers.empty()) return;
  topics_->feed_.set_watched(place_->first, false);
  topics_->topics_.erase(place_);
}

void WatchedTopics::published(const std::string& name) {
  const auto found = topics_.find(name);
  if (found == topics_.end()) return;
  refresh(name, found->second);
  for (TopicWatcher* watcher : found->second.watchers) watcher->moved_on();
}

void WatchedTopics::refresh(const std::string& name, Topic& topic) const {
  const Feed::Position position = feed_.position(name);
  if (position.sequence == topic.sequence) return;
  topic.sequence = position.sequence;
  topic.event = position.newest;
  topic.text =
      position.newest ? std::make_shared<const std::string>(event_text(*position.newest)) : nullptr;
}

}  // namespace hocket
