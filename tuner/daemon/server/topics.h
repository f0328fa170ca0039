#pragma once

// Who waits for which topic of a Feed, and the newest event of each of them, formatted once for
// all. For the thread of input and output.

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "tuner/daemon/http/feed.h"

namespace hocket {

class Watcher {
 public:
  virtual ~Watcher() = default;
  /// A topic has moved on. Must neither join nor leave a topic.
  virtual void moved_on() = 0;
};

class Topics {
 public:
  struct Topic {
    std::uint64_t sequence = 0;
    std::shared_ptr<const std::string> text = {};  ///< of the newest event; null: there was none
    std::list<Watcher*> watchers = {};
  };

  /// A watcher's place in a topic, which it leaves at the end of this object.
  class Membership {
   public:
    Membership() = default;
    Membership(Topics& topics, const std::string& name, Watcher& watcher);
    Membership(Membership&& other) noexcept;
    Membership& operator=(Membership&&) = delete;
    ~Membership();

    const Topic& topic() const { return place_->second; }

   private:
    using Map = std::unordered_map<std::string, Topic>;
    Topics* topics_ = nullptr;
    Map::iterator place_ = {};
    std::list<Watcher*>::iterator watcher_ = {};
  };

  explicit Topics(const Feed& feed) : feed_(feed) {}

  /// The feed has published something there: tells its watchers.
  void published(const std::string& name);

 private:
  void refresh(const std::string& name, Topic& topic) const;

  const Feed& feed_;
  std::unordered_map<std::string, Topic> topics_;  // those that are watched
};

}  // namespace hocket
