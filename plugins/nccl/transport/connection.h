#pragma once

// A socket that carries frames (agreement/message.h) in both directions without ever waiting. Owns
// the descriptor. One thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "plugins/nccl/agreement/message.h"

namespace hocket::nccl {

class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {}
  Connection(Connection&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        in_(std::move(other.in_)),
        out_(std::move(other.out_)),
        has_failed_(other.has_failed_) {}
  Connection& operator=(Connection&&) = delete;
  ~Connection();

  int fd() const { return fd_; }
  bool has_output() const { return !out_.empty(); }
  /// False once the other end has closed, has sent what is no frame, or reads nothing.
  bool is_open() const { return !has_failed_; }

  /// Makes is_open() false.
  void give_up() { has_failed_ = true; }

  /// Adds bytes to the output and sends what the socket takes.
  void send(std::string_view bytes);
  void send(const Message& message) { send(encode(message)); }
  /// Sends what the socket takes.
  void flush();
  /// Reads what has arrived.
  void receive();
  /// Takes raw bytes from the front of what has arrived; false if there are fewer.
  bool take(std::size_t count, std::string& bytes);
  /// Takes the next message; false if there is no whole one.
  bool take(Message& message);

 private:
  int fd_;
  std::string in_, out_;
  bool has_failed_ = false;
};

}  // namespace hocket::nccl
