#include "daemon/server/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <mutex>

#include "daemon/http/http_message.h"
#include "daemon/server/connection.h"
#include "daemon/server/listener.h"
#include "daemon/server/server_state.h"
#include "daemon/server/systemd.h"
#include "daemon/server/tls.h"

namespace hocket {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

/// Forwards published topics to the I/O thread, while it runs.
class FeedRelay {
 public:
  explicit FeedRelay(ServerState& state) : state_(&state) {}

  void published(const std::string& topic) {
    std::lock_guard lock(mutex_);
    if (state_ == nullptr) return;
    asio::post(state_->io, [state = state_, topic] { state->topics.published(topic); });
  }
  void end() {
    std::lock_guard lock(mutex_);
    state_ = nullptr;
  }

 private:
  std::mutex mutex_;
  // Guarded by mutex_:
  ServerState* state_;
};

/// Raises the limit of file descriptors to the number the connections need, as far as the system
/// allows.
void allow_descriptors(std::size_t connections, const Log& log) {
  constexpr rlim_t kOthers = 64;
  const rlim_t needed = connections + kOthers;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < needed) {
    log.write(LogLevel::warning, "fewer descriptors than connections; raise LimitNOFILE",
              {{"descriptors", static_cast<std::int64_t>(limit.rlim_cur)},
               {"connections", static_cast<std::int64_t>(connections)}});
  }
}

class AsioServer final : public Server {
 public:
  AsioServer(ServerOptions options, Service& service, Feed& feed, Log log, InternalErrors errors)
      : state_(std::move(options), service, feed, std::move(log), std::move(errors)), feed_(feed) {
    state_.on_left = [this] { finish_if_done(); };
  }

  Result<void> open() {
    const ServerOptions& options = state_.options;
    if (options.tls) {
      auto tls = make_tls(*options.tls);
      HOCKET_TRY(tls);
      tls_.emplace(std::move(*tls));
    }
    auto acceptors = open_listeners(state_.io, options);
    HOCKET_TRY(acceptors);
    acceptors_ = std::move(*acceptors);
    allow_descriptors(options.limits.connections, state_.log);
    return {};
  }

  std::uint16_t port() const override {
    error_code error;
    return acceptors_.front().local_endpoint(error).port();
  }

  void run() override {
    const auto relay = std::make_shared<FeedRelay>(state_);
    feed_.listen([relay](const std::string& topic) { relay->published(topic); });
    for (IoAcceptor& acceptor : acceptors_) {
      asio::co_spawn(state_.io.get_executor(), accept(acceptor), asio::detached);
    }
    asio::co_spawn(state_.io.get_executor(), sweep(), asio::detached);
    state_.log.write(LogLevel::info, "serving",
                     {{"address", state_.options.address},
                      {"port", std::int64_t{port()}},
                      {"tls", tls_ ? "yes" : "no"}});
    notify_ready();
    // A handler that throws leaves run(), which then goes on with the other handlers.
    while (state_.errors.contain(ErrorOrigin::server, {}, [this] { state_.io.run(); })) {
    }
    feed_.listen({});
    relay->end();
    state_.workers.join();
    state_.searching.join();
    state_.browsing.join();
    state_.log.write(LogLevel::info, "stopped");
  }

  void stop() override {
    asio::post(state_.io, [this] { begin_stop(); });
  }

  void stop_on_signals() override {
    signals_.add(SIGINT);
    signals_.add(SIGTERM);
    await_signal();
  }

  ServerCounts counts() const override { return state_.counters.read(); }

 private:
  IoTask<void> accept(IoAcceptor& acceptor) {
    while (!state_.stopping) {
      IoSocket socket(state_.io);
      tcp::endpoint peer;
      error_code error;
      co_await acceptor.async_accept(socket, peer, into(error));
      if (!error) {
        state_.errors.contain(ErrorOrigin::server, {}, [&] { admit(std::move(socket), peer); });
      } else if (!state_.stopping && error != asio::error::connection_aborted) {
        // Usually no descriptors are left; waiting connections are accepted once others are closed.
        state_.warn_of("cannot accept a connection", "", {"error", error.message()});
        // Each acceptor has a timer, because waiting again on one ends the other waits on it.
        IoTimer pause(state_.io, std::chrono::milliseconds(100));
        co_await pause.async_wait(into(error));
      }
    }
  }

  /// Accepts the connections that the kernel has already established; closing the listener would
  /// reset them.
  void accept_waiting(IoAcceptor& acceptor) {
    error_code error;
    acceptor.non_blocking(true, error);
    for (std::size_t i = 0; !error && i < state_.options.limits.connections; ++i) {
      IoSocket socket(state_.io);
      tcp::endpoint peer;
      acceptor.accept(socket, peer, error);
      if (!error) admit(std::move(socket), peer);
    }
  }

  void admit(IoSocket socket, const tcp::endpoint& peer) {
    if (state_.connections.size() >= state_.options.limits.connections) {
      turn_away(std::move(socket), peer);
      return;
    }
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    if (const auto bytes = state_.options.send_buffer_bytes) {
      socket.set_option(asio::socket_base::send_buffer_size(*bytes), ignored);
    }
    std::make_shared<HttpConnection>(state_, std::move(socket), tls_ ? &*tls_ : nullptr, peer)
        ->start();
  }

  void turn_away(IoSocket socket, const tcp::endpoint& peer) {
    state_.counters.refused_connections.add(1);
    state_.warn_of("too many connections; one refused", peer.address().to_string(),
                   {"connections", static_cast<std::int64_t>(state_.connections.size())});
    if (tls_) return;
    ServiceResponse response = error_response(503, "too many connections; try again later");
    response.retry_after_seconds = 5;
    std::string text;
    write_head(response, AfterResponse::close, state_.date(), text);
    text += *response.body;
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(text), ignored);
    state_.counters.responses_by_class[5].add(1);
  }

  /// Uses one timer for all deadlines, because there are many, few expire, and precision is not
  /// needed.
  IoTask<void> sweep() {
    while (!is_done()) {
      error_code ignored;
      sweep_.expires_after(sweep_interval());
      co_await sweep_.async_wait(into(ignored));
      const std::int64_t now = now_ns();
      for (HttpConnection* connection : state_.connections) {
        state_.errors.contain(ErrorOrigin::server, {}, [&] { connection->check(now); });
      }
      if (state_.stopping && now >= grace_until_ns_) close_all();
    }
  }

  std::chrono::nanoseconds sweep_interval() const {
    const ServerOptions& options = state_.options;
    const auto shortest =
        std::min({options.limits.request_ns, options.limits.idle_ns, options.limits.write_ns,
                  options.ping_interval_ns, options.grace_ns});
    return std::chrono::nanoseconds(std::clamp<std::int64_t>(shortest / 8, 1'000'000, 250'000'000));
  }

  bool is_done() const { return state_.stopping && state_.connections.empty(); }

  void begin_stop() {
    if (state_.stopping) return;
    state_.stopping = true;
    grace_until_ns_ = now_ns() + state_.options.grace_ns;
    notify_stopping();
    state_.log.write(LogLevel::info, "stopping",
                     {{"connections", static_cast<std::int64_t>(state_.connections.size())}});
    error_code ignored;
    for (IoAcceptor& acceptor : acceptors_) {
      if (state_.options.listeners.empty()) accept_waiting(acceptor);
      acceptor.close(ignored);
    }
    for (HttpConnection* connection : state_.connections) connection->stop();
    finish_if_done();
  }

  void close_all() {
    for (HttpConnection* connection : state_.connections) connection->close();
  }

  void finish_if_done() {
    if (!is_done()) return;
    sweep_.cancel();
    error_code ignored;
    signals_.cancel(ignored);
  }

  void await_signal() {
    signals_.async_wait([this](error_code error, int) {
      if (error || is_done()) return;
      if (state_.stopping) {
        close_all();
      } else {
        begin_stop();
      }
      if (!is_done()) await_signal();
    });
  }

  ServerState state_;
  Feed& feed_;
  std::optional<asio::ssl::context> tls_;
  std::vector<IoAcceptor> acceptors_;
  IoTimer sweep_{state_.io};
  asio::basic_signal_set<IoExecutor> signals_{state_.io};
  std::int64_t grace_until_ns_ = 0;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::create(ServerOptions options, Service& service, Feed& feed,
                                               Log log, InternalErrors errors) {
  auto server = std::make_unique<AsioServer>(std::move(options), service, feed, std::move(log),
                                             std::move(errors));
  HOCKET_TRY(server->open());
  return server;
}

}  // namespace hocket
