#pragma once

// The events of one stream: one write at a time, and then the newest of each topic that is newer
// than what was written. What a slow client misses is never kept. For the thread of input and
// output.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tuner/daemon/server/server_state.h"
#include "tuner/daemon/server/stream.h"

namespace hocket {

class EventWriter final : public Watcher {
 public:
  EventWriter(ServerState& state, Stream& stream, const std::vector<EventStream::Topic>& topics);

  /// Begins, with `owner` kept alive by each write: it owns this object and the stream.
  void start(std::weak_ptr<void> owner);

  /// Writes nothing more.
  void end();

  void moved_on() override;

  /// Sends a ping when one is due, and closes a stream whose client does not read.
  void check(std::int64_t now);

 private:
  struct Place {
    std::uint64_t seen;
    Topics::Membership membership;
  };

  void write(std::shared_ptr<const std::string> text);
  void written(boost::system::error_code error, std::size_t bytes);

  ServerState& state_;
  Stream& stream_;
  std::weak_ptr<void> owner_;
  std::vector<Place> places_;
  std::int64_t next_ping_ns_ = 0;
  std::int64_t write_deadline_ns_ = 0;
  bool is_writing_ = false;
};

}  // namespace hocket
