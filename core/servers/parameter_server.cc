#include "core/servers/parameter_server.h"

#include <utility>  // Boost 1.74's awaitable.hpp needs it first

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/greeting/server_side.h"
#include "core/servers/rank_register.h"
#include "core/servers/tcp_options.h"
#include "core/servers/wire.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
namespace wire = server_wire;
using asio::ip::tcp;
using boost::system::error_code;
using SystemError = boost::system::system_error;

constexpr std::chrono::milliseconds kAcceptPause{100};

/// A connection, and what its coroutine waits for. Only its strand uses it, except wake().
class Connection final : public SumWaiter, public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(const asio::strand<asio::io_context::executor_type>& strand)
      : strand_(strand), socket(strand), patience(strand), limit(strand) {}

  void wake() override {
    asio::post(strand_, [self = shared_from_this()] {
      self->woken = true;
      self->limit.cancel();
    });
  }

  /// Ends what the coroutine waits for. Any thread.
  void disconnect() {
    asio::post(strand_, [self = shared_from_this()] {
      error_code ignored;
      self->socket.close(ignored);
      self->patience.cancel();
      self->limit.cancel();
    });
  }

 private:
  const asio::strand<asio::io_context::executor_type> strand_;

 public:
  tcp::socket socket;
  asio::steady_timer patience;  ///< ends the connection when it expires
  asio::steady_timer limit;     ///< expires with the time of an await; cancelled to look anew
  std::uint64_t awaits = 0;     ///< that waited
  bool woken = false;           ///< there is a sum, or an error
  bool peer_spoke = false;      ///< during its await
  bool said_goodbye = false;
  std::optional<int> rank = {};  ///< of a connection that was let in
};
using ConnectionPtr = std::shared_ptr<Connection>;

void begin_patience(const ConnectionPtr& connection, std::int64_t time_ns) {
  connection->patience.expires_after(std::chrono::nanoseconds(time_ns));
  connection->patience.async_wait([connection](error_code stopped) {
    // A rank may have been let in when this was already due.
    if (!stopped && !connection->rank) connection->disconnect();
  });
}

/// Asio's own operations move at most 64 KiB at a time; these move what the system has.
asio::awaitable<void> receive(Connection& connection, asio::mutable_buffer into) {
  while (into.size() > 0) {
    error_code error;
    into += connection.socket.read_some(into, error);
    if (error == asio::error::would_block) {
      co_await connection.socket.async_wait(tcp::socket::wait_read, asio::use_awaitable);
    } else if (error) {
      throw SystemError(error);
    }
  }
}

asio::awaitable<void> send(Connection& connection, std::array<asio::const_buffer, 2> buffers) {
  while (buffers[0].size() + buffers[1].size() > 0) {
    error_code error;
    std::size_t sent = connection.socket.write_some(buffers, error);
    for (asio::const_buffer& buffer : buffers) {
      const std::size_t of_this = std::min(sent, buffer.size());
      buffer += of_this;
      sent -= of_this;
    }
    if (error == asio::error::would_block) {
      co_await connection.socket.async_wait(tcp::socket::wait_write, asio::use_awaitable);
    } else if (error) {
      throw SystemError(error);
    }
  }
}

template <class Message>
asio::awaitable<void> send(Connection& connection, const Message& message, std::string_view text) {
  const std::array<asio::const_buffer, 2> buffers = {asio::buffer(&message, sizeof message),
                                                     asio::buffer(text)};
  co_await send(connection, buffers);
}

asio::awaitable<void> reply(Connection& connection, Result<void> outcome) {
  greeting::Refusal refusal;
  if (!outcome) refusal = greeting::refusal_of(outcome.error());
  const wire::Reply message{refusal.outcome.code, refusal.outcome.text_bytes};
  co_await send(connection, message, refusal.text);
}

/// Receives and forgets at most `bytes` bytes; in a function of its own, so that no connection
/// keeps a buffer for that.
std::size_t drop_some(tcp::socket& socket, std::uint64_t bytes, error_code& error) {
  std::array<char, 65536> piece;
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, piece.size()));
  return socket.read_some(asio::buffer(piece.data(), most), error);
}

/// Receives and forgets. It always waits first, so that stop() reaches it between two pieces.
asio::awaitable<void> discard(Connection& connection, std::uint64_t bytes) {
  while (bytes > 0) {
    co_await connection.socket.async_wait(tcp::socket::wait_read, asio::use_awaitable);
    error_code error;
    bytes -= drop_some(connection.socket, bytes, error);
    if (error && error != asio::error::would_block) throw SystemError(error);
  }
}

/// Ends the connection's await `number` when the peer ends the connection. A rank sends
/// nothing while it waits, so bytes from it are an end as well.
void watch_peer(const ConnectionPtr& connection, std::uint64_t number) {
  connection->socket.async_wait(tcp::socket::wait_read, [connection, number](error_code error) {
    if (error || connection->awaits != number) return;
    // Asio may report bytes that were there before, and have been read.
    char byte = 0;
    connection->socket.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, error);
    if (error == asio::error::would_block) return watch_peer(connection, number);
    connection->peer_spoke = true;
    connection->limit.cancel();
  });
}

PartKey key_of(const wire::Request& request) {
  return {request.collective, request.offset_bytes};
}

}  // namespace

class ParameterServer::Service {
 public:
  explicit Service(const ParameterServerOptions& options)
      : options_(options),
        sums_(options.ranks, options.limit_bytes),
        ranks_({options.ranks, options.server, options.servers}, options.connections_per_rank) {}

  ~Service() {
    stop();
    // Each thread returns when all that was begun has ended.
    threads_.clear();
  }

  Result<void> start() {
    HOCKET_TRY(open());
    port_ = acceptor_.local_endpoint().port();
    asio::co_spawn(accepting_, accept(), asio::detached);
    const int processors = static_cast<int>(std::thread::hardware_concurrency());
    const int threads = options_.threads > 0 ? options_.threads : std::clamp(processors, 1, 4);
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { context_.run(); });
    return {};
  }

  std::uint16_t port() const { return port_; }

  Result<void> wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || ranks_.all_ended(); });
    return ranks_.outcome();
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    if (!stopped_) close_acceptor();
    stopped_ = true;
    for (const auto& connection : connections_) connection->disconnect();
    changed_.notify_all();
  }

  std::size_t used_bytes() const { return sums_.used_bytes(); }

 private:
  Result<void> open() {
    const std::string where = options_.host + ":" + std::to_string(options_.port);
    error_code error;
    const auto found = tcp::resolver(context_).resolve(options_.host, "", error);
    if (!error) error = asio::error::host_not_found;
    for (const auto& entry : found) {
      error = listen_at({entry.endpoint().address(), options_.port});
      if (!error) return {};
      error_code ignored;
      acceptor_.close(ignored);
    }
    return failure(ErrorCode::unavailable, "cannot listen at " + where + ": " + error.message() +
                                               "; choose a free port of an address of this host");
  }

  error_code listen_at(const tcp::endpoint& endpoint) {
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    return error;
  }

  void close_acceptor() {
    asio::post(accepting_, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      accept_pause_.cancel();
    });
  }

  asio::awaitable<void> accept() {
    while (acceptor_.is_open()) {
      const auto connection = std::make_shared<Connection>(asio::make_strand(context_));
      error_code error;
      co_await acceptor_.async_accept(connection->socket,
                                      asio::redirect_error(asio::use_awaitable, error));
      if (!acceptor_.is_open()) break;
      if (!error) {
        admit(connection);
        continue;
      }
      // Usually no descriptors are left.
      accept_pause_.expires_after(kAcceptPause);
      co_await accept_pause_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
  }

  void admit(const ConnectionPtr& connection) {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    if (strangers_.size() >= options_.strangers) {
      strangers_.front()->disconnect();
      strangers_.pop_front();
    }
    strangers_.push_back(connection);
    connections_.push_back(connection);
    asio::co_spawn(connection->socket.get_executor(), serve(connection), asio::detached);
  }

  asio::awaitable<void> serve(ConnectionPtr connection) {
    try {
      connection->socket.non_blocking(true);
      set_tcp_options(connection->socket.native_handle(), options_.silence_ns);
      begin_patience(connection, options_.patience_ns);
      co_await introduce(connection);
      if (connection->rank) connection->patience.cancel();
      while (connection->rank && !connection->said_goodbye) co_await serve_request(connection);
    } catch (const std::exception&) {
      // The peer is gone, did not speak this protocol, or took too long.
    }
    error_code ignored;
    connection->socket.close(ignored);
    connection->patience.cancel();
    forget(connection);
  }

  void forget(const ConnectionPtr& connection) {
    bool lost = false;
    {
      const std::lock_guard lock(mutex_);
      connections_.remove(connection);
      strangers_.remove(connection);
      // After stop() the server is gone and not the rank.
      if (connection->rank && !stopped_)
        lost = ranks_.end_connection(*connection->rank, connection->said_goodbye);
      if (ranks_.all_ended()) changed_.notify_all();
    }
    if (lost) sums_.lose(*connection->rank);
  }

  asio::awaitable<void> introduce(const ConnectionPtr& connection) {
    wire::RankIdentity peer;
    const std::function<Result<void>()> admit = [&] { return enter(connection, peer); };
    (void)co_await greeting::greet_client(connection->socket, wire::kProtocol, options_.secret,
                                          asio::buffer(&peer, sizeof peer), admit);
  }

  Result<void> enter(const ConnectionPtr& connection, const wire::RankIdentity& peer) {
    const std::lock_guard lock(mutex_);
    HOCKET_TRY(ranks_.enter(peer));
    strangers_.remove(connection);
    connection->rank = peer.rank;
    return {};
  }

  asio::awaitable<void> serve_request(const ConnectionPtr& connection) {
    wire::Request request;
    co_await receive(*connection, asio::buffer(&request, sizeof request));
    if (!wire::check_request(request)) throw SystemError(asio::error::no_protocol_option);
    if (request.operation == wire::kPush || request.operation == wire::kUpdate) {
      co_await serve_push(*connection, request);
    } else if (request.operation == wire::kAwait) {
      co_await serve_await(connection, request);
    } else if (request.operation == wire::kPull) {
      co_await serve_pull(*connection, request);
    } else {
      co_await serve_goodbye(*connection);
    }
  }

  asio::awaitable<void> serve_push(Connection& connection, const wire::Request& request) {
    std::optional<PartUpdate> update;
    if (request.operation == wire::kUpdate) {
      wire::Update received;
      co_await receive(connection, asio::buffer(&received, sizeof received));
      const auto read = wire::from_wire(received);
      if (!read) throw SystemError(asio::error::no_protocol_option);
      update = *read;
    }
    auto summand = sums_.begin_push(key_of(request), *connection.rank, request.values,
                                    update ? &*update : nullptr);
    if (!summand) {
      co_await reply(connection, failure(summand.error()));
      co_await discard(connection, request.values * sizeof(float));
      co_return;
    }
    const std::span<float> values = summand->values();
    co_await receive(connection, asio::buffer(values.data(), values.size_bytes()));
    const auto added = sums_.finish_push(std::move(*summand));
    co_await reply(connection, added);
  }

  asio::awaitable<void> serve_await(const ConnectionPtr& connection, const wire::Request& request) {
    std::array<PartKey, wire::kMostSums> keys;
    const auto found = co_await wait_for_sums(connection, request.timeout_ns, keys);
    if (!found) {
      co_await reply(*connection, failure(found.error()));
      co_return;
    }
    std::array<wire::SumName, wire::kMostSums> names;
    for (std::size_t i = 0; i < *found; ++i) names[i] = {keys[i].collective, keys[i].offset_bytes};
    const std::size_t bytes = *found * sizeof names[0];
    const wire::Reply head{greeting::kDone, static_cast<std::uint32_t>(bytes)};
    co_await send(*connection, head, {reinterpret_cast<const char*>(names.data()), bytes});
  }

  /// Takes sums of the connection's rank, waiting for the first; 0 if none came in time although no
  /// part has been unfinished for so long. Throws when the peer ends the connection.
  asio::awaitable<Result<std::size_t>> wait_for_sums(ConnectionPtr connection,
                                                     std::int64_t timeout_ns,
                                                     std::span<PartKey> keys) {
    const int rank = *connection->rank;
    const std::uint64_t pushes = sums_.pushes(rank), number = ++connection->awaits;
    connection->peer_spoke = false;
    connection->limit.expires_after(std::chrono::nanoseconds(timeout_ns));
    Result<std::size_t> taken = sums_.take_sums(rank, keys, connection);
    const bool waits = taken && *taken == 0;
    if (waits) watch_peer(connection, number);
    while (taken && *taken == 0) {
      error_code stopped;
      connection->woken = false;
      co_await connection->limit.async_wait(asio::redirect_error(asio::use_awaitable, stopped));
      if (connection->peer_spoke || !connection->socket.is_open())
        throw SystemError(asio::error::eof);
      taken = sums_.take_sums(rank, keys, connection);
      if (stopped || connection->woken) continue;
      break;
    }
    ++connection->awaits;
    if (waits) connection->socket.cancel();
    if (!taken || *taken > 0) co_return taken;
    if (const auto unfinished = sums_.unfinished(rank, pushes))
      taken = failure(no_sum_in_time(*unfinished, timeout_ns));
    co_return taken;
  }

  asio::awaitable<void> serve_pull(Connection& connection, const wire::Request& request) {
    const auto sum = sums_.pull(key_of(request), *connection.rank, request.values);
    if (!sum) {
      co_await reply(connection, failure(sum.error()));
      co_return;
    }
    const wire::Reply head;
    const std::array<asio::const_buffer, 2> buffers = {
        asio::buffer(&head, sizeof head),
        asio::buffer(sum->values().data(), sum->values().size_bytes())};
    co_await send(connection, buffers);
  }

  asio::awaitable<void> serve_goodbye(Connection& connection) {
    {
      const std::lock_guard lock(mutex_);
      ranks_.leave(*connection.rank);
    }
    sums_.lose(*connection.rank, "has left");
    connection.said_goodbye = true;
    co_await reply(connection, {});
  }

  const ParameterServerOptions options_;
  asio::io_context context_;
  PartSums sums_;  // after the context, because connections wait for sums
  const asio::strand<asio::io_context::executor_type> accepting_ = asio::make_strand(context_);
  // Used only by accepting_:
  tcp::acceptor acceptor_{accepting_};
  asio::steady_timer accept_pause_{accepting_};

  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  RankRegister ranks_;
  std::list<ConnectionPtr> connections_;
  std::list<ConnectionPtr> strangers_;  ///< those that have not introduced themselves, oldest first
  bool stopped_ = false;

  std::vector<std::jthread> threads_;
};

Result<std::unique_ptr<ParameterServer>> ParameterServer::listen(
    const ParameterServerOptions& options) {
  if (options.ranks < 1) return invalid("a parameter server needs at least one rank");
  if (options.server < 0 || options.server >= options.servers) {
    return invalid("there is no parameter server " + std::to_string(options.server) + " of " +
                   std::to_string(options.servers) + ": they are numbered from 0");
  }
  auto service = std::make_unique<Service>(options);
  HOCKET_TRY(service->start());
  return std::unique_ptr<ParameterServer>(new ParameterServer(std::move(service)));
}

ParameterServer::ParameterServer(std::unique_ptr<Service> service) : service_(std::move(service)) {}

ParameterServer::~ParameterServer() = default;

std::uint16_t ParameterServer::port() const {
  return service_->port();
}

Result<void> ParameterServer::wait() {
  return service_->wait();
}

void ParameterServer::stop() {
  service_->stop();
}

std::size_t ParameterServer::used_bytes() const {
  return service_->used_bytes();
}

}  // namespace hocket
