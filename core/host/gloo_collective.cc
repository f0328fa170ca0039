#include "core/host/gloo_collective.h"

#include <fcntl.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/collective/collective_blocks.h"
#include "core/files/blocked_signal.h"
#include "core/host/gloo_ring.h"
#include "core/host/messages/message_sockets.h"
#include "core/host/tcp_store.h"
#include "core/protocol/host_port.h"

namespace hocket {
namespace {

// Slots for rank 0's messages; below every prefix that Gloo's own collectives use.
constexpr std::uint64_t kSizeSlot = 1, kMessageSlot = 2;

Error lost_rank(const std::exception& e) {
  const std::string what = e.what();
  const bool silent =
      what.find("imed out") != std::string::npos || what.find("imeout") != std::string::npos;
  return {
      silent ? ErrorCode::timed_out : ErrorCode::unavailable,
      std::string(silent ? "another rank is silent" : "another rank is gone") + " (" + what + ")"};
}

/// Gloo's writes to sockets raise SIGPIPE when the peer is gone. Threads that Gloo starts while it
/// is blocked keep it so.
class BlockedSigpipe : BlockedSignal {
 public:
  BlockedSigpipe() : BlockedSignal(SIGPIPE) {}
};

/// Adapts TcpStoreClient to Gloo's store; errors become Gloo's exceptions.
class GlooTcpStore final : public gloo::rendezvous::Store {
 public:
  GlooTcpStore(TcpStoreClient& client, std::chrono::milliseconds timeout)
      : client_(client), timeout_(timeout) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    if (const auto ok = client_.set(key, data); !ok) throw gloo::IoException(ok.error().message);
  }
  std::vector<char> get(const std::string& key) override { return fetch(key, timeout_); }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    for (const auto& key : keys) fetch(key, timeout);
  }

 private:
  std::vector<char> fetch(const std::string& key, std::chrono::milliseconds timeout) {
    auto value = client_.get(key, timeout);
    if (!value) throw gloo::IoException(value.error().message);
    return std::move(*value);
  }

  TcpStoreClient& client_;
  const std::chrono::milliseconds timeout_;
};

/// Duplicated descriptors of the TCP sockets that this process opened while Gloo connected. Closing
/// a socket must not race with Gloo's use of it; shutting the connection down may, and looks to
/// Gloo like a peer that left, so blocked calls end.
class Sockets {
 public:
  /// Returns the inodes of all sockets that are open now.
  static std::set<std::string> open_now() {
    std::set<std::string> inodes;
    for_each([&](int, const std::string& inode) { inodes.insert(inode); });
    return inodes;
  }

  /// Duplicates the connected TCP sockets that were not open `before`.
  explicit Sockets(const std::set<std::string>& before = open_now()) {
    std::set<std::string> seen = before;
    for_each([&](int descriptor, const std::string& inode) {
      sockaddr_storage peer{};
      socklen_t length = sizeof(peer);
      const bool connected =
          getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) == 0;
      if (!connected || (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) ||
          !seen.insert(inode).second)
        return;
      if (const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0); copy >= 0)
        descriptors_.push_back(copy);
    });
  }
  Sockets(Sockets&& other) noexcept : descriptors_(std::exchange(other.descriptors_, {})) {}
  ~Sockets() {
    for (const int descriptor : descriptors_) close(descriptor);
  }

  void shut_down() const {
    for (const int descriptor : descriptors_) shutdown(descriptor, SHUT_RDWR);
  }

 private:
  static void for_each(const std::function<void(int, const std::string&)>& visit) {
    std::error_code error;
    std::vector<std::pair<int, std::string>> sockets;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
      const std::string target = std::filesystem::read_symlink(entry, error).string();
      if (!error && target.starts_with("socket:"))
        sockets.emplace_back(std::stoi(entry.path().filename()), target);
    }
    for (const auto& [descriptor, inode] : sockets) visit(descriptor, inode);
  }

  std::vector<int> descriptors_;
};

/// Meeting point of the ranks, kept alive while a slow rank may still look there.
struct Meeting {
  std::unique_ptr<TcpStoreServer> server;
  std::unique_ptr<TcpStoreClient> client;
  std::unique_ptr<gloo::rendezvous::Store> store;
  std::string local_address = "127.0.0.1";
};

/// Pool of scratch memory for rings; holds as many as ever ran concurrently.
class RingScratchPool {
 public:
  std::unique_ptr<RingScratch> take() {
    std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<RingScratch>();
    auto scratch = std::move(free_.back());
    free_.pop_back();
    return scratch;
  }
  void give_back(std::unique_ptr<RingScratch> scratch) {
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(scratch));
  }

 private:
  std::mutex mutex_;
  // Guarded by mutex_:
  std::vector<std::unique_ptr<RingScratch>> free_;
};

class GlooCollective final : public Collective {
 public:
  GlooCollective(const GlooOptions& options, Meeting meeting,
                 std::vector<std::shared_ptr<gloo::Context>> contexts, Sockets sockets,
                 std::unique_ptr<MessageSockets> pairs, Mesh mesh)
      : options_(options),
        mesh_(std::move(mesh)),
        meeting_(std::move(meeting)),
        contexts_(std::move(contexts)),
        sockets_(std::move(sockets)),
        pairs_(std::move(pairs)) {}

  int rank() const override { return options_.ranks.rank; }
  const Mesh& mesh() const override { return mesh_; }
  std::int64_t timeout_ns() const override {
    return std::chrono::nanoseconds(options_.timeout).count();
  }

  Result<void> run(const CollectiveWork& work) override {
    if (has_no_blocks(work.kind)) return run_as_message(work);
    if (auto ok = check_kind(work.kind); !ok) return ok;
    if (work.values.empty() || world_size() == 1) return {};
    const BlockedSigpipe guard;
    try {
      const bool whole = work.begin == 0 && work.end == 0;
      if (work.kind == CollectiveKind::all_reduce && work.group == CollectiveGroup::world &&
          whole && work.values.type() == ElementType::float32) {
        all_reduce_world(work);
      } else {
        run_in_ring(work);
      }
      return {};
    } catch (const std::exception& e) {
      return failure(lost_rank(e));
    }
  }

  Result<void> run_as_message(const CollectiveWork& work) {
    const auto [ranks, own] = group_members(mesh_, work.group, rank());
    if (auto ok = check_message(work, ranks.size(), own); !ok) return ok;
    if (ranks.size() == 1 || (work.kind == CollectiveKind::shift && work.peer == 0)) {
      if (work.kind == CollectiveKind::shift) copy(work.values, work.received);
      if (work.kind != CollectiveKind::all_to_all) return {};
      const ValueRange own_part = exchanged_ranges(work, work.sent_counts)[0];
      copy(work.values.subspan(own_part.begin, own_part.size()),
           work.received.subspan(own_part.begin, own_part.size()));
      return {};
    }
    if (work.kind == CollectiveKind::send || work.kind == CollectiveKind::receive)
      return run_in_pair(work, static_cast<int>(ranks[work.peer]));
    if (work.values.empty() && work.kind != CollectiveKind::all_to_all) return {};
    const BlockedSigpipe guard;
    try {
      auto scratch = scratch_.take();
      run_message(*context_of(work.index), work, ranks, own, options_.timeout, *scratch);
      scratch_.give_back(std::move(scratch));
      return {};
    } catch (const std::exception& e) {
      return failure(lost_rank(e).in(to_string(work.kind)));
    }
  }

  Result<void> run_in_pair(const CollectiveWork& work, int peer) {
    const MessageKey key{.group = group_number(work.group), .index = work.index};
    const auto done = work.kind == CollectiveKind::send
                          ? pairs_->send(peer, key, work.values.bytes())
                          : pairs_->receive(peer, key, work.values.bytes());
    if (!done) return failure(done.error().in(to_string(work.kind)));
    return {};
  }

  Result<void> tell(std::string_view message) override {
    if (world_size() == 1) return {};
    const BlockedSigpipe guard;
    try {
      std::uint64_t size = message.size();
      auto head = messages().createUnboundBuffer(&size, sizeof(size));
      auto body = messages().createUnboundBuffer(const_cast<char*>(message.data()), message.size());
      for (int other = 1; other < world_size(); ++other) {
        head->send(other, kSizeSlot);
        head->waitSend(options_.timeout);
        if (size == 0) continue;
        body->send(other, kMessageSlot);
        body->waitSend(options_.timeout);
      }
      return {};
    } catch (const std::exception& e) {
      return failure(lost_rank(e));
    }
  }

  Result<std::string> hear() override {
    const BlockedSigpipe guard;
    try {
      std::uint64_t size = 0;
      auto head = messages().createUnboundBuffer(&size, sizeof(size));
      head->recv(0, kSizeSlot);
      head->waitRecv(options_.timeout);
      if (size > static_cast<std::uint64_t>(kMaxMessageBytes)) {
        return failure(ErrorCode::unavailable,
                       "rank 0 sent a message of " + std::to_string(size) + " bytes");
      }
      std::string message(size, '\0');
      if (size == 0) return message;
      auto body = messages().createUnboundBuffer(message.data(), size);
      body->recv(0, kMessageSlot);
      body->waitRecv(options_.timeout);
      return message;
    } catch (const std::exception& e) {
      return failure(lost_rank(e));
    }
  }

  void abort() override {
    sockets_.shut_down();
    if (pairs_) pairs_->abort();
  }

 private:
  gloo::Context& messages() { return *contexts_[0]; }
  const std::shared_ptr<gloo::Context>& context_of(std::uint64_t index) const {
    return contexts_[1 + index % (contexts_.size() - 1)];
  }

  void all_reduce_world(const CollectiveWork& work) {
    gloo::AllreduceOptions options(context_of(work.index));
    const std::span<float> values = work.values.as<float>();
    options.setOutput(values.data(), values.size());
    options.setReduceFunction([](void* out, const void* a, const void* b, std::size_t n) {
      gloo::sum<float>(out, a, b, n);
    });
    options.setTag(static_cast<std::uint32_t>(work.index));
    options.setTimeout(options_.timeout);
    gloo::allreduce(options);
  }

  void run_in_ring(const CollectiveWork& work) {
    const CollectiveBlocks blocks(work, mesh_, rank());
    if (blocks.members() == 1) return;
    auto scratch = scratch_.take();
    run_ring(*context_of(work.index), work, blocks, options_.timeout, *scratch);
    scratch_.give_back(std::move(scratch));
  }

  const GlooOptions options_;
  const Mesh mesh_;
  const Meeting meeting_;
  // The first context is for messages, the others are for parts.
  const std::vector<std::shared_ptr<gloo::Context>> contexts_;
  const Sockets sockets_;
  const std::unique_ptr<MessageSockets> pairs_;  ///< null for a single rank
  RingScratchPool scratch_;
};

Result<Meeting> meet(const GlooOptions& options) {
  const std::string& where = options.ranks.rendezvous;
  Meeting meeting;
  if (where.starts_with("file:") && where.size() > 5) {
    const std::string folder = where.substr(5);
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error)) {
      return failure(ErrorCode::unavailable, "rendezvous " + where + ": there is no such folder");
    }
    meeting.store = std::make_unique<gloo::rendezvous::FileStore>(folder);
    return meeting;
  }
  const bool is_tcp = where.starts_with("tcp://");
  const auto address = parse_host_port(is_tcp ? where.substr(6) : "");
  if (!address || address->port == 0) {
    return failure(ErrorCode::invalid_argument,
                   "rendezvous \"" + where +
                       "\": expected file:FOLDER or tcp://HOST:PORT with a port from 1 to 65535");
  }
  if (options.ranks.rank == 0) {
    const auto ranks = static_cast<std::size_t>(options.ranks.world_size);
    auto server = TcpStoreServer::listen(
        {.host = address->host,
         .port = address->port,
         .local_clients = options.ranks.ranks_per_host == options.ranks.world_size,
         .secret = options.ranks.secret,
         .limits =
             TcpStoreLimits::for_ranks(ranks, static_cast<std::size_t>(options.connections) + 1)});
    if (!server) return failure(server.error().in("rendezvous " + where));
    meeting.server = std::move(*server);
  }
  auto client =
      TcpStoreClient::connect(address->host, address->port, options.timeout, options.ranks.secret);
  if (!client) return failure(client.error().in("rendezvous " + where));
  meeting.client = std::move(*client);
  meeting.local_address = meeting.client->local_address();
  meeting.store = std::make_unique<GlooTcpStore>(*meeting.client, options.timeout);
  return meeting;
}

/// Returns the ranks per host if all ranks agree, otherwise 1: each rank knows only its own host.
int agreed_ranks_per_host(const std::shared_ptr<gloo::Context>& context,
                          const GlooOptions& options) {
  const std::int64_t own = options.ranks.ranks_per_host;
  std::int64_t least_and_most[] = {own, -own};
  gloo::AllreduceOptions exchange(context);
  exchange.setOutput(least_and_most, 2);
  exchange.setReduceFunction([](void* out, const void* a, const void* b, std::size_t n) {
    gloo::min<std::int64_t>(out, a, b, n);
  });
  exchange.setTimeout(options.timeout);
  gloo::allreduce(exchange);
  return least_and_most[0] == -least_and_most[1] ? static_cast<int>(own) : 1;
}

/// Opens the sockets for messages between two ranks, at the address that Gloo's device uses.
Result<std::unique_ptr<MessageSockets>> open_pairs(const GlooOptions& options,
                                                   const std::string& local_address) {
  Result<std::string> host = local_address;
  if (!options.interface.empty()) host = address_of_interface(options.interface);
  HOCKET_TRY(host);
  return MessageSockets::listen({.rank = options.ranks.rank,
                                 .world_size = options.ranks.world_size,
                                 .host = *host,
                                 .secret = options.ranks.secret,
                                 .timeout = options.timeout});
}

/// All ranks tell each other where they take messages.
void exchange_addresses(const std::shared_ptr<gloo::Context>& context, const GlooOptions& options,
                        MessageSockets& pairs) {
  MessageAddress own = pairs.address();
  std::vector<MessageAddress> all(static_cast<std::size_t>(options.ranks.world_size));
  gloo::AllgatherOptions exchange(context);
  exchange.setInput(reinterpret_cast<char*>(&own), sizeof own);
  exchange.setOutput(reinterpret_cast<char*>(all.data()), sizeof own * all.size());
  exchange.setTimeout(options.timeout);
  gloo::allgather(exchange);
  pairs.set_addresses(std::move(all));
}

}  // namespace

Result<std::unique_ptr<Collective>> connect_gloo(const GlooOptions& options) {
  const int ranks = options.ranks.world_size, ranks_per_host = options.ranks.ranks_per_host;
  if (ranks_per_host < 1 || ranks % ranks_per_host != 0) {
    return failure(ErrorCode::invalid_argument,
                   "ranks per host: expected a number that divides the " + std::to_string(ranks) +
                       " ranks, found " + std::to_string(ranks_per_host));
  }
  auto mesh = Mesh::make(options.axes, {ranks, ranks_per_host});
  HOCKET_TRY(mesh);
  if (ranks == 1) {
    return std::make_unique<GlooCollective>(options, Meeting{},
                                            std::vector<std::shared_ptr<gloo::Context>>{},
                                            Sockets{}, nullptr, std::move(*mesh));
  }
  const BlockedSigpipe guard;
  auto meeting = meet(options);
  HOCKET_TRY(meeting);
  try {
    gloo::transport::tcp::attr attributes;
    if (options.interface.empty()) {
      attributes.hostname = meeting->local_address;
    } else {
      attributes.iface = options.interface;
    }
    const auto before = Sockets::open_now();
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    auto pairs = open_pairs(options, meeting->local_address);
    HOCKET_TRY(pairs);
    std::vector<std::shared_ptr<gloo::Context>> contexts;
    for (int i = 0; i <= options.connections; ++i) {
      gloo::rendezvous::PrefixStore store(std::to_string(i), *meeting->store);
      auto context =
          std::make_shared<gloo::rendezvous::Context>(options.ranks.rank, options.ranks.world_size);
      context->setTimeout(options.timeout);
      context->connectFullMesh(store, device);
      contexts.push_back(std::move(context));
    }
    // Before any other rank knows where to connect, so that these are all of Gloo.
    Sockets sockets(before);
    exchange_addresses(contexts[0], options, **pairs);
    const int agreed = agreed_ranks_per_host(contexts[0], options);
    if (agreed != ranks_per_host) mesh = Mesh::make(options.axes, {ranks, agreed});
    HOCKET_TRY(mesh);
    return std::make_unique<GlooCollective>(options, std::move(*meeting), std::move(contexts),
                                            std::move(sockets), std::move(*pairs),
                                            std::move(*mesh));
  } catch (const std::exception& e) {
    return failure(ErrorCode::timed_out, "rank " + std::to_string(options.ranks.rank) + " of " +
                                             std::to_string(options.ranks.world_size) +
                                             " could not connect to all others: " + e.what());
  }
}

}  // namespace hocket
