#include "core/servers/tcp_servers.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <utility>

#include "core/base/check.h"
#include "core/greeting/rendezvous_secret.h"
#include "core/protocol/host_port.h"
#include "core/servers/server_connection.h"

namespace hocket {
namespace {

constexpr std::int64_t kRetryPauseNs = 20'000'000;
/// Limit for the answer to a goodbye, after which it no longer matters whether it was heard.
constexpr std::int64_t kGoodbyeNs = 5'000'000'000;

/// A server may answer an await so much later than its time limit.
constexpr std::int64_t kGraceNs = 5'000'000'000;

/// Makes threads that poll the descriptor stop waiting while it is set. Any thread.
class StopSignal {
 public:
  StopSignal() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~StopSignal() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Negative if the process has no descriptor left.
  int descriptor() const { return descriptor_; }
  bool is_set() const { return is_set_; }
  void set() {
    is_set_ = true;
    (void)::eventfd_write(descriptor_, 1);
  }
  void reset() {
    eventfd_t ignored = 0;
    (void)::eventfd_read(descriptor_, &ignored);
    is_set_ = false;
  }

 private:
  const int descriptor_;
  std::atomic<bool> is_set_ = false;
};

std::uint64_t random_session() {
  const Nonce nonce = random_nonce();
  std::uint64_t session = 0;
  std::memcpy(&session, nonce.data(), sizeof session);
  return session;
}

class TcpServers final : public ParameterServers {
 public:
  TcpServers(const TcpServersOptions& options, std::vector<ServerConnectionOptions> servers)
      : rank_(options.rank),
        ranks_(options.ranks),
        timeout_ns_(options.timeout_ns),
        sum_timeout_ns_(
            std::min(options.sum_timeout_ns == 0 ? options.timeout_ns : options.sum_timeout_ns,
                     server_wire::kLongestWaitNs)) {
    for (auto& server : servers) servers_.push_back({std::move(server)});
  }

  ~TcpServers() override {
    for (Server& server : servers_) {
      for (auto* const idle : {&server.pushing, &server.pulling}) {
        if (idle->empty() || aborted_ || !is_connected_) continue;
        idle->back()->say_goodbye(std::min(timeout_ns_, kGoodbyeNs));
        break;
      }
    }
  }

  int rank() const override { return rank_; }
  int world_size() const override { return ranks_; }
  int servers() const override { return static_cast<int>(servers_.size()); }

  using ParameterServers::push;
  Result<void> push(const ServedPart& part, std::span<const float> values,
                    const PartUpdate* update) override {
    std::optional<server_wire::Update> sent;
    if (update) {
      HOCKET_TRY(validate(update->step));
      sent = server_wire::to_wire(*update);
    }
    const auto operation = update ? server_wire::kUpdate : server_wire::kPush;
    return call(part, &Server::pushing, [&](ServerConnection& connection) {
      return connection.push(request(operation, part, values.size()), sent ? &*sent : nullptr,
                             values);
    });
  }

  Result<void> pull(const ServedPart& part, std::span<float> values) override {
    return call(part, &Server::pulling, [&](ServerConnection& connection) {
      return connection.pull(request(server_wire::kPull, part, values.size()), values);
    });
  }

  Result<std::optional<ServedPart>> next_sum(int server) override {
    Feed& feed = server_of(server).feed;
    while (!stop_.is_set()) {
      if (is_aborted()) return failure(aborted());
      if (!feed.sums.empty()) {
        const server_wire::SumName sum = feed.sums.front();
        feed.sums.pop_front();
        return ServedPart{sum.collective, sum.offset_bytes, server};
      }
      if (auto got = listen(feed); !got) return failure(is_aborted() ? aborted() : got.error());
    }
    return std::nullopt;
  }

  void end_waiting() override { stop_.set(); }
  void begin_waiting() override { stop_.reset(); }

  void abort() override {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    for (ServerConnection& connection : connections_) connection.shut_down();
  }

  /// Opens a connection of each kind to every server, which may start until `deadline_ns`.
  Result<void> connect(const Clock& clock, std::int64_t deadline_ns) {
    if (stop_.descriptor() < 0) {
      return failure(ErrorCode::unavailable, "no file descriptor is left; raise the limit");
    }
    for (Server& server : servers_) {
      for (auto* const idle : {&server.pushing, &server.pulling}) {
        const auto connection = connections_.emplace(connections_.end(), server.options);
        HOCKET_TRY(connect(*connection, clock, deadline_ns));
        idle->push_back(connection);
      }
      server.feed.connection = &connections_.emplace_back(server.options);
      HOCKET_TRY(connect(*server.feed.connection, clock, deadline_ns));
    }
    is_connected_ = true;
    return {};
  }

 private:
  using Connection = std::list<ServerConnection>::iterator;
  /// The names of the sums of a server, for one thread at a time. An await is always under way
  /// while sums are pulled, so that the next ones are named without delay.
  struct Feed {
    ServerConnection* connection = nullptr;
    std::deque<server_wire::SumName> sums = {};
    bool is_awaiting = false;
    std::optional<Error> error = {};  ///< with which the connection broke
  };
  /// Pushes, pulls and awaits have connections of their own, so that none waits behind another one.
  /// Each push and pull takes one, and makes one if all are taken.
  struct Server {
    ServerConnectionOptions options = {};
    std::vector<Connection> pushing = {}, pulling = {};  ///< those that are not in use
    Feed feed = {};
  };
  using Idle = std::vector<Connection> Server::*;

  Result<void> connect(ServerConnection& connection, const Clock& clock, std::int64_t deadline_ns) {
    for (;;) {
      bool try_again = false;
      const std::int64_t left_ns = std::max<std::int64_t>(deadline_ns - clock.now_ns(), 0);
      auto connected = connection.connect(left_ns, try_again);
      if (connected || !try_again) return connected;
      if (clock.now_ns() >= deadline_ns) {
        return failure(ErrorCode::timed_out, "after " + std::to_string(timeout_ns_ / 1'000'000) +
                                                 " ms " + connected.error().message);
      }
      clock.sleep_until_ns(std::min(clock.now_ns() + kRetryPauseNs, deadline_ns));
    }
  }

  Result<void> await(Feed& feed) {
    HOCKET_TRY(feed.connection->begin_await(request(server_wire::kAwait, {}, 0)));
    feed.is_awaiting = true;
    return {};
  }

  /// Waits for names of sums, or until waiting is to end.
  Result<void> listen(Feed& feed) {
    if (feed.error) return failure(*feed.error);
    auto heard = hear(feed);
    if (!heard && !feed.connection->is_open()) feed.error = heard.error();
    return heard;
  }

  Result<void> hear(Feed& feed) {
    const bool is_old = feed.is_awaiting && feed.connection->has_answer();
    if (!feed.is_awaiting) HOCKET_TRY(await(feed));
    const auto answered =
        feed.connection->wait_for_answer(stop_.descriptor(), sum_timeout_ns_ + kGraceNs);
    HOCKET_TRY(answered);
    if (!*answered) return {};
    feed.is_awaiting = false;
    const auto sums = feed.connection->end_await();
    if (!sums) {
      // An answer that was late while nobody waited may have come since.
      if (is_old && sums.error().code == ErrorCode::timed_out && feed.connection->is_open())
        return {};
      return failure(sums.error());
    }
    feed.sums.insert(feed.sums.end(), sums->begin(), sums->end());
    return await(feed);
  }

  bool is_aborted() {
    const std::lock_guard lock(mutex_);
    return aborted_;
  }

  server_wire::Request request(server_wire::Operation operation, const ServedPart& part,
                               std::size_t values) const {
    return {.operation = operation,
            .collective = part.collective,
            .offset_bytes = part.offset_bytes,
            .values = values,
            .timeout_ns = sum_timeout_ns_};
  }

  Server& server_of(int server) {
    HOCKET_CHECK(server >= 0 && server < servers(), "there is such a server");
    return servers_[static_cast<std::size_t>(server)];
  }

  Error aborted() const {
    return {ErrorCode::unavailable, "rank " + std::to_string(rank_) + " has aborted"};
  }

  Result<void> call(const ServedPart& part, Idle idle, const auto& body) {
    Server& server = server_of(part.server);
    const auto taken = take(server, idle);
    if (!taken) return failure(taken.error());
    auto done = body(**taken);
    const std::lock_guard lock(mutex_);
    if ((*taken)->is_open()) {
      (server.*idle).push_back(*taken);
    } else {
      connections_.erase(*taken);
    }
    if (!done && aborted_) return failure(aborted());
    return done;
  }

  Result<Connection> take(Server& server, Idle idle) {
    std::unique_lock lock(mutex_);
    if (aborted_) return failure(aborted());
    auto& free = server.*idle;
    if (!free.empty()) {
      const Connection taken = free.back();
      free.pop_back();
      return taken;
    }
    const auto made = connections_.emplace(connections_.end(), server.options);
    lock.unlock();
    bool ignored = false;
    auto connected = made->connect(timeout_ns_, ignored);
    if (connected) return made;
    lock.lock();
    connections_.erase(made);
    return failure(aborted_ ? aborted() : connected.error());
  }

  const int rank_, ranks_;
  const std::int64_t timeout_ns_, sum_timeout_ns_;
  bool is_connected_ = false;  ///< to every server
  StopSignal stop_;
  std::mutex mutex_;
  // Guarded by mutex_, except the feeds:
  std::list<ServerConnection> connections_;
  std::vector<Server> servers_;
  bool aborted_ = false;
};

}  // namespace

Result<std::unique_ptr<ParameterServers>> connect_servers(const TcpServersOptions& options) {
  if (options.rank < 0 || options.rank >= options.ranks) {
    return invalid("there is no rank " + std::to_string(options.rank) + " of " +
                   std::to_string(options.ranks));
  }
  if (options.addresses.empty()) return invalid("there must be at least one parameter server");
  if (options.timeout_ns <= 0 || options.sum_timeout_ns < 0)
    return invalid("the time limits of servers must be positive");
  std::vector<ServerConnectionOptions> servers;
  const std::uint64_t session = random_session();
  for (const std::string& address : options.addresses) {
    const auto split = parse_host_port(address);
    if (!split || split->port == 0) {
      return invalid(
          "a parameter server's address is host:port with a port of 1 to 65535, found \"" +
          address + "\"");
    }
    const auto number = static_cast<int>(servers.size());
    servers.push_back({.name = "parameter server " + std::to_string(number) + " (" + address + ")",
                       .host = split->host,
                       .port = std::to_string(split->port),
                       .rank = options.rank,
                       .ranks = options.ranks,
                       .server = number,
                       .servers = static_cast<int>(options.addresses.size()),
                       .session = session,
                       .secret = options.secret,
                       .timeout_ns = options.timeout_ns});
  }
  const SteadyClock machine;
  const Clock& clock = options.clock == nullptr ? machine : *options.clock;
  auto made = std::make_unique<TcpServers>(options, std::move(servers));
  HOCKET_TRY(made->connect(clock, clock.now_ns() + options.timeout_ns));
  return made;
}

}  // namespace hocket
