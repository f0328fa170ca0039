#include "core/host/messages/message_sockets.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/greeting/rendezvous_secret.h"
#include "core/host/messages/message_dial.h"
#include "core/host/messages/message_listener.h"

namespace hocket {

class MessageSockets::Ends {
 public:
  explicit Ends(const MessageSocketsOptions& options) : options_(options) {
    for (int rank = 0; rank < options.world_size; ++rank) {
      const MessageStreamOptions stream{.peer = rank, .timeout = options.timeout};
      incoming_.push_back(std::make_unique<IncomingMessages>(stream));
      outgoing_.push_back(
          std::make_unique<OutgoingMessages>(stream, [this, rank] { return connect_to(rank); }));
    }
  }

  Result<void> listen() {
    const std::string token = random_rendezvous_secret();
    if (options_.host.size() >= address_.host.size() || token.size() >= address_.token.size() ||
        sockets_.stop_descriptor() < 0) {
      return failure(ErrorCode::unavailable, "cannot listen for messages of other ranks at \"" +
                                                 options_.host +
                                                 "\": too long a name, or no descriptor left");
    }
    std::ranges::copy(options_.host, address_.host.begin());
    std::ranges::copy(token, address_.token.begin());
    auto listener = MessageListener::listen(
        {.host = options_.host,
         .secret = message_secret(options_.secret, address_),
         .patience = options_.timeout,
         .strangers = 64 + 2 * incoming_.size()},
        {.admit = [this](const message_wire::Caller& caller) { return admit(caller); },
         .arrived =
             [this](int rank, FileDescriptor socket) {
               from(rank).attach({sockets_, std::move(socket), options_.timeout});
             },
         .gave_up = [this](int rank) { from(rank).give_up(); }});
    HOCKET_TRY(listener);
    listener_ = std::move(*listener);
    address_.port = listener_->port();
    return {};
  }

  const MessageAddress& address() const { return address_; }

  void set_addresses(std::vector<MessageAddress> addresses) {
    HOCKET_CHECK(addresses.size() == incoming_.size(), "an address for each rank");
    for (MessageAddress& each : addresses) each.host.back() = each.token.back() = '\0';
    addresses_ = std::move(addresses);
  }

  Result<void> send(int to, const MessageKey& key, std::span<const std::byte> bytes) {
    HOCKET_CHECK(is_peer(to), "another rank");
    return unless_aborted(outgoing_[static_cast<std::size_t>(to)]->send(key, bytes));
  }

  Result<void> receive(int rank, const MessageKey& key, std::span<std::byte> into) {
    HOCKET_CHECK(is_peer(rank), "another rank");
    IncomingMessages& incoming = from(rank);
    if (incoming.is_unknown()) watch(rank);
    return unless_aborted(incoming.receive(key, into));
  }

  void abort() {
    sockets_.shut_down();
    listener_->stop();
    for (const auto& incoming : incoming_) incoming->end(aborted());
  }

 private:
  static Error aborted() {
    return {ErrorCode::unavailable, "this rank has ended its communication"};
  }

  /// After an abort everything breaks because of it.
  Result<void> unless_aborted(Result<void> outcome) const {
    if (!outcome && sockets_.is_shut_down()) return failure(aborted());
    return outcome;
  }

  bool is_peer(std::int64_t rank) const {
    return rank >= 0 && rank < options_.world_size && rank != options_.rank;
  }
  IncomingMessages& from(int rank) { return *incoming_[static_cast<std::size_t>(rank)]; }

  Result<void> admit(const message_wire::Caller& caller) {
    if (!is_peer(caller.rank)) return invalid("there is no other rank of this number");
    if (caller.purpose == message_wire::kWatch) return {};
    if (caller.purpose != message_wire::kSend)
      return invalid("a caller that neither sends nor watches");
    if (from(static_cast<int>(caller.rank)).expect()) return {};
    return invalid("this rank already has a connection that sends");
  }

  Result<FileDescriptor> dial_rank(int rank, message_wire::Purpose purpose) {
    const message_wire::Caller caller{.rank = static_cast<std::uint32_t>(options_.rank),
                                      .purpose = purpose};
    return dial({.rank = rank,
                 .address = addresses_[static_cast<std::size_t>(rank)],
                 .secret = options_.secret},
                caller, options_.timeout, sockets_);
  }

  Result<MessageSocket> connect_to(int rank) {
    auto socket = dial_rank(rank, message_wire::kSend);
    HOCKET_TRY(socket);
    return MessageSocket(sockets_, std::move(*socket), options_.timeout);
  }

  /// Learns of the end of a rank that has not connected yet.
  void watch(int rank) {
    auto socket = dial_rank(rank, message_wire::kWatch);
    IncomingMessages& incoming = from(rank);
    if (!socket) return incoming.end_unless_connected(socket.error());
    listener_->watch(rank, std::move(*socket), [this, rank, &incoming] {
      incoming.end_unless_connected(
          lost_peer(rank, std::make_error_code(std::errc::broken_pipe), options_.timeout));
    });
  }

  const MessageSocketsOptions options_;
  MessageAddress address_;
  std::vector<MessageAddress> addresses_;
  OpenSockets sockets_;
  std::vector<std::unique_ptr<IncomingMessages>> incoming_;  // by rank, as the next
  std::vector<std::unique_ptr<OutgoingMessages>> outgoing_;
  std::unique_ptr<MessageListener> listener_;  ///< its thread uses the others
};

MessageSockets::MessageSockets(std::unique_ptr<Ends> ends) : ends_(std::move(ends)) {}

MessageSockets::~MessageSockets() = default;

const MessageAddress& MessageSockets::address() const {
  return ends_->address();
}

void MessageSockets::set_addresses(std::vector<MessageAddress> addresses) {
  ends_->set_addresses(std::move(addresses));
}

Result<void> MessageSockets::send(int to, const MessageKey& key, std::span<const std::byte> bytes) {
  return ends_->send(to, key, bytes);
}

Result<void> MessageSockets::receive(int from, const MessageKey& key, std::span<std::byte> into) {
  return ends_->receive(from, key, into);
}

void MessageSockets::abort() {
  ends_->abort();
}

Result<std::unique_ptr<MessageSockets>> MessageSockets::listen(
    const MessageSocketsOptions& options) {
  auto ends = std::make_unique<Ends>(options);
  HOCKET_TRY(ends->listen());
  return std::unique_ptr<MessageSockets>(new MessageSockets(std::move(ends)));
}

}  // namespace hocket
