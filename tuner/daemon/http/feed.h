#pragma once

// The newest event of each topic, for those who watch. Older ones are dropped: who comes late or
// reads slowly wants what holds now. Thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hocket {

struct Event {
  /// What a client names as the last it has seen; none: it will not name this one.
  std::optional<std::int64_t> id = {};
  std::string type = {};  ///< "config", "candidate", "profile"
  std::string data = {};  ///< one line
};

class Feed {
 public:
  struct Position {
    /// Rises with each event of the topic; 0: there was none.
    std::uint64_t sequence = 0;
    std::shared_ptr<const Event> newest = {};
  };

  void publish(const std::string& topic, Event event);

  /// Drops the topic; those who wait for it are not told.
  void forget(const std::string& topic);

  Position position(const std::string& topic) const;

  /// `listener` is called after each publish with the topic, by the thread that published, without
  /// a lock of the feed; empty: nobody. At most one.
  void listen(std::function<void(const std::string& topic)> listener);

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::uint64_t sequence_ = 0;  // of all topics, so that a topic that is forgotten never goes back
  std::unordered_map<std::string, Position> topics_;
  std::shared_ptr<const std::function<void(const std::string&)>> listener_;
};

}  // namespace hocket
