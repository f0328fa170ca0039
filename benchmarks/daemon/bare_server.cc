#include "benchmarks/daemon/bare_server.h"

#include <utility>  // must precede Boost 1.74's awaitable.hpp

#include <boost/asio.hpp>
#include <charconv>
#include <vector>

#include "benchmarks/daemon/server_process.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct Client : std::enable_shared_from_this<Client> {
  Client(tcp::socket s, std::vector<std::shared_ptr<Client>>& w)
      : socket(std::move(s)), watchers(w) {}

  void read() {
    asio::async_read_until(socket, asio::dynamic_buffer(input), "\r\n\r\n",
                           [self = shared_from_this()](error_code error, std::size_t bytes) {
                             if (!error) self->read_body(bytes);
                           });
  }

  /// Reads the body that follows the head of `bytes` bytes, if there is one.
  void read_body(std::size_t bytes) {
    constexpr std::string_view kLength = "Content-Length: ";
    const std::size_t at = std::string_view(input.data(), bytes).find(kLength);
    std::size_t body = 0;
    if (at != std::string_view::npos) {
      std::from_chars(input.data() + at + kLength.size(), input.data() + bytes, body);
    }
    const std::size_t whole = bytes + body;
    if (input.size() >= whole) return answer(whole);
    asio::async_read(socket, asio::dynamic_buffer(input),
                     asio::transfer_exactly(whole - input.size()),
                     [self = shared_from_this(), whole](error_code error, std::size_t) {
                       if (!error) self->answer(whole);
                     });
  }

  void answer(std::size_t bytes) {
    static const std::string not_modified = "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n";
    static const std::string whole =
        "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kBodyBytes) + "\r\n\r\n" +
        std::string(kBodyBytes, '.');
    static const std::string stream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    const std::string_view request(input.data(), bytes);
    const bool watches = request.starts_with("GET /watch");
    const bool is_conditional = request.find("If-None-Match") != std::string_view::npos;
    const std::string& text = watches ? stream : is_conditional ? not_modified : whole;
    input.erase(0, bytes);
    if (watches) watchers.push_back(shared_from_this());
    asio::async_write(socket, asio::buffer(text),
                      [self = shared_from_this()](error_code error, std::size_t) {
                        if (!error) self->read();
                      });
  }

  tcp::socket socket;
  std::vector<std::shared_ptr<Client>>& watchers;
  std::string input;
};

}  // namespace

struct BareServer::State {
  asio::io_context io{1};
  tcp::acceptor acceptor{io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::vector<std::shared_ptr<Client>> watchers;

  void accept() {
    acceptor.async_accept([this](error_code error, tcp::socket socket) {
      if (error) return;
      socket.set_option(tcp::no_delay(true));
      std::make_shared<Client>(std::move(socket), watchers)->read();
      accept();
    });
  }
};

BareServer::BareServer() : state_(std::make_unique<State>()) {}

BareServer::~BareServer() = default;

std::uint16_t BareServer::port() const {
  return state_->acceptor.local_endpoint().port();
}

void BareServer::run() {
  state_->accept();
  state_->io.run();
}

void BareServer::publish(std::string text) {
  asio::post(state_->io, [this, shared = std::make_shared<const std::string>(std::move(text))] {
    for (const auto& watcher : state_->watchers) {
      asio::async_write(watcher->socket, asio::buffer(*shared),
                        [shared, watcher](error_code, std::size_t) {});
    }
  });
}

void BareServer::stop() {
  state_->io.stop();
}

}  // namespace hocket
