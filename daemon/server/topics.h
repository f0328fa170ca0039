#pragma once

// Watchers of the topics of a Feed, and the newest event of each watched topic, formatted once for
// all watchers. Tells the feed which topics are watched. For the I/O thread.

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "daemon/http/feed.h"

namespace hocket {

class TopicWatcher {
 public:
  virtual ~TopicWatcher() = default;
  /// Called when a topic has a new event. Must neither join nor leave a topic.
  virtual void moved_on() = 0;
};

class WatchedTopics {
 public:
  struct Topic {
    std::uint64_t sequence = 0;
    /// text of the newest event; null if there was none
    std::shared_ptr<const std::string> text = {};
    std::shared_ptr<const FeedEvent> event = {};  ///< event that `text` shows
    std::list<TopicWatcher*> watchers = {};
  };

  /// A watcher's membership of a topic; ends with this object.
  class Membership {
   public:
    Membership() = default;
    Membership(WatchedTopics& topics, const std::string& name, TopicWatcher& watcher);
    Membership(Membership&& other) noexcept;
    Membership& operator=(Membership&&) = delete;
    ~Membership();

    const Topic& topic() const { return place_->second; }

   private:
    using Map = std::unordered_map<std::string, Topic>;
    WatchedTopics* topics_ = nullptr;
    Map::iterator place_ = {};
    std::list<TopicWatcher*>::iterator watcher_ = {};
  };

  explicit WatchedTopics(Feed& feed) : feed_(feed) {}

  /// Notifies the watchers of a topic in which the feed has published an event.
  void published(const std::string& name);

 private:
  void refresh(const std::string& name, Topic& topic) const;

  Feed& feed_;
  // Only topics that are watched.
  std::unordered_map<std::string, Topic> topics_;
};

}  // namespace hocket
