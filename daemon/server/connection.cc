#include "daemon/server/connection.h"

#include <algorithm>
#include <array>
#include <functional>

#include "daemon/http/http_message.h"

namespace hocket {
namespace {

using boost::system::error_code;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::int64_t kLingerNs = 2'000'000'000;
constexpr std::int64_t kDayNs = 86'400'000'000'000;
constexpr std::size_t kLingerBytes = 4 << 20;
// Maximum bytes read while a request is waiting.
constexpr std::size_t kFollowingBytes = 64 << 10;

/// Calls `ring` when a topic has a new event.
class Alarm final : public TopicWatcher {
 public:
  Alarm(WatchedTopics& topics, const AwaitEvent& await, std::function<void()> ring)
      : seen_(await.seen), ring_(std::move(ring)), membership_(topics, await.topic, *this) {}

  bool has_moved_on() const { return membership_.topic().sequence > seen_; }
  void moved_on() override {
    if (has_moved_on()) ring_();
  }

 private:
  std::uint64_t seen_;
  std::function<void()> ring_;
  WatchedTopics::Membership membership_;
};

ServiceResponse plain_at_tls() {
  return error_response(400, "this port speaks TLS: ask with https:// in place of http://");
}

IpBytes bytes_of(const asio::ip::address& address) {
  if (address.is_v6()) return address.to_v6().to_bytes();
  return make_address_v6(asio::ip::v4_mapped, address.to_v4()).to_bytes();
}

/// Returns the result of `call`, or an error response if it throws.
template <class Result, class Call>
Result contained(const ServerState& state, ErrorOrigin where, const ServiceRequest& request,
                 Call call) {
  Result result;
  const auto error = state.errors.contain(
      where, {{"method", request.method}, {"target", request.target}}, [&] { result = call(); });
  if (error) result = error_response(500, "the daemon failed to answer; its log says why");
  return result;
}

}  // namespace

HttpConnection::HttpConnection(ServerState& state, IoSocket socket, asio::ssl::context* tls,
                               const asio::ip::tcp::endpoint& peer)
    : state_(state),
      place_(state.connections.insert(state.connections.end(), this)),
      stream_(std::move(socket), tls),
      peer_(peer.address()) {
  state_.counters.connections.add(1);
  state_.counters.open_connections.add(1);
}

HttpConnection::~HttpConnection() {
  events_.reset();
  if (is_stream_) state_.counters.open_streams.subtract(1);
  hold_.reset();
  state_.counters.open_connections.subtract(1);
  state_.connections.erase(place_);
  state_.on_left();
}

void HttpConnection::start() {
  if (stream_.is_tls()) return begin();
  expect_by(state_.options.limits.request_ns);
  phase_ = Phase::idle;
  stream_.socket().async_wait(asio::socket_base::wait_read,
                              [self = shared_from_this()](error_code error) {
                                if (!error && !self->is_overdue_) self->begin();
                              });
  if (state_.stopping) stop();
}

void HttpConnection::begin() {
  asio::co_spawn(state_.io.get_executor(), run(shared_from_this()), asio::detached);
}

IoTask<void> HttpConnection::run(std::shared_ptr<HttpConnection> self) {
  try {
    co_await self->serve();
  } catch (...) {
    self->state_.errors.caught(ErrorOrigin::connection, {});
    self->phase_ = Phase::busy;
  }
  if (self->phase_ != Phase::streaming) self->close();
}

void HttpConnection::close() {
  error_code ignored;
  stream_.socket().close(ignored);
}

void HttpConnection::check(std::int64_t now) {
  if (events_ && hold_ && hold_->is_over()) close();
  if (events_) events_->check(now);
  if (is_woken_) wake();  // TLS had finished one read of a record and started the next
  if (now < deadline_ns_) return;
  deadline_ns_ = kNever;
  is_overdue_ = true;
  if (phase_ != Phase::idle) state_.counters.timeouts.add(1);
  error_code ignored;
  stream_.socket().cancel(ignored);
}

void HttpConnection::stop() {
  wake();
  if (phase_ == Phase::streaming || (phase_ == Phase::idle && !has_input())) close();
}

bool HttpConnection::has_input() {
  error_code error;
  return stream_.socket().available(error) > 0 && !error;
}

IoTask<void> HttpConnection::serve() {
  if (stream_.is_tls() && !co_await handshake()) co_return;
  const ServerLimits& limits = state_.options.limits;
  parser_ = make_parser(limits);
  if (!parser_) co_return;
  while (co_await read_request()) {
    if (!co_await answer(parser_->take())) co_return;
    has_served_ = true;
  }
}

// Not part of serve(), whose variables stay in memory as long as the connection.
std::unique_ptr<RequestParser> HttpConnection::make_parser(const ServerLimits& limits) {
  error_code error;
  const auto local = stream_.socket().local_endpoint(error);
  if (error) return nullptr;  // the client has left
  const ServedAs served{bytes_of(local.address()), local.port(), stream_.is_tls()};
  return std::make_unique<RequestParser>(
      limits.header_bytes, limits.body_bytes, [this, served](const RequestHead& head) {
        auto refusal = refuse_origin(head, served, state_.options.names);
        if (refusal) report_foreign(*refusal);
        return refusal;
      });
}

void HttpConnection::report_foreign(const ServiceResponse& refusal) {
  is_foreign_ = true;
  state_.counters.foreign.add(1);
  state_.warn_of("refused a request for its host, origin or type", peer_.to_string(),
                 {"status", std::int64_t{refusal.status}});
}

IoTask<bool> HttpConnection::handshake() {
  expect_by(state_.options.limits.request_ns);
  error_code error;
  co_await stream_.async_handshake(into(error));
  if (!error && !is_overdue_) co_return true;
  state_.counters.failed_handshakes.add(1);
  // Whoever only looks whether the port is open closes it without a word.
  if (error != asio::error::eof && error != asio::ssl::error::stream_truncated) {
    const std::string why = is_overdue_ ? "it was not whole in time" : error.message();
    state_.warn_of("a TLS handshake failed", peer_.to_string(), {"error", why});
  }
  if (ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST &&
      error.category() == asio::error::get_ssl_category()) {
    co_await explain_tls();
  }
  co_return false;
}

// A client that speaks HTTP without TLS sees only a closed connection otherwise.
IoTask<void> HttpConnection::explain_tls() {
  write_head(plain_at_tls(), AfterResponse::close, state_.date(), head_);
  head_ += *plain_at_tls().body;
  error_code error;
  expect_by(state_.options.limits.write_ns);
  co_await asio::async_write(stream_.socket(), asio::buffer(head_), into(error));
  stream_.socket().shutdown(asio::socket_base::shutdown_send, error);
  // The rest of its request, unread, would reset the connection before the client has read this.
  for (std::size_t dropped = 0; !error && !is_overdue_ && dropped < kLingerBytes;)
    dropped +=
        co_await stream_.socket().async_read_some(asio::buffer(state_.discarded), into(error));
}

IoTask<bool> HttpConnection::read_request() {
  const ServerLimits& limits = state_.options.limits;
  expect_by(has_served_ ? limits.idle_ns : limits.request_ns);
  bool has_begun = false;
  for (;;) {
    const RequestParser::State state = parser_->next();
    if (state == RequestParser::State::complete) break;
    if (state == RequestParser::State::refused) {
      if (!is_foreign_) state_.counters.malformed.add(1);
      co_await refuse(parser_->refusal());
      co_return false;
    }
    if (state == RequestParser::State::needs_continue) {
      if (!co_await write(asio::buffer(kContinue))) co_return false;
      expect_by(limits.request_ns);
      continue;
    }
    if (!has_begun && parser_->is_within_request()) {
      has_begun = true;
      expect_by(limits.request_ns);
    }
    if (!has_begun && state_.stopping && !has_input()) co_return false;
    phase_ = has_begun ? Phase::busy : Phase::idle;
    error_code error;
    const auto space = parser_->space();
    const std::size_t bytes =
        co_await stream_.async_read_some(asio::buffer(space.data(), space.size()), into(error));
    state_.counters.received_bytes.add(bytes);
    if (is_overdue_ && has_begun) {
      const ServiceResponse response = error_response(408, "the request was not whole in time");
      co_await refuse(response);
    }
    if (error || is_overdue_) co_return false;
    parser_->received(bytes);
  }
  deadline_ns_ = kNever;
  phase_ = Phase::busy;
  co_return true;
}

IoTask<void> HttpConnection::refuse(const ServiceResponse& response) {
  is_overdue_ = false;
  const ServiceRequest unknown = {};
  co_await respond(unknown, response, AfterResponse::close, false);
  co_await linger();
}

// Reads and discards input before closing. Closing while the client still sends would reset the
// connection, and the client would never read the reason for the refusal.
IoTask<void> HttpConnection::linger() {
  error_code error;
  stream_.socket().shutdown(asio::socket_base::shutdown_send, error);
  expect_by(std::min(kLingerNs, state_.options.limits.request_ns));
  for (std::size_t dropped = 0; !error && !is_overdue_ && dropped < kLingerBytes;) {
    const auto space = parser_->space();
    const auto buffer = asio::buffer(space.data(), space.size());
    dropped += co_await stream_.async_read_some(buffer, into(error));
  }
}

IoTask<bool> HttpConnection::answer(ParsedRequest parsed) {
  ServiceRequest& request = parsed.request;
  request.peer = peer_.to_string();
  if (const std::int64_t wait_ns = state_.wait_ns(peer_); wait_ns > 0) {
    state_.counters.rate_limited.add(1);
    ServiceResponse response = error_response(429, "too many requests; wait before the next");
    response.retry_after_seconds = static_cast<int>(wait_ns / 1'000'000'000 + 1);
    co_return co_await respond(request, response, parsed.after, parsed.is_head);
  }
  auto at_once = contained<std::optional<ServiceReply>>(state_, ErrorOrigin::handler, request, [&] {
    return state_.service.answer_at_once(request);
  });
  ServiceReply reply;
  if (at_once) {
    reply = std::move(*at_once);
  } else {
    reply = co_await handle(request);
  }
  if (auto* events = std::get_if<EventStream>(&reply)) {
    if (co_await stream_events(std::move(*events), parsed.is_head)) phase_ = Phase::streaming;
    co_return false;
  }
  if (has_left_) co_return false;
  co_return co_await respond(request, std::get<ServiceResponse>(reply), parsed.after,
                             parsed.is_head);
}

IoTask<ServiceReply> HttpConnection::handle(const ServiceRequest& request) {
  ServiceReply reply = co_await ask_worker(request, false);
  std::int64_t until_ns = kNever;  // applies to all repetitions
  bool is_last = false;
  while (!has_left_ && !is_last) {
    const auto* await = std::get_if<AwaitEvent>(&reply);
    if (await == nullptr) co_return reply;
    const std::int64_t now = now_ns();
    until_ns = std::min(until_ns, now + std::clamp<std::int64_t>(await->timeout_ns, 0, kDayNs));
    is_last = !co_await wait_for(*await, until_ns - now);
    if (!has_left_) reply = co_await ask_worker(request, is_last);
  }
  if (std::holds_alternative<AwaitEvent>(reply)) {
    reply = error_response(500, "the daemon did not answer in time");
  }
  co_return reply;
}

IoTask<ServiceReply> HttpConnection::ask_worker(const ServiceRequest& request, bool is_last) {
  const asio::use_awaitable_t<IoExecutor> token;
  const RequestLabour labour = state_.service.labour_of(request);
  const auto initiate = [this, &request, is_last, labour](auto handler) {
    auto work = [this, &request, is_last, labour, handler = std::move(handler)]() mutable {
      const ErrorOrigin where =
          labour == RequestLabour::search ? ErrorOrigin::ask : ErrorOrigin::handler;
      auto reply = contained<ServiceReply>(state_, where, request,
                                           [&] { return state_.service.handle(request, is_last); });
      asio::post(state_.io, [handler = std::move(handler), reply = std::move(reply)]() mutable {
        handler(std::move(reply));
      });
    };
    asio::post(state_.threads_for(labour), std::move(work));
  };
  return asio::async_initiate<const asio::use_awaitable_t<IoExecutor>, void(ServiceReply)>(initiate,
                                                                                           token);
}

// Keeps reading while it waits. This is the only way to notice that the client disconnects, through
// TLS and behind further requests.
IoTask<bool> HttpConnection::wait_for(const AwaitEvent& await, std::int64_t timeout_ns) {
  IoTimer timer(state_.io, std::chrono::nanoseconds(timeout_ns));
  timer.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->wake();
  });
  const Alarm alarm(state_.topics, await, [this] { wake(); });
  phase_ = Phase::awaiting;
  std::size_t following_bytes = 0;
  while (!has_left_ && !alarm.has_moved_on() && !state_.stopping &&
         timer.expiry() > IoTimer::clock_type::now()) {
    is_woken_ = false;
    error_code error;
    const bool reads = following_bytes < kFollowingBytes;
    if (reads) {
      const auto space = parser_->space();
      const std::size_t bytes =
          co_await stream_.async_read_some(asio::buffer(space.data(), space.size()), into(error));
      parser_->received(bytes);
      following_bytes += bytes;
      state_.counters.received_bytes.add(bytes);
    } else {
      co_await stream_.socket().async_wait(asio::socket_base::wait_error, into(error));
    }
    const bool was_woken = error == asio::error::operation_aborted && stream_.socket().is_open();
    has_left_ = (error || !reads) && !was_woken;
  }
  phase_ = Phase::busy;
  is_woken_ = false;
  co_return alarm.has_moved_on();
}

// The timer's handler may run late, during another wait; wait_for() checks its condition again.
void HttpConnection::wake() {
  if (phase_ != Phase::awaiting) return;
  is_woken_ = true;
  error_code ignored;
  stream_.socket().cancel(ignored);
}

IoTask<bool> HttpConnection::stream_events(EventStream events, bool is_head) {
  hold_ = std::move(events.hold);
  is_stream_ = true;
  state_.counters.open_streams.add(1);
  state_.counters.responses_by_class[2].add(1);
  const std::string head = event_stream_head(state_.date());
  parser_.reset();
  head_ = std::string();
  if (has_left_ || !co_await write(asio::buffer(head)) || is_head || state_.stopping) {
    co_return false;
  }
  events_ = std::make_unique<EventWriter>(state_, stream_, events.topics);
  events_->start(weak_from_this());
  await_end();
  co_return true;
}

// The only way to notice that the client disconnects is to read.
void HttpConnection::await_end() {
  stream_.async_read_some(asio::buffer(state_.discarded),
                          [self = shared_from_this()](error_code error, std::size_t bytes) {
                            self->state_.counters.received_bytes.add(bytes);
                            if (!error) return self->await_end();
                            self->events_->end();
                            self->close();
                          });
}

IoTask<bool> HttpConnection::respond(const ServiceRequest& request, const ServiceResponse& response,
                                     AfterResponse after, bool is_head) {
  if (state_.stopping) after = AfterResponse::close;
  write_head(response, after, state_.date(), head_);
  state_.counters.responses_by_class[std::clamp(response.status / 100, 0, 5)].add(1);
  if (state_.log.writes(LogLevel::debug)) {
    state_.log.write(LogLevel::debug, "answered",
                     {{"method", request.method},
                      {"target", request.target},
                      {"status", std::int64_t{response.status}},
                      {"peer", peer_.to_string()}});
  }
  std::array<asio::const_buffer, 2> buffers = {asio::buffer(head_), asio::const_buffer()};
  if (response.body && !is_head && may_have_body(response.status)) {
    buffers[1] = asio::buffer(*response.body);
  }
  const bool was_written = co_await write(buffers);
  co_return was_written&& after != AfterResponse::close;
}

template <class Buffers>
IoTask<bool> HttpConnection::write(Buffers buffers) {
  expect_by(state_.options.limits.write_ns);
  error_code error;
  const std::size_t bytes = co_await asio::async_write(stream_, buffers, into(error));
  deadline_ns_ = kNever;
  state_.counters.sent_bytes.add(bytes);
  co_return !error && !is_overdue_;
}

}  // namespace hocket
