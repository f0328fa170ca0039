#pragma once

// Publish/subscribe with only the newest event of each topic. Older events are dropped, because a
// late or slow subscriber needs only the current state. Thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/step/schedule_config.h"

namespace hocket {

struct FeedEvent {
  /// Id by which a client names the last event it has seen; empty if clients do not name this one.
  std::optional<std::int64_t> id = {};
  std::string type = {};  ///< "config", "candidate", "profile"
  std::string data = {};  ///< one line
  /// Configuration of a "config" event; null in other events.
  std::shared_ptr<const ScheduleConfig> config = {};
};

class Feed {
 public:
  struct Position {
    /// Increases with each event of the topic; 0 if there was none.
    std::uint64_t sequence = 0;
    std::shared_ptr<const FeedEvent> newest = {};
  };

  void publish(const std::string& topic, FeedEvent event);

  /// Removes the topic; its watchers are not notified.
  void forget(const std::string& topic);

  Position position(const std::string& topic) const;

  /// Notes that the topic has watchers, or none any more. A watched topic should not be forgotten.
  void set_watched(const std::string& topic, bool is_watched);
  bool is_watched(const std::string& topic) const;

  /// Sets the function called after each publish with the topic, on the publishing thread and
  /// without holding the feed's lock. Replaces the previous one; an empty function removes it.
  void listen(std::function<void(const std::string& topic)> listener);

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  // Shared by all topics, so that the sequence of a forgotten topic never goes back.
  std::uint64_t sequence_ = 0;
  std::unordered_map<std::string, Position> topics_;
  std::unordered_set<std::string> watched_;
  std::shared_ptr<const std::function<void(const std::string&)>> listener_;
};

}  // namespace hocket
