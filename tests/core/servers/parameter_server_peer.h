#pragma once

// Peers that say what a test tells them to a parameter server or to a rank. One thread each.

#include <utility>  // Boost 1.74's awaitable.hpp needs it first

#include <boost/asio.hpp>
#include <list>
#include <string>
#include <thread>

#include "core/servers/parameter_server.h"
#include "core/servers/wire.h"

namespace hocket {

/// The bytes of a message.
template <class Message>
std::string bytes_of(const Message& message) {
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

/// Returns the introduction of a rank without a secret.
inline std::string introduction_of(
    const server_wire::RankIdentity& identity,
    const greeting::Opening& opening = greeting::opening_of(server_wire::kProtocol)) {
  return bytes_of(greeting::Introduction{.opening = opening}) + bytes_of(identity);
}

/// A connection to a server.
class RawRank {
 public:
  explicit RawRank(const ParameterServer& server) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), server.port()});
  }

  void send(std::string_view bytes) {
    boost::system::error_code ignored;  // the server may end the connection at any byte
    boost::asio::write(socket_, boost::asio::buffer(bytes), ignored);
  }
  template <class Message>
  void send_message(const Message& message) {
    send(bytes_of(message));
  }
  /// Receives a message, or what came before the end.
  template <class Message>
  Message receive() {
    Message message{};
    boost::system::error_code ignored;
    boost::asio::read(socket_, boost::asio::buffer(&message, sizeof message), ignored);
    return message;
  }
  std::string receive_text(std::size_t bytes) {
    std::string text(bytes, '\0');
    boost::system::error_code ignored;
    boost::asio::read(socket_, boost::asio::buffer(text), ignored);
    return text;
  }
  /// Receives the greeting and says without a secret that it is `identity`; returns the outcome.
  greeting::Outcome introduce(const server_wire::RankIdentity& identity) {
    (void)receive<greeting::Greeting>();
    send(introduction_of(identity));
    return receive<greeting::Verdict>().outcome;
  }
  /// Blocks until the server has ended the connection.
  void wait_for_end() {
    char bytes[256];
    boost::system::error_code error;
    while (!error) socket_.read_some(boost::asio::buffer(bytes), error);
  }

 private:
  boost::asio::io_context context_;
  boost::asio::ip::tcp::socket socket_{context_};
};

/// Sends each of its clients the same bytes and nothing more, and does not hear them.
class RawServer {
 public:
  explicit RawServer(std::string bytes) : bytes_(std::move(bytes)) {
    serving_ = std::jthread([this] { serve(); });
  }
  ~RawServer() { ::shutdown(acceptor_.native_handle(), SHUT_RDWR); }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  using tcp = boost::asio::ip::tcp;

  void serve() {
    std::list<tcp::socket> clients;
    boost::system::error_code error;
    while (!acceptor_.accept(clients.emplace_back(context_), error)) {
      boost::system::error_code gone;
      boost::asio::write(clients.back(), boost::asio::buffer(bytes_), gone);
      clients.back().shutdown(tcp::socket::shutdown_send, gone);
    }
  }

  const std::string bytes_;
  boost::asio::io_context context_;
  tcp::acceptor acceptor_{context_, {boost::asio::ip::address_v4::loopback(), 0}};
  std::jthread serving_;
};

}  // namespace hocket
