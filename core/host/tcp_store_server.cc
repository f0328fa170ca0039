#include <utility>  // Boost 1.74's awaitable.hpp needs it first

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio.hpp>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <thread>

#include "core/greeting/server_side.h"
#include "core/host/tcp_store.h"
#include "core/host/tcp_store_listen.h"
#include "core/host/tcp_store_wire.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
namespace wire = tcp_store_wire;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;
using SystemError = boost::system::system_error;
using Value = std::shared_ptr<const std::vector<char>>;

/// Places and limits of one client.
struct Connection {
  explicit Connection(tcp::socket&& accepted)
      : socket(std::move(accepted)),
        patience(socket.get_executor()),
        appearance(socket.get_executor()) {}

  tcp::socket socket;
  asio::steady_timer patience;    ///< ends the connection when it expires
  asio::steady_timer appearance;  ///< of the key that the client waits for
  bool introduced = false;
};
using ConnectionPtr = std::shared_ptr<Connection>;

void disconnect(Connection& connection) {
  error_code ignored;
  connection.socket.close(ignored);
  connection.patience.cancel(ignored);
  connection.appearance.cancel(ignored);
}

void begin_patience(const ConnectionPtr& connection, milliseconds time) {
  connection->patience.expires_after(time);
  connection->patience.async_wait([connection](error_code stopped) {
    // The expiry is later if the time was extended after this call was already due.
    if (!stopped && connection->patience.expiry() <= std::chrono::steady_clock::now()) {
      disconnect(*connection);
    }
  });
}

void end_patience(Connection& connection) {
  connection.patience.expires_at(std::chrono::steady_clock::time_point::max());
}

/// Bytes that are counted against a limit until the object is gone or they are kept.
class Reservation {
 public:
  Reservation(std::size_t& used, std::size_t bytes) : used_(used), bytes_(bytes) {
    used_ += bytes_;
  }
  ~Reservation() { used_ -= bytes_; }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  void keep() { bytes_ = 0; }

 private:
  std::size_t& used_;
  std::size_t bytes_;
};

}  // namespace

/// Everything but the constructor, the destructor and what they call runs on one thread.
class TcpStoreServer::Service {
 public:
  explicit Service(const TcpStoreServerOptions& options) : options_(options) {}

  Result<void> start() {
    auto acceptors = open_tcp_store_listeners(context_, options_);
    HOCKET_TRY(acceptors);
    acceptors_ = std::move(*acceptors);
    port_ = acceptors_.front().local_endpoint().port();
    for (auto& acceptor : acceptors_) asio::co_spawn(context_, accept(acceptor), asio::detached);
    running_ = std::jthread([this] { context_.run(); });
    return {};
  }

  ~Service() {
    // run() returns when all that it ran for is closed.
    asio::post(context_, [this] {
      closing_ = true;
      error_code ignored;
      for (auto& acceptor : acceptors_) acceptor.close(ignored);
      for (auto* pause : pauses_) pause->cancel(ignored);
      for (const auto& connection : connections_) disconnect(*connection);
    });
  }

  std::uint16_t port() const { return port_; }
  std::uint64_t failed_accepts() const { return failed_accepts_; }

 private:
  const TcpStoreLimits& limits() const { return options_.limits; }

  asio::awaitable<void> accept(tcp::acceptor& acceptor) {
    asio::steady_timer pause(context_);
    pauses_.push_back(&pause);
    while (!closing_) {
      tcp::socket socket(context_);
      error_code error;
      co_await acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
      if (closing_) break;
      if (error) {
        ++failed_accepts_;
        pause.expires_after(limits().accept_pause);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      } else {
        admit(std::move(socket));
      }
    }
    pauses_.remove(&pause);
  }

  /// Makes room by ending the connection that has kept silent about itself longest.
  bool make_room() {
    if (connections_.size() < limits().connections) return true;
    const auto silent = std::ranges::find_if(
        connections_, [](const ConnectionPtr& each) { return !each->introduced; });
    if (silent == connections_.end()) return false;
    disconnect(**silent);
    connections_.erase(silent);
    return true;
  }

  void admit(tcp::socket socket) {
    try {
      if (!make_room()) {
        const std::string crowded = greeting::refusing_greeting(
            wire::kProtocol, {ErrorCode::unavailable, "all places of the rendezvous are taken"});
        error_code ignored;
        socket.non_blocking(true, ignored);
        asio::write(socket, asio::buffer(crowded), ignored);
        return;
      }
      socket.set_option(tcp::no_delay(true));
      auto connection = std::make_shared<Connection>(std::move(socket));
      connections_.push_back(connection);
      asio::co_spawn(context_, serve(std::move(connection)), asio::detached);
    } catch (const std::exception&) {
      // No memory for this client.
    }
  }

  asio::awaitable<void> serve(ConnectionPtr connection) {
    try {
      begin_patience(connection, limits().patience);
      const bool known = co_await introduce(*connection);
      end_patience(*connection);
      connection->introduced = known;
      while (known) co_await serve_request(connection);
    } catch (const std::exception&) {
      // The client is gone, did not speak this protocol, asked for too much, or took too long.
    }
    disconnect(*connection);
    connections_.remove(connection);
  }

  asio::awaitable<bool> introduce(Connection& connection) {
    const std::function<Result<void>()> admit = [] { return Result<void>(); };
    const bool known = co_await greeting::greet_client(connection.socket, wire::kProtocol,
                                                       options_.secret, {}, admit);
    if (!known) co_return false;
    const wire::Limits sent{static_cast<std::uint32_t>(limits().key_bytes),
                            static_cast<std::uint32_t>(limits().value_bytes)};
    co_await asio::async_write(connection.socket, asio::buffer(&sent, sizeof sent),
                               asio::use_awaitable);
    co_return true;
  }

  asio::awaitable<void> serve_request(const ConnectionPtr& connection) {
    wire::Request request;
    // A client may be silent between requests, but not within one.
    co_await asio::async_read(connection->socket, asio::buffer(&request, 1), asio::use_awaitable);
    begin_patience(connection, limits().patience);
    co_await asio::async_read(connection->socket, asio::buffer(&request, sizeof request) + 1,
                              asio::use_awaitable);
    if (request.key_bytes > limits().key_bytes) throw SystemError(asio::error::message_size);
    std::string key(request.key_bytes, '\0');
    co_await asio::async_read(connection->socket, asio::buffer(key), asio::use_awaitable);
    if (request.operation == wire::kSet) {
      co_await serve_set(*connection, std::move(key), request.argument);
    } else if (request.operation == wire::kGet) {
      co_await serve_get(connection, key, milliseconds(request.argument));
    } else {
      throw SystemError(asio::error::no_protocol_option);
    }
    end_patience(*connection);
  }

  asio::awaitable<void> serve_set(Connection& connection, std::string key, std::size_t length) {
    if (length > limits().value_bytes) throw SystemError(asio::error::message_size);
    const std::size_t bytes = key.size() + length;
    const bool fits = bytes <= limits().total_bytes - std::min(limits().total_bytes, used_bytes_);
    Reservation reservation(used_bytes_, fits ? bytes : 0);
    auto value = std::make_shared<std::vector<char>>(fits ? length : 0);
    if (fits) {
      co_await asio::async_read(connection.socket, asio::buffer(*value), asio::use_awaitable);
    } else {
      co_await discard(connection, length);
    }
    const bool is_new = !values_.contains(key);
    wire::Answer answer = wire::kDone;
    if (!fits) {
      answer = wire::kTooManyBytes;
    } else if (is_new && values_.size() >= limits().keys) {
      answer = wire::kTooManyKeys;
    } else {
      Value& kept = values_[key];
      if (kept) used_bytes_ -= key.size() + kept->size();
      kept = std::move(value);
      reservation.keep();
      wake_waiting(key);
    }
    const wire::Reply reply{.answer = answer};
    co_await asio::async_write(connection.socket, asio::buffer(&reply, sizeof reply),
                               asio::use_awaitable);
  }

  void wake_waiting(const std::string& key) {
    const auto [begin, end] = waiting_.equal_range(key);
    for (auto each = begin; each != end; ++each) each->second->appearance.cancel();
  }

  asio::awaitable<void> discard(Connection& connection, std::size_t length) {
    std::array<char, 4096> bytes;
    while (length > 0) {
      const std::size_t piece = std::min(length, bytes.size());
      co_await asio::async_read(connection.socket, asio::buffer(bytes.data(), piece),
                                asio::use_awaitable);
      length -= piece;
    }
  }

  asio::awaitable<void> serve_get(const ConnectionPtr& connection, const std::string& key,
                                  milliseconds timeout) {
    if (!values_.contains(key)) {
      end_patience(*connection);
      connection->appearance.expires_after(std::min(timeout, wire::kLongestWait));
      const auto place = waiting_.emplace(key, connection);
      error_code set;
      co_await connection->appearance.async_wait(asio::redirect_error(asio::use_awaitable, set));
      waiting_.erase(place);
      begin_patience(connection, limits().patience);
    }
    const auto found = values_.find(key);
    const Value value = found == values_.end() ? nullptr : found->second;
    const wire::Reply head{value ? wire::kDone : wire::kNotInTime,
                           value ? static_cast<std::uint32_t>(value->size()) : 0U};
    const std::array<asio::const_buffer, 2> reply = {
        asio::buffer(&head, sizeof head), value ? asio::buffer(*value) : asio::const_buffer()};
    co_await asio::async_write(connection->socket, reply, asio::use_awaitable);
  }

  const TcpStoreServerOptions options_;
  asio::io_context context_{1};
  std::vector<tcp::acceptor> acceptors_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> failed_accepts_ = 0;
  // Used only by running_:
  std::list<asio::steady_timer*> pauses_;
  std::list<ConnectionPtr> connections_;  ///< oldest first
  std::map<std::string, Value> values_;
  std::size_t used_bytes_ = 0;
  std::multimap<std::string, ConnectionPtr> waiting_;  ///< by the key that each waits for
  bool closing_ = false;
  std::jthread running_;
};

TcpStoreLimits TcpStoreLimits::for_ranks(std::size_t ranks, std::size_t meetings) {
  // In each meeting a rank sets the name of its host, and its addresses: one of 136 bytes for every
  // other rank.
  TcpStoreLimits limits;
  limits.value_bytes = 4096 + 256 * ranks;
  limits.keys = 4 * ranks * meetings;
  limits.total_bytes = ranks * meetings * (limits.value_bytes + 4096);
  limits.connections = 2 * ranks + 16;
  return limits;
}

Result<std::unique_ptr<TcpStoreServer>> TcpStoreServer::listen(
    const TcpStoreServerOptions& options) {
  auto service = std::make_unique<Service>(options);
  HOCKET_TRY(service->start());
  return std::unique_ptr<TcpStoreServer>(new TcpStoreServer(std::move(service)));
}

TcpStoreServer::TcpStoreServer(std::unique_ptr<Service> service) : service_(std::move(service)) {}

TcpStoreServer::~TcpStoreServer() = default;

std::uint16_t TcpStoreServer::port() const {
  return service_->port();
}

std::uint64_t TcpStoreServer::failed_accepts() const {
  return service_->failed_accepts();
}

}  // namespace hocket
