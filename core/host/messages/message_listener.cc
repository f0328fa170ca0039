#include "core/host/messages/message_listener.h"

#include <fcntl.h>

#include <utility>  // Boost 1.74's awaitable.hpp needs it first

#include <boost/asio.hpp>
#include <exception>
#include <list>
#include <thread>

#include "core/greeting/server_side.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{100};

/// A connection that the listener holds: a caller's until it arrives, or one that is watched.
struct HeldConnection {
  explicit HeldConnection(tcp::socket&& accepted)
      : socket(std::move(accepted)), patience(socket.get_executor()) {}

  tcp::socket socket;
  asio::steady_timer patience;  ///< ends the connection when it expires
  bool is_stranger = true;
  int watched = -1;  ///< the rank at the other end, if this rank watches it
};
using HeldConnectionPtr = std::shared_ptr<HeldConnection>;

void hang_up(HeldConnection& connection) {
  error_code ignored;
  connection.socket.close(ignored);
  connection.patience.cancel(ignored);
}

/// Keeps a socket from programs that this process starts, in which it would outlive this rank.
void close_on_exec(int socket) {
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

/// Waits for the end of a connection on which nothing is expected.
asio::awaitable<void> wait_for_end(HeldConnection& connection) {
  char unexpected = 0;
  error_code ended;
  co_await connection.socket.async_read_some(asio::buffer(&unexpected, 1),
                                             asio::redirect_error(asio::use_awaitable, ended));
}

}  // namespace

/// Everything but the constructor, the destructor and what they call runs on one thread.
class MessageListener::Service {
 public:
  Service(const MessageListenerOptions& options, MessageCallers callers)
      : options_(options), callers_(std::move(callers)), acceptor_(context_), pause_(context_) {}

  Result<void> start() {
    error_code error;
    const auto address = asio::ip::make_address(options_.host, error);
    const tcp::endpoint endpoint(address, 0);
    if (!error) acceptor_.open(endpoint.protocol(), error);
    if (!error) close_on_exec(acceptor_.native_handle());
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return failure(ErrorCode::unavailable, "cannot listen for messages of other ranks at \"" +
                                                 options_.host + "\": " + error.message());
    }
    port_ = acceptor_.local_endpoint().port();
    asio::co_spawn(context_, accept(), asio::detached);
    running_ = std::jthread([this] { context_.run(); });
    return {};
  }

  ~Service() { stop(); }  // run() returns when all that it ran for is closed

  std::uint16_t port() const { return port_; }

  void stop() {
    asio::post(context_, [this] {
      is_closing_ = true;
      error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel(ignored);
      for (const auto& connection : connections_) hang_up(*connection);
    });
  }

  void watch(int rank, FileDescriptor socket, std::function<void()> ended) {
    auto descriptor = std::make_shared<FileDescriptor>(std::move(socket));
    asio::post(context_, [this, rank, descriptor, ended = std::move(ended)]() mutable {
      tcp::socket watched(context_);
      error_code error;
      // Asio asks for the family and does not use it.
      watched.assign(tcp::v4(), descriptor->get(), error);
      if (error || is_closing_) return;
      descriptor->release();
      auto connection = std::make_shared<HeldConnection>(std::move(watched));
      connection->is_stranger = false;
      connection->watched = rank;
      connections_.push_back(connection);
      asio::co_spawn(context_, keep(std::move(connection), std::move(ended)), asio::detached);
    });
  }

 private:
  asio::awaitable<void> accept() {
    while (!is_closing_) {
      tcp::socket socket(context_);
      error_code error;
      co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
      if (is_closing_) break;
      if (error) {
        // Usually no descriptors are left.
        pause_.expires_after(kAcceptPause);
        co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, error));
      } else {
        take(std::move(socket));
      }
    }
  }

  void make_room() {
    std::size_t strangers = 0;
    HeldConnectionPtr oldest;
    for (const auto& each : connections_) {
      if (!each->is_stranger) continue;
      if (!oldest) oldest = each;
      ++strangers;
    }
    if (strangers < options_.strangers) return;
    hang_up(*oldest);
    connections_.remove(oldest);
  }

  void take(tcp::socket socket) {
    try {
      make_room();
      close_on_exec(socket.native_handle());
      socket.set_option(tcp::no_delay(true));
      auto connection = std::make_shared<HeldConnection>(std::move(socket));
      connections_.push_back(connection);
      connection->patience.expires_after(options_.patience);
      connection->patience.async_wait([connection](error_code stopped) {
        if (!stopped && connection->is_stranger) hang_up(*connection);
      });
      asio::co_spawn(context_, serve(std::move(connection)), asio::detached);
    } catch (const std::exception&) {
      // The caller is gone already, or there is no memory for it.
    }
  }

  asio::awaitable<void> serve(HeldConnectionPtr connection) {
    message_wire::Caller caller;
    bool is_arriving = false;
    try {
      const std::function<Result<void>()> admit = [&]() -> Result<void> {
        if (is_closing_) return failure(ErrorCode::unavailable, "this rank takes no messages");
        HOCKET_TRY(callers_.admit(caller));
        connection->is_stranger = false;
        connection->patience.cancel();
        is_arriving = caller.purpose == message_wire::kSend;
        return {};
      };
      const bool is_known = co_await greeting::greet_client(
          connection->socket, message_wire::kProtocol, options_.secret,
          asio::buffer(&caller, sizeof caller), admit);
      if (is_known && is_arriving) {
        const auto rank = static_cast<int>(caller.rank);
        callers_.arrived(rank, FileDescriptor(connection->socket.release()));
        is_arriving = false;
        for (const auto& each : connections_)
          if (each->watched == rank) hang_up(*each);  // the end of the new connection says as much
      } else if (is_known) {
        co_await wait_for_end(*connection);
      }
    } catch (const std::exception&) {
      // The caller is gone, did not speak this protocol, or took too long.
    }
    if (is_arriving) callers_.gave_up(static_cast<int>(caller.rank));
    hang_up(*connection);
    connections_.remove(connection);
  }

  asio::awaitable<void> keep(HeldConnectionPtr connection, std::function<void()> ended) {
    co_await wait_for_end(*connection);
    hang_up(*connection);
    connections_.remove(connection);
    if (!is_closing_) ended();
  }

  const MessageListenerOptions options_;
  const MessageCallers callers_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  std::uint16_t port_ = 0;
  // Used only by running_:
  asio::steady_timer pause_;
  std::list<HeldConnectionPtr> connections_;  ///< oldest first
  bool is_closing_ = false;
  std::jthread running_;
};

MessageListener::MessageListener(std::unique_ptr<Service> service) : service_(std::move(service)) {}

MessageListener::~MessageListener() = default;

std::uint16_t MessageListener::port() const {
  return service_->port();
}

void MessageListener::watch(int rank, FileDescriptor socket, std::function<void()> ended) {
  service_->watch(rank, std::move(socket), std::move(ended));
}

void MessageListener::stop() {
  service_->stop();
}

Result<std::unique_ptr<MessageListener>> MessageListener::listen(
    const MessageListenerOptions& options, MessageCallers callers) {
  auto service = std::make_unique<Service>(options, std::move(callers));
  HOCKET_TRY(service->start());
  return std::unique_ptr<MessageListener>(new MessageListener(std::move(service)));
}

}  // namespace hocket
