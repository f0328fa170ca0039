#include "client/link/http_client.h"

#include <netdb.h>
#include <openssl/ssl.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <limits>
#include <optional>
#include <system_error>
#include <thread>

#include "client/link/http_client_certificate.h"
#include "core/files/regular_file.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kMaxErrorBytes = 64 << 10;
/// Limits the bytes received and not parsed, such as a line among chunks that does not end.
constexpr std::size_t kMaxBufferBytes = 128 << 10;
constexpr std::int64_t kMaxCertificateBytes = 16 << 20;

/// Result of a name lookup, shared with the thread that runs it.
struct Lookup {
  bool done = false;
  int error = 0;
  std::vector<tcp::endpoint> endpoints = {};
};

Lookup look_up(const std::string& host, std::uint16_t port) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  Lookup lookup{.done = true};
  lookup.error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (lookup.error != 0) return lookup;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    tcp::endpoint endpoint;
    if (info->ai_addrlen > endpoint.capacity()) continue;
    endpoint.resize(info->ai_addrlen);
    std::copy_n(reinterpret_cast<const char*>(info->ai_addr), info->ai_addrlen,
                reinterpret_cast<char*>(endpoint.data()));
    lookup.endpoints.push_back(endpoint);
  }
  ::freeaddrinfo(found);
  return lookup;
}

template <class Fields>
std::string field(const Fields& fields, http::field name) {
  const auto value = fields[name];
  return {value.data(), value.size()};
}

http::request<http::string_body> wire_request(const HttpRequest& request,
                                              const DaemonAccess& daemon) {
  http::request<http::string_body> wire;
  wire.method_string(request.method);
  wire.target(request.target);
  wire.version(11);
  wire.set(http::field::host, to_string(daemon.address).substr(daemon.address.tls ? 8 : 7));
  wire.set(http::field::user_agent, "hocket");
  if (!daemon.token.empty()) wire.set(http::field::authorization, "Bearer " + daemon.token);
  for (const auto& [name, value] : request.headers) wire.set(name, value);
  if (!request.body.empty()) wire.set(http::field::content_type, request.content_type);
  wire.body() = request.body;
  wire.prepare_payload();
  return wire;
}

}  // namespace

class HttpClient::Connection {
 public:
  explicit Connection(DaemonAccess daemon)
      : daemon_(std::move(daemon)),
        name_("daemon " + to_string(daemon_.address)),
        context_(std::make_shared<asio::io_context>()),
        socket_(*context_) {}

  Result<HttpResponse> send(const HttpRequest& request, Deadline deadline) {
    for (bool reused = socket_.is_open();; reused = false) {
      if (!reused) {
        HOCKET_TRY(connect(deadline));
      }
      HttpResponse response;
      bool answered = false;
      const error_code error = exchange(request, deadline, response, answered);
      if (!error) return response;
      close();
      if (!reused || answered || error == asio::error::timed_out)
        return failure(failed(error, "it gave no valid answer"));
    }
  }

  Error stream(const HttpRequest& request, const Stream& stream) {
    close();
    const Deadline opened_by = deadline_after_ns(stream.open_timeout_ns);
    if (auto ok = connect(opened_by); !ok) return ok.error();
    auto wire = wire_request(request, daemon_);
    wire.set(http::field::accept, "text/event-stream");
    StreamParser parser;
    parser.header_limit(kMaxHeaderBytes);
    // "none" would reject a Content-Length
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    error_code error = write(wire, opened_by);
    if (!error) {
      error = await([&](auto& io, auto done) { async_read_header(io, buffer_, parser, done); },
                    opened_by);
    }
    if (error) return failed(error, "it gave no valid answer");
    const std::string type = field(parser.get(), http::field::content_type);
    if (parser.get().result_int() != 200) return refusal(parser, type, opened_by);
    if (!type.starts_with("text/event-stream"))
      return {ErrorCode::unavailable, name_ + " is not a hocket daemon: it answered " + type};
    if (stream.on_open) stream.on_open();
    while (!parser.is_done()) {
      std::string_view bytes;
      error = read_some(parser, deadline_after_ns(stream.silence_limit_ns), bytes);
      if (!bytes.empty() && !stream.on_bytes(bytes))
        return {ErrorCode::interrupted, name_ + ": the stream is not wanted any more"};
      if (error) return failed(error, "its stream broke");
    }
    return {ErrorCode::unavailable, name_ + " ended the stream"};
  }

  void end_by(Deadline deadline) {
    const Deadline::rep ticks = deadline.time_since_epoch().count();
    Deadline::rep limit = limit_ticks_;
    while (ticks < limit && !limit_ticks_.compare_exchange_weak(limit, ticks)) {
    }
    asio::post(*context_, [] {});  // wakes the waiting thread, which then reads the new limit
  }

  void close() {
    error_code ignored;
    socket_.close(ignored);
    tls_.reset();
    buffer_.clear();
  }

  const std::string& name() const { return name_; }

 private:
  using StreamParser = http::response_parser<http::buffer_body>;

  Deadline limited(Deadline deadline) const {
    return std::min(deadline, Deadline(Deadline::duration(limit_ticks_.load())));
  }

  /// Runs posted handlers until `done()`. Returns false if `deadline` passes first.
  bool run_until(const auto& done, Deadline deadline) {
    context_->restart();
    const auto work = asio::make_work_guard(*context_);
    while (!done()) {
      const Deadline limit = limited(deadline);
      if (std::chrono::steady_clock::now() >= limit) {
        context_->poll();  // accept results that arrived in time although this thread was delayed
        return done();
      }
      context_->run_one_until(limit);
    }
    return true;
  }

  /// Starts an operation by `start(handler)` and blocks until it ends or `deadline` passes.
  error_code await_on_socket(const auto& start, Deadline deadline) {
    std::optional<error_code> result;
    start([&result](error_code error, const auto&...) { result = error; });
    if (run_until([&] { return result.has_value(); }, deadline)) return *result;
    error_code ignored;
    socket_.close(ignored);  // cancels the operation
    while (!result) context_->run_one();
    return asio::error::timed_out;
  }

  /// Like await_on_socket, but on the TLS stream if there is one: calls `start(stream, handler)`.
  error_code await(const auto& start, Deadline deadline) {
    return await_on_socket([&](auto done) { tls_ ? start(*tls_, done) : start(socket_, done); },
                           deadline);
  }

  template <class Message>
  error_code write(const Message& message, Deadline deadline) {
    return await([&](auto& io, auto done) { http::async_write(io, message, done); }, deadline);
  }

  error_code exchange(const HttpRequest& request, Deadline deadline, HttpResponse& response,
                      bool& answered) {
    const auto wire = wire_request(request, daemon_);
    if (const error_code error = write(wire, deadline)) return error;
    http::response_parser<http::string_body> parser;
    parser.header_limit(kMaxHeaderBytes);
    parser.body_limit(kMaxBodyBytes);
    const error_code error =
        await([&](auto& io, auto done) { http::async_read(io, buffer_, parser, done); }, deadline);
    answered = parser.got_some();
    if (error) return error;
    auto& message = parser.get();
    response = {static_cast<int>(message.result_int()), field(message, http::field::content_type),
                field(message, http::field::etag), std::move(message.body())};
    // Bytes that follow an answer unasked are no answer to the next request.
    if (!message.keep_alive() || buffer_.size() > 0 || response.status < 200) close();
    return {};
  }

  /// Reads the next bytes of the body into chunk_.
  error_code read_some(StreamParser& parser, Deadline deadline, std::string_view& bytes) {
    auto& body = parser.get().body();
    body.data = chunk_.data();
    body.size = chunk_.size();
    body.more = true;
    const error_code error = await(
        [&](auto& io, auto done) { http::async_read_some(io, buffer_, parser, done); }, deadline);
    bytes = {chunk_.data(), chunk_.size() - body.size};
    return error == http::error::need_buffer ? error_code() : error;
  }

  Error refusal(StreamParser& parser, const std::string& type, Deadline deadline) {
    HttpResponse response{.status = static_cast<int>(parser.get().result_int()),
                          .content_type = type};
    while (!parser.is_done() && response.body.size() < kMaxErrorBytes) {
      std::string_view bytes;
      const error_code error = read_some(parser, deadline, bytes);
      response.body += bytes;
      if (error) break;
    }
    const auto answer = read_answer(response);
    if (!answer) return answer.error().in(name_);
    return {ErrorCode::unavailable, name_ + " answered " + std::to_string(response.status) +
                                        " where it should stream events"};
  }

  Error failed(error_code error, const std::string& what) const {
    // A server of TLS answers a request without it by an alert, or not at all.
    const bool may_be_tls = !daemon_.address.tls && (error == http::error::end_of_stream ||
                                                     error == http::error::partial_message ||
                                                     error == http::error::bad_version);
    if (error != asio::error::timed_out) {
      return {ErrorCode::unavailable,
              name_ + ": " + what + ": " + error.message() +
                  (may_be_tls ? " (it may speak TLS: https:// in place of http://)" : "")};
    }
    if (std::chrono::steady_clock::now() >= limited(Deadline::max()))
      return {ErrorCode::interrupted, name_ + ": the client was closed"};
    return {ErrorCode::timed_out, name_ + " did not answer in time"};
  }

  Result<std::vector<tcp::endpoint>> resolve(Deadline deadline);
  Result<void> connect(Deadline deadline);
  Result<void> start_tls(Deadline deadline);
  Result<void> make_tls_context();
  /// Keeps why the certificate that `context` verifies is refused.
  void note_distrust(bool is_trusted, X509_STORE_CTX* context);

  const DaemonAccess daemon_;
  const std::string name_;
  // Shared with lookup threads, which may outlive this object.
  const std::shared_ptr<asio::io_context> context_;
  std::atomic<Deadline::rep> limit_ticks_ = std::numeric_limits<Deadline::rep>::max();
  tcp::socket socket_;
  std::optional<asio::ssl::context> tls_context_;
  std::optional<asio::ssl::stream<tcp::socket&>> tls_;  ///< layered over socket_
  std::string distrust_;  ///< why the last certificate was refused; empty if it was not
  boost::beast::flat_buffer buffer_{kMaxBufferBytes};
  std::array<char, 8192> chunk_;
};

/// Runs the resolver in a thread of its own, because its call cannot be cancelled. The thread is
/// abandoned if it does not answer by the deadline.
Result<std::vector<tcp::endpoint>> HttpClient::Connection::resolve(Deadline deadline) {
  const auto& [tls, host, port] = daemon_.address;
  error_code not_numeric;
  const auto address = asio::ip::make_address(host, not_numeric);
  if (!not_numeric) return std::vector<tcp::endpoint>{{address, port}};

  const auto lookup = std::make_shared<Lookup>();
  std::thread([context = context_, lookup, name = host, number = port] {
    asio::post(*context, [lookup, found = look_up(name, number)] { *lookup = found; });
  }).detach();
  if (!run_until([&] { return lookup->done; }, deadline))
    return failure(failed(asio::error::timed_out, ""));
  if (lookup->error != 0 || lookup->endpoints.empty()) {
    return failure(ErrorCode::unavailable,
                   name_ + ": cannot find the host " + host + ": " + ::gai_strerror(lookup->error));
  }
  return std::move(lookup->endpoints);
}

Result<void> HttpClient::Connection::connect(Deadline deadline) {
  close();
  const auto endpoints = resolve(deadline);
  HOCKET_TRY(endpoints);
  error_code error = asio::error::host_not_found;
  for (std::size_t i = 0; i < endpoints->size() && error; ++i) {
    // Divides the remaining time, so that an endpoint that does not answer leaves time for the
    // others.
    const auto now = std::chrono::steady_clock::now();
    const auto share = (std::max(deadline, now) - now) / (endpoints->size() - i);
    close();
    error = await_on_socket([&](auto done) { socket_.async_connect((*endpoints)[i], done); },
                            now + share);
  }
  if (error) {
    close();
    const bool is_nobody_there = error == asio::error::connection_refused;
    Error problem = failed(error, "cannot connect");
    if (is_nobody_there) problem.message += " (`hocket serve` starts a daemon)";
    return failure(std::move(problem));
  }
  socket_.set_option(tcp::no_delay(true), error);
  return daemon_.address.tls ? start_tls(deadline) : Result<void>();
}

Result<void> HttpClient::Connection::make_tls_context() {
  tls_context_.emplace(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(tls_context_->native_handle(), TLS1_2_VERSION);
  tls_context_->set_verify_mode(asio::ssl::verify_peer);
  error_code error;
  if (daemon_.ca_file.empty()) {
    tls_context_->set_default_verify_paths(error);
  } else {
    const auto text = read_regular_file(daemon_.ca_file, kMaxCertificateBytes);
    if (!text) {
      tls_context_.reset();
      return failure(Error{ErrorCode::invalid_argument, text.error().message}.in("HOCKET_CA_FILE"));
    }
    tls_context_->add_certificate_authority(asio::buffer(*text), error);
  }
  if (!error) return {};
  tls_context_.reset();
  return failure(ErrorCode::invalid_argument,
                 "HOCKET_CA_FILE: " + daemon_.ca_file +
                     " has no certificate that can be read: " + error.message() +
                     "; name a PEM file with the certificate of the daemon's authority");
}

void HttpClient::Connection::note_distrust(bool is_trusted, X509_STORE_CTX* context) {
  const std::string& host = daemon_.address.host;
  if (!is_trusted) {
    const int why = X509_STORE_CTX_get_error(context);
    const bool is_time = why == X509_V_ERR_CERT_HAS_EXPIRED || why == X509_V_ERR_CERT_NOT_YET_VALID;
    distrust_ = std::string("its certificate is not trusted: ") +
                X509_verify_cert_error_string(why) +
                (is_time ? "; the daemon needs a new one, or this host's clock is wrong"
                         : "; HOCKET_CA_FILE can name the authority to trust");
    return;
  }
  const std::string names = certificate_names(X509_STORE_CTX_get_current_cert(context));
  distrust_ = "its certificate is not for " + host + ": " +
              (names.empty() ? "it has no name of a host (subjectAltName)" : "it is for " + names) +
              "; ask for one of its names, or make it a certificate for " + host;
}

Result<void> HttpClient::Connection::start_tls(Deadline deadline) {
  if (!tls_context_) {
    if (auto ok = make_tls_context(); !ok) return ok;
  }
  const std::string& host = daemon_.address.host;
  tls_.emplace(socket_, *tls_context_);
  distrust_.clear();
  tls_->set_verify_callback([this, verify = asio::ssl::host_name_verification(host)](
                                bool is_trusted, asio::ssl::verify_context& context) {
    const bool is_right = verify(is_trusted, context);
    if (!is_right) note_distrust(is_trusted, context.native_handle());
    return is_right;
  });
  SSL_set_tlsext_host_name(tls_->native_handle(), host.c_str());
  const error_code error = await_on_socket(
      [&](auto done) { tls_->async_handshake(asio::ssl::stream_base::client, done); }, deadline);
  if (!error) return {};
  close();
  if (!distrust_.empty()) {
    return failure(ErrorCode::unavailable, name_ + ": TLS failed: " + distrust_);
  }
  Error problem = failed(error, "TLS failed");
  // A server without TLS answers with text, of which the library reads a version.
  if (problem.message.find("wrong version number") != std::string::npos) {
    problem.message += " (it may speak without TLS: http:// in place of https://)";
  }
  return failure(std::move(problem));
}

HttpClient::HttpClient(DaemonAccess daemon)
    : connection_(std::make_unique<Connection>(std::move(daemon))) {}

HttpClient::~HttpClient() = default;

const std::string& HttpClient::name() const {
  return connection_->name();
}

Result<HttpResponse> HttpClient::send(const HttpRequest& request, Deadline deadline) {
  try {
    return connection_->send(request, deadline);
  } catch (const std::exception& e) {
    connection_->close();
    return failure(ErrorCode::unavailable, connection_->name() + ": " + e.what());
  }
}

Error HttpClient::stream(const HttpRequest& request, const Stream& stream) {
  try {
    Error error = connection_->stream(request, stream);
    connection_->close();
    return error;
  } catch (const std::exception& e) {
    connection_->close();
    return {ErrorCode::unavailable, connection_->name() + ": " + e.what()};
  }
}

void HttpClient::end_by(Deadline deadline) {
  connection_->end_by(deadline);
}

}  // namespace hocket
