#pragma once

// The messages of one rank to another over a connection of their own, at either end. The calling
// threads write and read; no others are involved.
//
// Invariants of the receiving end, of which several threads may wait for different messages:
// 1. While any thread waits and the connection stands, exactly one of them reads it.
// 2. It reads a message straight to where its receiver wants it, whichever thread that is. A
//    message that nobody waits for yet is kept, so that it does not hold up those behind it.
// 3. Messages of one key are received in the order in which they were sent.

#include <chrono>
#include <compare>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/host/messages/message_socket.h"
#include "core/host/messages/message_wire.h"

namespace hocket {

/// Names a message between two ranks: groups count their messages by themselves.
struct MessageKey {
  std::uint64_t group = 0, index = 0;

  auto operator<=>(const MessageKey&) const = default;
};

/// Options of both ends. A peer counts as silent when nothing has moved on the connection for
/// `timeout` while a thread waited for it.
struct MessageStreamOptions {
  int peer = 0;
  std::chrono::milliseconds timeout{30'000};
};

/// Thread-safe. An error ends it for good.
class OutgoingMessages {
 public:
  using Connect = std::function<Result<MessageSocket>()>;

  /// `connect` is called by the first send.
  OutgoingMessages(const MessageStreamOptions& options, Connect connect)
      : options_(options), connect_(std::move(connect)) {}

  /// Blocks until the system has taken the message, whether or not the peer receives it yet.
  Result<void> send(const MessageKey& key, std::span<const std::byte> bytes);

 private:
  Result<void> open();

  const MessageStreamOptions options_;
  const Connect connect_;
  std::mutex mutex_;
  // Guarded by mutex_, also while writing:
  MessageSocket socket_;
  std::optional<Error> error_;
};

/// Thread-safe. An error of the connection ends it for good, and all threads that wait.
class IncomingMessages {
 public:
  explicit IncomingMessages(const MessageStreamOptions& options) : options_(options) {}

  /// Fills `into` with the next message of `key`. Threads that receive at once need different
  /// keys. invalid_argument for a message of another size, which is dropped.
  Result<void> receive(const MessageKey& key, std::span<std::byte> into);

  /// Returns whether nobody knows yet whether the peer is there: no connection has arrived, and
  /// this is the first call.
  bool is_unknown();

  /// Announces a connection; false if there is one. attach() or give_up() follows.
  bool expect();
  void attach(MessageSocket socket);
  void give_up();

  /// Ends all receiving with `error`, unless there is a connection or one has been announced: its
  /// own end says more.
  void end_unless_connected(const Error& error);
  /// The same in any case. The connection must have been shut down.
  void end(const Error& error);

 private:
  struct Receiver {
    std::span<std::byte> into;
    bool is_filling = false;  ///< another thread may write to `into`
    bool is_done = false;
    std::optional<Error> error = {};
  };
  using Lock = std::unique_lock<std::mutex>;

  void wait_for_connection(Lock& lock);
  void read_message(Lock& lock);
  std::error_code read_payload(Lock& lock, const message_wire::Head& head);
  std::error_code fill(Lock& lock, Receiver& receiver);
  std::error_code drop(Lock& lock, std::uint64_t bytes);
  std::error_code keep(Lock& lock, const message_wire::Head& head);
  void hand_over(Receiver& receiver, const MessageKey& key, std::span<const std::byte> bytes) const;
  Error wrong_size(const MessageKey& key, std::size_t sent, std::size_t expected) const;
  void fail(const Error& error);

  const MessageStreamOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_. The reading thread uses socket_ without it: once attached, it stays.
  MessageSocket socket_;
  bool is_expected_ = false, was_asked_ = false, is_reading_ = false;
  std::optional<Error> error_;
  std::map<MessageKey, Receiver*> receivers_;
  std::map<MessageKey, std::deque<std::vector<std::byte>>> early_;
};

}  // namespace hocket
