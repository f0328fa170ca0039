#pragma once

// Writes the events of one stream. An event that the socket takes whole is written at once, which
// allocates nothing. Only one write is under way at a time; the next one writes the newest event of
// each topic that was not written yet. Events that a slow client misses are not queued. For the I/O
// thread.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "daemon/server/server_state.h"
#include "daemon/server/stream.h"

namespace hocket {

class EventWriter final : public TopicWatcher {
 public:
  EventWriter(ServerState& state, ConnectionStream& stream,
              const std::vector<EventStream::Topic>& topics);

  /// Starts writing. Each write keeps `owner` alive, which owns this object and the stream.
  void start(std::weak_ptr<void> owner);

  /// Stops writing.
  void end();

  void moved_on() override;

  /// Sends a ping when one is due, and closes the stream if the client does not read.
  void check(std::int64_t now);

 private:
  struct Place {
    std::uint64_t seen;
    std::function<bool(const FeedEvent&)> receives;
    WatchedTopics::Membership membership;
  };

  /// Returns the topic whose newest event is to be written next; null if there is none.
  Place* next();
  void write(const std::shared_ptr<const std::string>& text);
  void written(boost::system::error_code error, std::size_t bytes);

  ServerState& state_;
  ConnectionStream& stream_;
  std::weak_ptr<void> owner_;
  std::vector<Place> places_;
  std::int64_t next_ping_ns_ = 0;
  std::int64_t write_deadline_ns_ = 0;
  bool is_writing_ = false;
};

}  // namespace hocket
