#pragma once

// One client connection: reads requests, answers them one after another, and becomes an event
// stream if the Service requests it. There may be ten thousand that wait for their first request or
// for an event, so while it waits a connection has neither buffers nor coroutines. For the I/O
// thread.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "daemon/http/request_parser.h"
#include "daemon/server/event_writer.h"
#include "daemon/server/server_state.h"
#include "daemon/server/stream.h"

namespace hocket {

class HttpConnection final : public std::enable_shared_from_this<HttpConnection> {
 public:
  /// Registers itself in `state.connections` for its lifetime.
  HttpConnection(ServerState& state, IoSocket socket, asio::ssl::context* tls,
                 const asio::ip::tcp::endpoint& peer);
  ~HttpConnection();

  /// Serves until either side closes. Keeps itself alive meanwhile.
  void start();

  /// Handles expired deadlines.
  void check(std::int64_t now);

  /// Stops with the server: ends waiting for the client or for an event, and lets running requests
  /// finish.
  void stop();

  void close();

 private:
  enum class Phase { idle, busy, awaiting, streaming };

  /// Starts the coroutine that serves.
  void begin();
  static IoTask<void> run(std::shared_ptr<HttpConnection> self);
  IoTask<void> serve();
  IoTask<bool> handshake();
  IoTask<void> explain_tls();
  /// Returns null if the client has left.
  std::unique_ptr<RequestParser> make_parser(const ServerLimits& limits);
  void report_foreign(const ServiceResponse& refusal);
  /// Returns false if the connection must be closed.
  IoTask<bool> read_request();
  IoTask<void> refuse(const ServiceResponse& response);
  IoTask<void> linger();

  IoTask<bool> answer(ParsedRequest parsed);
  /// Returns a ServiceResponse or an EventStream.
  IoTask<ServiceReply> handle(const ServiceRequest& request);
  IoTask<ServiceReply> ask_worker(const ServiceRequest& request, bool is_last);
  /// Returns true if the topic has a new event.
  IoTask<bool> wait_for(const AwaitEvent& await, std::int64_t timeout_ns);
  /// Makes wait_for() check its condition again.
  void wake();
  /// Returns true once the connection is a stream of events, which needs no coroutine: until the
  /// client disconnects, the reads of await_end() keep it alive.
  IoTask<bool> stream_events(EventStream events, bool is_head);
  void await_end();

  IoTask<bool> respond(const ServiceRequest& request, const ServiceResponse& response,
                       AfterResponse after, bool is_head);
  template <class Buffers>
  IoTask<bool> write(Buffers buffers);

  bool has_input();
  void expect_by(std::int64_t limit_ns) { deadline_ns_ = now_ns() + limit_ns; }

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  ServerState& state_;
  const std::list<HttpConnection*>::iterator place_;
  ConnectionStream stream_;
  const asio::ip::address peer_;
  std::unique_ptr<RequestParser> parser_;
  std::string head_;
  std::unique_ptr<EventWriter> events_;
  std::shared_ptr<const StreamHold> hold_;  // of the stream, if the service holds something
  std::int64_t deadline_ns_ = kNever;
  Phase phase_ = Phase::busy;
  bool is_stream_ = false;  // the service has opened a stream
  bool has_served_ = false;
  bool is_foreign_ = false;  // the last request was refused because of its header
  bool is_overdue_ = false;
  bool has_left_ = false;
  bool is_woken_ = false;  // woken, condition not checked yet
};

}  // namespace hocket
