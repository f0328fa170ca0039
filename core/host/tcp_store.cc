#include "core/host/tcp_store.h"

#include <utility>  // Boost 1.74's awaitable.hpp needs it first

#include <array>
#include <boost/asio.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

// Wire format; all integers have 32 bits in network order. Request: operation (0 set, 1 get), key
// length, value length (set) or timeout in ms (get), key, value (set). Reply to set: 1. Reply to
// get: 1 if the key was set in time, else 0; value length; value.

namespace hocket {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::uint32_t kSet = 0, kGet = 1;
constexpr std::uint32_t kMaxLength = 16 << 20;

template <std::size_t N>
using Words = std::array<std::uint32_t, N>;

template <std::size_t N>
void write_words(tcp::socket& socket, Words<N> words) {
  for (auto& word : words) word = htonl(word);
  asio::write(socket, asio::buffer(words));
}

template <std::size_t N>
Words<N> read_words(tcp::socket& socket) {
  Words<N> words;
  asio::read(socket, asio::buffer(words));
  for (auto& word : words) word = ntohl(word);
  return words;
}

std::vector<char> read_bytes(tcp::socket& socket, std::uint32_t length) {
  if (length > kMaxLength) throw boost::system::system_error(asio::error::message_size);
  std::vector<char> bytes(length);
  asio::read(socket, asio::buffer(bytes));
  return bytes;
}

class Server final : public TcpStoreServer {
 public:
  explicit Server(std::uint16_t port) : acceptor_(context_, tcp::endpoint(tcp::v4(), port)) {
    accepting_ = std::jthread([this] { accept(); });
  }

  ~Server() override {
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
      for (auto& socket : sockets_) {
        boost::system::error_code ignored;
        socket->shutdown(tcp::socket::shutdown_both, ignored);
      }
    }
    changed_.notify_all();
    // Wakes the blocking accept(); closing its descriptor would not.
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
    accepting_.join();
    serving_.clear();
  }

  std::uint16_t port() const override { return acceptor_.local_endpoint().port(); }

 private:
  void accept() {
    for (;;) {
      auto socket = std::make_shared<tcp::socket>(context_);
      boost::system::error_code error;
      acceptor_.accept(*socket, error);
      std::lock_guard lock(mutex_);
      if (closing_) return;
      if (error) continue;
      sockets_.push_back(socket);
      serving_.emplace_back([this, socket] { serve(*socket); });
    }
  }

  void serve(tcp::socket& socket) {
    try {
      for (;;) {
        const auto [operation, key_length, argument] = read_words<3>(socket);
        const auto key_bytes = read_bytes(socket, key_length);
        const std::string key(key_bytes.begin(), key_bytes.end());
        if (operation == kSet) {
          set(key, read_bytes(socket, argument));
          write_words<1>(socket, {1});
        } else if (operation == kGet) {
          const auto value = get(key, std::chrono::milliseconds(argument));
          write_words<2>(socket,
                         {value ? 1u : 0u, value ? static_cast<std::uint32_t>(value->size()) : 0u});
          if (value) asio::write(socket, asio::buffer(*value));
        } else {
          return;
        }
      }
    } catch (const boost::system::system_error&) {
      // The client is gone, or did not speak this protocol.
    }
  }

  void set(const std::string& key, std::vector<char> value) {
    std::lock_guard lock(mutex_);
    values_[key] = std::move(value);
    changed_.notify_all();
  }

  std::optional<std::vector<char>> get(const std::string& key, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return closing_ || values_.count(key) > 0; });
    const auto it = values_.find(key);
    return it == values_.end() ? std::nullopt : std::optional(it->second);
  }

  asio::io_context context_;
  tcp::acceptor acceptor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::map<std::string, std::vector<char>> values_;
  std::vector<std::shared_ptr<tcp::socket>> sockets_;
  bool closing_ = false;
  std::vector<std::jthread> serving_;  // accessed only by accepting_ until that thread has ended
  std::jthread accepting_;
};

class Client final : public TcpStoreClient {
 public:
  Client(const std::string& host, std::uint16_t port) : socket_(context_) {
    asio::connect(socket_, tcp::resolver(context_).resolve(host, std::to_string(port)));
    socket_.set_option(tcp::no_delay(true));
  }

  Result<void> set(const std::string& key, const std::vector<char>& value) override {
    try {
      write_words<3>(socket_, {kSet, static_cast<std::uint32_t>(key.size()),
                               static_cast<std::uint32_t>(value.size())});
      asio::write(socket_, asio::buffer(key));
      asio::write(socket_, asio::buffer(value));
      read_words<1>(socket_);
      return {};
    } catch (const boost::system::system_error& e) {
      return failure(lost(e));
    }
  }

  Result<std::vector<char>> get(const std::string& key,
                                std::chrono::milliseconds timeout) override {
    try {
      write_words<3>(socket_, {kGet, static_cast<std::uint32_t>(key.size()),
                               static_cast<std::uint32_t>(timeout.count())});
      asio::write(socket_, asio::buffer(key));
      const auto [found, length] = read_words<2>(socket_);
      if (found) return read_bytes(socket_, length);
      return failure(ErrorCode::timed_out, "waited " + std::to_string(timeout.count()) +
                                               " ms for another rank to appear (" + key + ")");
    } catch (const boost::system::system_error& e) {
      return failure(lost(e));
    }
  }

  std::string local_address() const override {
    return socket_.local_endpoint().address().to_string();
  }

 private:
  static Error lost(const boost::system::system_error& e) {
    return {ErrorCode::unavailable,
            std::string("the connection to the ranks' meeting point broke: ") + e.what()};
  }

  asio::io_context context_;
  tcp::socket socket_;
};

}  // namespace

Result<std::unique_ptr<TcpStoreServer>> TcpStoreServer::listen(std::uint16_t port) {
  try {
    return std::make_unique<Server>(port);
  } catch (const boost::system::system_error& e) {
    return failure(ErrorCode::unavailable,
                   "cannot listen on port " + std::to_string(port) + ": " + e.what());
  }
}

Result<std::unique_ptr<TcpStoreClient>> TcpStoreClient::connect(const std::string& host,
                                                                std::uint16_t port,
                                                                std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    try {
      return std::make_unique<Client>(host, port);
    } catch (const boost::system::system_error& e) {
      if (std::chrono::steady_clock::now() >= deadline) {
        return failure(ErrorCode::timed_out,
                       "rank 0 did not answer at " + host + ":" + std::to_string(port) +
                           " within " + std::to_string(timeout.count()) + " ms: " + e.what());
      }
    }
    // Rank 0 may not have started yet.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace hocket
