#include "core/servers/server_connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "core/greeting/client_side.h"
#include "core/servers/tcp_options.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
namespace wire = server_wire;
using asio::ip::tcp;
using boost::system::error_code;

std::string ms_text(std::int64_t time_ns) {
  return std::to_string(time_ns / 1'000'000) + " ms";
}

/// Waits until one of `polled` is ready. Asio's calls that wait on the caller's thread know no time
/// limit, and its asynchronous ones need a turn of the event loop for every 64 KiB.
error_code wait_for(std::span<pollfd> polled, std::int64_t timeout_ns) {
  const std::int64_t timeout_ms = std::clamp<std::int64_t>((timeout_ns + 999'999) / 1'000'000, 0,
                                                           std::numeric_limits<int>::max());
  int ready = 0;
  do {
    ready = ::poll(polled.data(), polled.size(), static_cast<int>(timeout_ms));
  } while (ready < 0 && errno == EINTR);
  if (ready > 0) return {};
  return ready == 0 ? error_code(asio::error::timed_out)
                    : error_code(errno, boost::system::system_category());
}

}  // namespace

ServerConnection::ServerConnection(const ServerConnectionOptions& options) : options_(options) {}

void ServerConnection::shut_down() {
  const std::lock_guard lock(mutex_);
  is_shut_down_ = true;
  if (handle_ >= 0) ::shutdown(handle_, SHUT_RDWR);
}

void ServerConnection::close() {
  const std::lock_guard lock(mutex_);
  handle_ = -1;
  error_code ignored;
  socket_.close(ignored);
}

error_code ServerConnection::wait_for_socket(short events, std::int64_t timeout_ns) {
  pollfd polled = {.fd = socket_.native_handle(), .events = events, .revents = 0};
  return wait_for({&polled, 1}, timeout_ns);
}

error_code ServerConnection::read(void* into, std::size_t bytes, std::int64_t timeout_ns) {
  asio::mutable_buffer left(into, bytes);
  while (left.size() > 0) {
    error_code error;
    left += socket_.read_some(left, error);
    if (error == asio::error::would_block) error = wait_for_socket(POLLIN, timeout_ns);
    if (error) return error;
  }
  return {};
}

error_code ServerConnection::write(const void* head, std::size_t head_bytes,
                                   std::span<const float> values) {
  std::array<asio::const_buffer, 2> left = {asio::const_buffer(head, head_bytes),
                                            asio::const_buffer(values.data(), values.size_bytes())};
  while (left[0].size() + left[1].size() > 0) {
    error_code error;
    std::size_t sent = socket_.write_some(left, error);
    for (asio::const_buffer& buffer : left) {
      const std::size_t of_this = std::min(sent, buffer.size());
      buffer += of_this;
      sent -= of_this;
    }
    if (error == asio::error::would_block) error = wait_for_socket(POLLOUT, options_.timeout_ns);
    if (error) return error;
  }
  return {};
}

Error ServerConnection::lost(const error_code& error, std::int64_t timeout_ns) const {
  if (error == asio::error::timed_out) {
    return {ErrorCode::timed_out, options_.name + " has been silent for " + ms_text(timeout_ns) +
                                      "; see whether it is stuck and its host reachable"};
  }
  const std::string how = error == asio::error::eof ? "it ended the connection" : error.message();
  return {ErrorCode::unavailable,
          options_.name + " is gone: " + how + "; see its output, then start the job again"};
}

Error ServerConnection::strange() const {
  return {ErrorCode::unavailable, options_.name +
                                      " answers what no parameter server of this "
                                      "version does; see what listens there"};
}

error_code ServerConnection::open(const Endpoint& endpoint, std::int64_t timeout_ns) {
  close();
  error_code error;
  socket_.open(endpoint.protocol(), error);
  if (!error) socket_.non_blocking(true, error);
  if (error) return error;
  set_tcp_options(socket_.native_handle(), options_.timeout_ns);
  {
    const std::lock_guard lock(mutex_);
    if (is_shut_down_) return asio::error::operation_aborted;
    handle_ = socket_.native_handle();
  }
  // Asio's connect() would wait even for a socket that does not block.
  if (::connect(handle_, endpoint.data(), static_cast<socklen_t>(endpoint.size())) == 0) return {};
  if (errno != EINPROGRESS) return {errno, boost::system::system_category()};
  error = wait_for_socket(POLLOUT, timeout_ns);
  int outcome = 0;
  socklen_t size = sizeof outcome;
  if (!error && ::getsockopt(handle_, SOL_SOCKET, SO_ERROR, &outcome, &size) == 0 && outcome != 0)
    error = {outcome, boost::system::system_category()};
  return error;
}

Result<void> ServerConnection::connect(std::int64_t timeout_ns, bool& try_again) {
  try_again = true;
  error_code error;
  const auto found = tcp::resolver(context_).resolve(options_.host, options_.port, error);
  if (!error && found.empty()) error = asio::error::host_not_found;
  for (const auto& entry : found) {
    error = open(entry.endpoint(), timeout_ns);
    if (error) continue;
    auto introduced = introduce(try_again);
    if (!introduced) close();
    return introduced;
  }
  close();
  return failure(ErrorCode::unavailable,
                 options_.name + " cannot be reached: " + error.message() +
                     "; see whether it runs and whether its address is right");
}

Result<void> ServerConnection::introduce(bool& try_again) {
  const std::int64_t limit_ns = options_.timeout_ns;
  const auto outcome_of = [&](const error_code& error) -> Result<void> {
    if (error) return failure(lost(error, limit_ns));
    return {};
  };
  const greeting::Channel channel = {
      .read = [&](void* into,
                  std::size_t bytes) { return outcome_of(read(into, bytes, limit_ns)); },
      .write = [&](const void* from,
                   std::size_t bytes) { return outcome_of(write(from, bytes, {})); }};
  const wire::RankIdentity identity{.rank = options_.rank,
                                    .ranks = options_.ranks,
                                    .server = options_.server,
                                    .servers = options_.servers,
                                    .session = options_.session};
  return greeting::greet_server(channel, wire::kProtocol, options_.secret, options_.name,
                                {reinterpret_cast<const char*>(&identity), sizeof identity},
                                try_again);
}

Result<void> ServerConnection::read_refusal(std::uint32_t code, std::uint32_t text_bytes) {
  if (code == greeting::kDone && text_bytes == 0) return {};
  if (!greeting::is_refusal({code, text_bytes})) {
    close();
    return failure(strange());
  }
  std::string text(text_bytes, '\0');
  if (const auto error = read(text.data(), text.size(), options_.timeout_ns))
    return failure(break_off(error, options_.timeout_ns));
  return failure(greeting::error_of({code, text_bytes}, text).in(options_.name));
}

Error ServerConnection::break_off(const error_code& error, std::int64_t timeout_ns) {
  close();
  return lost(error, timeout_ns);
}

Result<void> ServerConnection::read_reply() {
  wire::Reply reply;
  if (const auto error = read(&reply, sizeof reply, options_.timeout_ns))
    return failure(break_off(error, options_.timeout_ns));
  return read_refusal(reply.code, reply.more_bytes);
}

Result<void> ServerConnection::push(const wire::Request& request, const wire::Update* update,
                                    std::span<const float> values) {
  struct Head {
    wire::Request request;
    wire::Update update;
  } head = {request, {}};
  if (update) head.update = *update;
  if (const auto error = write(&head, update ? sizeof head : sizeof request, values))
    return failure(break_off(error, options_.timeout_ns));
  return read_reply();
}

Result<void> ServerConnection::pull(const wire::Request& request, std::span<float> values) {
  HOCKET_TRY(begin_await(request));
  HOCKET_TRY(read_reply());
  if (const auto error = read(values.data(), values.size_bytes(), options_.timeout_ns))
    return failure(break_off(error, options_.timeout_ns));
  return {};
}

Result<void> ServerConnection::begin_await(const wire::Request& request) {
  if (const auto error = write(&request, sizeof request, {}))
    return failure(break_off(error, options_.timeout_ns));
  return {};
}

Result<bool> ServerConnection::wait_for_answer(int stop, std::int64_t timeout_ns) {
  std::array<pollfd, 2> polled = {
      pollfd{.fd = socket_.native_handle(), .events = POLLIN, .revents = 0},
      pollfd{.fd = stop, .events = POLLIN, .revents = 0}};
  if (const auto error = wait_for(polled, timeout_ns)) return failure(break_off(error, timeout_ns));
  return polled[1].revents == 0;
}

bool ServerConnection::has_answer() {
  return !wait_for_socket(POLLIN, 0);
}

Result<std::vector<wire::SumName>> ServerConnection::end_await() {
  wire::Reply reply;
  auto error = read(&reply, sizeof reply, options_.timeout_ns);
  if (error) return failure(break_off(error, options_.timeout_ns));
  if (reply.code != greeting::kDone) HOCKET_TRY(read_refusal(reply.code, reply.more_bytes));
  std::vector<wire::SumName> names(reply.more_bytes / sizeof(wire::SumName));
  if (names.size() > wire::kMostSums || reply.more_bytes % sizeof(wire::SumName) != 0) {
    close();
    return failure(strange());
  }
  error = read(names.data(), reply.more_bytes, options_.timeout_ns);
  if (error) return failure(break_off(error, options_.timeout_ns));
  return names;
}

void ServerConnection::say_goodbye(std::int64_t timeout_ns) {
  const wire::Request request{.operation = wire::kGoodbye};
  wire::Reply reply;
  if (!write(&request, sizeof request, {})) (void)read(&reply, sizeof reply, timeout_ns);
  close();
}

}  // namespace hocket
