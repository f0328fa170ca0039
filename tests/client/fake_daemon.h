#pragma once

// A server on loopback that follows a test's script, which may violate the protocol. Serves each
// connection on a thread of its own.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "client/link/daemon_access.h"

namespace hocket {

class FakeDaemon {
 public:
  struct Request {
    std::string head, body;

    bool is(std::string_view start) const { return head.starts_with(start); }
    bool says(std::string_view text) const { return head.find(text) != std::string::npos; }
  };

  class Peer {
   public:
    explicit Peer(int socket) : socket_(socket) {}

    /// Returns the next request; nothing if the client has disconnected.
    std::optional<Request> read() {
      std::size_t end = 0;
      while ((end = text_.find("\r\n\r\n")) == std::string::npos) {
        if (!receive()) return std::nullopt;
      }
      Request request{text_.substr(0, end + 4), ""};
      text_.erase(0, end + 4);
      const auto at = request.head.find("Content-Length: ");
      const std::size_t length =
          at == std::string::npos ? 0 : std::stoul(request.head.substr(at + 16));
      while (text_.size() < length) {
        if (!receive()) return std::nullopt;
      }
      request.body = text_.substr(0, length);
      text_.erase(0, length);
      return request;
    }

    bool write(std::string_view text) {
      while (!text.empty()) {
        const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(sent));
      }
      return true;
    }

    int socket() const { return socket_; }

    void wait_until_gone() {
      while (receive()) {
      }
    }

   private:
    bool receive() {
      char bytes[4096];
      const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
      if (count > 0) text_.append(bytes, static_cast<std::size_t>(count));
      return count > 0;
    }

    const int socket_;
    std::string text_;
  };

  /// Without a script, connections are never accepted.
  explicit FakeDaemon(std::function<void(Peer&)> script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 64);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    if (script_) accepting_ = std::thread([this] { accept(); });
  }

  ~FakeDaemon() {
    ::shutdown(listener_, SHUT_RDWR);
    if (accepting_.joinable()) accepting_.join();
    for (auto& [socket, thread] : peers_) {
      ::shutdown(socket, SHUT_RDWR);
      thread.join();
      ::close(socket);
    }
    ::close(listener_);
  }

  /// Returns a script that answers every request with `answer(request)`; "" closes the connection.
  static std::function<void(Peer&)> answering(std::function<std::string(const Request&)> answer) {
    return [answer = std::move(answer)](Peer& peer) {
      while (const auto request = peer.read()) {
        const std::string text = answer(*request);
        if (text.empty() || !peer.write(text)) return;
      }
    };
  }

  DaemonAccess access() const { return {.address = {.host = "127.0.0.1", .port = port_}}; }
  std::string url() const { return to_string(access().address); }
  int connections() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(peers_.size());
  }

 private:
  void accept() {
    for (;;) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      const std::lock_guard lock(mutex_);
      peers_.emplace_back(socket, std::thread([this, socket] {
                            Peer peer(socket);
                            script_(peer);
                            ::shutdown(socket, SHUT_RDWR);
                          }));
    }
  }

  const std::function<void(Peer&)> script_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread accepting_;
  mutable std::mutex mutex_;
  std::list<std::pair<int, std::thread>> peers_;  // guarded by mutex_
};

inline std::string http_answer(int status, const std::string& body,
                               const std::string& type = "application/json") {
  return "HTTP/1.1 " + std::to_string(status) + " Status\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// Collects items in order from the threads of a fake daemon or a client.
template <class T>
class Inbox {
 public:
  void add(T item) {
    {
      const std::lock_guard lock(mutex_);
      items_.push_back(std::move(item));
    }
    changed_.notify_all();
  }

  /// Waits for the next item that is `right`, and drops those before it. Returns nothing after a
  /// timeout long enough to mean failure.
  std::optional<T> wait(const std::function<bool(const T&)>& right = [](const T&) {
    return true;
  }) {
    std::unique_lock lock(mutex_);
    auto found = items_.end();
    changed_.wait_for(lock, std::chrono::seconds(20), [&] {
      found = std::find_if(items_.begin(), items_.end(), right);
      return found != items_.end();
    });
    if (found == items_.end()) return std::nullopt;
    T item = std::move(*found);
    items_.erase(items_.begin(), std::next(found));
    return item;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<T> items_;  // guarded by mutex_
};

}  // namespace hocket
