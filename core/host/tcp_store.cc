#include "core/host/tcp_store.h"

#include <utility>  // Boost 1.74's awaitable.hpp needs it first

#include <algorithm>
#include <boost/asio.hpp>
#include <optional>
#include <thread>

#include "core/greeting/client_side.h"
#include "core/host/tcp_store_wire.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
namespace wire = tcp_store_wire;
using asio::ip::tcp;
using std::chrono::milliseconds;
using Deadline = std::chrono::steady_clock::time_point;
using SystemError = boost::system::system_error;

constexpr milliseconds kAnswerTime{30'000};  ///< for what the server need not wait for
constexpr milliseconds kRetryPause{20};

Deadline deadline_after(milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

}  // namespace

class TcpStoreClient::Connection {
 public:
  Connection() : socket_(context_) {}

  /// Throws SystemError when the server cannot be reached or does not answer in time.
  Result<void> connect(const std::string& host, std::uint16_t port, const std::string& secret,
                       Deadline deadline) {
    const auto endpoints = tcp::resolver(context_).resolve(host, std::to_string(port));
    finish(deadline, [&](auto done) {
      asio::async_connect(socket_, endpoints, [done](auto error, const auto&) { done(error); });
    });
    socket_.set_option(tcp::no_delay(true));
    return introduce(secret, deadline);
  }

  Result<void> set(const std::string& key, const std::vector<char>& value) {
    if (key.size() > longest_key_ || value.size() > longest_value_) {
      return failure(ErrorCode::invalid_argument,
                     "the ranks' meeting point takes keys of at most " +
                         std::to_string(longest_key_) + " and values of at most " +
                         std::to_string(longest_value_) + " bytes, found " +
                         std::to_string(key.size()) + " and " + std::to_string(value.size()));
    }
    try {
      const auto deadline = deadline_after(kAnswerTime);
      const wire::Request request{.operation = wire::kSet,
                                  .key_bytes = static_cast<std::uint32_t>(key.size()),
                                  .argument = static_cast<std::uint32_t>(value.size())};
      write({asio::buffer(&request, sizeof request), asio::buffer(key), asio::buffer(value)},
            deadline);
      wire::Reply reply;
      read(asio::buffer(&reply, sizeof reply), deadline);
      if (reply.answer == wire::kDone) return {};
      return failure(ErrorCode::unavailable,
                     std::string("the ranks' meeting point is full: no ") +
                         (reply.answer == wire::kTooManyKeys ? "further key is taken"
                                                             : "more bytes are taken"));
    } catch (const SystemError& e) {
      return failure(lost(e));
    }
  }

  Result<std::vector<char>> get(const std::string& key, milliseconds timeout) {
    try {
      for (milliseconds left = timeout;;) {
        const milliseconds wait = std::clamp(left, milliseconds(0), wire::kLongestWait);
        auto value = get_once(key, wait);
        if (value) return std::move(*value);
        left -= wait;
        if (left <= milliseconds(0)) break;
      }
      return failure(ErrorCode::timed_out, "waited " + std::to_string(timeout.count()) +
                                               " ms for another rank to appear (" + key + ")");
    } catch (const SystemError& e) {
      return failure(lost(e));
    }
  }

  std::string local_address() const { return socket_.local_endpoint().address().to_string(); }

 private:
  Result<void> introduce(const std::string& secret, Deadline deadline) {
    const greeting::Channel channel = {
        .read = [&](void* into, std::size_t bytes) -> Result<void> {
          read(asio::buffer(into, bytes), deadline);
          return {};
        },
        .write = [&](const void* from, std::size_t bytes) -> Result<void> {
          write({asio::buffer(from, bytes)}, deadline);
          return {};
        }};
    bool try_again = false;
    const auto met =
        greeting::greet_server(channel, wire::kProtocol, secret, "rank 0", {}, try_again);
    if (!met && try_again) throw SystemError(asio::error::no_buffer_space, met.error().message);
    HOCKET_TRY(met);
    wire::Limits limits;
    read(asio::buffer(&limits, sizeof limits), deadline);
    longest_key_ = limits.key_bytes;
    longest_value_ = std::min(limits.value_bytes, wire::kLongestValue);
    return {};
  }

  std::optional<std::vector<char>> get_once(const std::string& key, milliseconds wait) {
    const auto deadline = deadline_after(wait + kAnswerTime);
    const wire::Request request{.operation = wire::kGet,
                                .key_bytes = static_cast<std::uint32_t>(key.size()),
                                .argument = static_cast<std::uint32_t>(wait.count())};
    write({asio::buffer(&request, sizeof request), asio::buffer(key)}, deadline);
    wire::Reply reply;
    read(asio::buffer(&reply, sizeof reply), deadline);
    if (reply.answer != wire::kDone) return std::nullopt;
    if (reply.value_bytes > longest_value_) throw SystemError(asio::error::message_size);
    std::vector<char> value(reply.value_bytes);
    read(asio::buffer(value), deadline);
    return value;
  }

  void read(asio::mutable_buffer buffer, Deadline deadline) {
    finish(deadline, [&](auto done) {
      asio::async_read(socket_, buffer, [done](auto error, std::size_t) { done(error); });
    });
  }

  void write(const std::vector<asio::const_buffer>& buffers, Deadline deadline) {
    finish(deadline, [&](auto done) {
      asio::async_write(socket_, buffers, [done](auto error, std::size_t) { done(error); });
    });
  }

  /// Starts an operation and waits for its end, at most until the deadline.
  template <class Start>
  void finish(Deadline deadline, const Start& start) {
    std::optional<boost::system::error_code> ended;
    start([&ended](boost::system::error_code error) { ended = error; });
    context_.restart();
    context_.run_until(deadline);
    if (ended && !*ended) return;
    const auto error = ended.value_or(asio::error::timed_out);
    // A connection that broke stays broken: later calls fail at once instead of waiting.
    boost::system::error_code ignored;
    socket_.close(ignored);
    context_.restart();
    context_.run();
    throw SystemError(error);
  }

  static Error lost(const SystemError& e) {
    return {ErrorCode::unavailable,
            std::string("the connection to the ranks' meeting point broke: ") + e.what()};
  }

  asio::io_context context_;
  tcp::socket socket_;
  std::size_t longest_key_ = 0, longest_value_ = 0;
};

TcpStoreClient::TcpStoreClient(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}

TcpStoreClient::~TcpStoreClient() = default;

Result<void> TcpStoreClient::set(const std::string& key, const std::vector<char>& value) {
  return connection_->set(key, value);
}

Result<std::vector<char>> TcpStoreClient::get(const std::string& key, milliseconds timeout) {
  return connection_->get(key, timeout);
}

std::string TcpStoreClient::local_address() const {
  return connection_->local_address();
}

Result<std::unique_ptr<TcpStoreClient>> TcpStoreClient::connect(const std::string& host,
                                                                std::uint16_t port,
                                                                milliseconds timeout,
                                                                const std::string& secret) {
  const auto deadline = deadline_after(timeout);
  for (;;) {
    try {
      auto connection = std::make_unique<Connection>();
      HOCKET_TRY(connection->connect(host, port, secret, deadline));
      return std::unique_ptr<TcpStoreClient>(new TcpStoreClient(std::move(connection)));
    } catch (const SystemError& e) {
      if (std::chrono::steady_clock::now() >= deadline) {
        return failure(ErrorCode::timed_out,
                       "rank 0 did not answer at " + host + ":" + std::to_string(port) +
                           " within " + std::to_string(timeout.count()) + " ms: " + e.what());
      }
    }
    // Rank 0 may not have started yet, or all its places may be taken.
    std::this_thread::sleep_for(kRetryPause);
  }
}

}  // namespace hocket
