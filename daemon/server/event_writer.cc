#include <utility>  // must precede Boost 1.74's awaitable.hpp

#include "daemon/http/http_message.h"
#include "daemon/server/event_writer.h"

namespace hocket {

EventWriter::EventWriter(ServerState& state, ConnectionStream& stream,
                         const std::vector<EventStream::Topic>& topics)
    : state_(state), stream_(stream) {
  places_.reserve(topics.size());
  for (const EventStream::Topic& topic : topics) {
    places_.push_back(
        {topic.seen, topic.receives, WatchedTopics::Membership(state.topics, topic.name, *this)});
  }
}

void EventWriter::start(std::weak_ptr<void> owner) {
  owner_ = std::move(owner);
  next_ping_ns_ = now_ns() + state_.options.ping_interval_ns;
  moved_on();
}

void EventWriter::end() {
  places_.clear();
}

EventWriter::Place* EventWriter::next() {
  Place* oldest = nullptr;
  for (Place& place : places_) {
    const std::uint64_t sequence = place.membership.topic().sequence;
    if (sequence <= place.seen) continue;
    if (oldest == nullptr || sequence < oldest->membership.topic().sequence) oldest = &place;
  }
  return oldest;
}

void EventWriter::moved_on() {
  while (!is_writing_) {
    Place* const place = next();
    if (place == nullptr) return;
    const WatchedTopics::Topic& topic = place->membership.topic();
    place->seen = topic.sequence;
    if (place->receives && topic.event && !place->receives(*topic.event)) continue;
    state_.counters.events.add(1);
    write(topic.text);
  }
}

void EventWriter::check(std::int64_t now) {
  if (is_writing_ && now >= write_deadline_ns_) {
    state_.counters.timeouts.add(1);
    boost::system::error_code ignored;
    stream_.socket().close(ignored);
  } else if (!is_writing_ && now >= next_ping_ns_ && !places_.empty()) {
    static const auto ping = std::make_shared<const std::string>(kPing);
    write(ping);
  }
}

void EventWriter::write(const std::shared_ptr<const std::string>& text) {
  const std::int64_t now = now_ns();
  next_ping_ns_ = now + state_.options.ping_interval_ns;
  write_deadline_ns_ = now + state_.options.limits.write_ns;
  boost::system::error_code error;
  const asio::const_buffer bytes = asio::buffer(*text);
  const std::size_t count = stream_.write_at_once(bytes, error);
  state_.counters.sent_bytes.add(count);
  const std::shared_ptr<void> owner = owner_.lock();
  if (error || !owner) {
    // The pending read then fails and ends the connection.
    boost::system::error_code ignored;
    stream_.socket().close(ignored);
  } else if (count < bytes.size()) {
    is_writing_ = true;
    asio::async_write(stream_, bytes + count,
                      [this, owner, text](boost::system::error_code failed, std::size_t rest) {
                        written(failed, rest);
                      });
  }
}

void EventWriter::written(boost::system::error_code error, std::size_t bytes) {
  is_writing_ = false;
  state_.counters.sent_bytes.add(bytes);
  if (error) {
    end();
    // The pending read then fails and ends the connection.
    boost::system::error_code ignored;
    stream_.socket().close(ignored);
    return;
  }
  moved_on();
}

}  // namespace hocket
