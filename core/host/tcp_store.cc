#include "core/host/tcp_store.h"

#include <utility>  // Boost 1.74's awaitable.hpp needs it first

#include <algorithm>
#include <boost/asio.hpp>
#include <optional>
#include <thread>

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

std::string secret_differs(const char* how) {
  return std::string("environment variable ") + kRendezvousSecretVariable + how +
         "; set it to the same text on every rank, or on none";
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
      const auto head = wire::swapped<3>({wire::kSet, static_cast<std::uint32_t>(key.size()),
                                          static_cast<std::uint32_t>(value.size())});
      write({asio::buffer(head), asio::buffer(key), asio::buffer(value)}, deadline);
      wire::Words<1> answer;
      read(asio::buffer(answer), deadline);
      const std::uint32_t outcome = wire::swapped(answer)[0];
      if (outcome == wire::kDone) return {};
      return failure(
          ErrorCode::unavailable,
          std::string("the ranks' meeting point is full: no ") +
              (outcome == wire::kTooManyKeys ? "further key is taken" : "more bytes are taken"));
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
  /// Performs steps 1 to 3 of core/host/tcp_store_wire.h.
  Result<void> introduce(const std::string& secret, Deadline deadline) {
    wire::Greeting greeting;
    read(asio::buffer(&greeting, sizeof greeting), deadline);
    const auto [magic, welcome, longest_key, longest_value] = wire::swapped(greeting.words);
    if (magic != wire::kMagic) {
      return failure(ErrorCode::unavailable, "what listens there is not a rank 0 of this version");
    }
    if (welcome == wire::kCrowded) {
      throw SystemError(asio::error::no_buffer_space, "all places of the rendezvous are taken");
    }
    if (welcome == wire::kNeedsSecret && secret.empty()) {
      return invalid(secret_differs(" is set on rank 0 and not on this rank"));
    }
    if (welcome == wire::kOpen && !secret.empty()) {
      return invalid(secret_differs(" is set on this rank and not on rank 0"));
    }
    wire::Introduction own{wire::swapped<1>({secret.empty() ? 0U : 1U}), random_nonce(), {}};
    if (!secret.empty()) own.proof = prove(secret, ProofOf::client, greeting.nonce, own.nonce);
    write({asio::buffer(&own, sizeof own)}, deadline);
    wire::Verdict verdict;
    read(asio::buffer(&verdict, sizeof verdict), deadline);
    const bool known = secret.empty() || equal(verdict.proof, prove(secret, ProofOf::server,
                                                                    greeting.nonce, own.nonce));
    if (wire::swapped(verdict.welcome)[0] == 0 || !known) {
      return invalid(secret_differs(" of this rank differs from rank 0's"));
    }
    longest_key_ = longest_key;
    longest_value_ = std::min(longest_value, wire::kLongestValue);
    return {};
  }

  std::optional<std::vector<char>> get_once(const std::string& key, milliseconds wait) {
    const auto deadline = deadline_after(wait + kAnswerTime);
    const auto head = wire::swapped<3>({wire::kGet, static_cast<std::uint32_t>(key.size()),
                                        static_cast<std::uint32_t>(wait.count())});
    write({asio::buffer(head), asio::buffer(key)}, deadline);
    wire::Words<2> reply;
    read(asio::buffer(reply), deadline);
    const auto [answer, length] = wire::swapped(reply);
    if (answer != wire::kDone) return std::nullopt;
    if (length > longest_value_) throw SystemError(asio::error::message_size);
    std::vector<char> value(length);
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
