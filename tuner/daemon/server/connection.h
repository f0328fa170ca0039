#pragma once

// One connection of a client: reads requests, has them answered one after another, and becomes a
// stream of events when the Service says so. For the thread of input and output.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "tuner/daemon/http/request_parser.h"
#include "tuner/daemon/server/event_writer.h"
#include "tuner/daemon/server/server_state.h"
#include "tuner/daemon/server/stream.h"

namespace hocket {

class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  /// Is in `state.connections` while it lives.
  Connection(ServerState& state, IoSocket socket, asio::ssl::context* tls,
             const asio::ip::tcp::endpoint& peer);
  ~Connection();

  /// Serves until either side closes; keeps itself alive.
  void start();

  /// Acts on what is overdue.
  void check(std::int64_t now);

  /// The server stops: ends what waits for the client or for an event, lets the rest finish.
  void stop();

  void close();

 private:
  enum class Phase { idle, busy, awaiting, streaming };

  static IoTask<void> run(std::shared_ptr<Connection> self);
  IoTask<void> serve();
  IoTask<bool> handshake();
  /// False when the connection is to be closed.
  IoTask<bool> read_request();
  IoTask<void> refuse(const Response& response);
  IoTask<void> linger();

  IoTask<bool> answer(ParsedRequest parsed);
  IoTask<Reply> handle(const Request& request);
  IoTask<Reply> ask_worker(const Request& request, bool is_last);
  /// True when the topic has moved on.
  IoTask<bool> wait_for(const Await& await, std::int64_t timeout_ns);
  /// Makes wait_for() look again whether it is over.
  void wake();
  IoTask<void> stream_events(EventStream events, bool is_head);

  IoTask<bool> respond(const Request& request, const Response& response, AfterResponse after,
                       bool is_head);
  template <class Buffers>
  IoTask<bool> write(Buffers buffers);

  bool has_input();
  void expect_by(std::int64_t limit_ns) { deadline_ns_ = now_ns() + limit_ns; }

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  ServerState& state_;
  const std::list<Connection*>::iterator place_;
  Stream stream_;
  const asio::ip::address peer_;
  std::unique_ptr<RequestParser> parser_;
  std::string head_;
  std::unique_ptr<EventWriter> events_;
  std::int64_t deadline_ns_ = kNever;
  Phase phase_ = Phase::busy;
  bool has_served_ = false;
  bool is_overdue_ = false;
  bool has_left_ = false;
  bool is_woken_ = false;  // and has not looked yet
};

}  // namespace hocket
