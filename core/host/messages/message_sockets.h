#pragma once

// Messages between two ranks over TCP connections of their own, on which the calling threads write
// and read. There is one for each direction of a pair of ranks, made when it is first used. Ranks
// prove to each other that they belong to the job.

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/host/messages/message_address.h"
#include "core/host/messages/message_stream.h"

namespace hocket {

struct MessageSocketsOptions {
  int rank = 0, world_size = 1;
  std::string host = "127.0.0.1";  ///< numeric address of this host at which the others reach it
  std::string secret = {};         ///< of the job; may be empty
  /// Time after which a peer counts as silent: nothing has moved between it and a thread that waits
  /// for it.
  std::chrono::milliseconds timeout{30'000};
};

/// The ends of one rank. Thread-safe after set_addresses(). Errors name the other rank: unavailable
/// if it is gone, timed_out if it is silent. Its connection cannot be used after either.
class MessageSockets final {
 public:
  ~MessageSockets();
  MessageSockets(const MessageSockets&) = delete;
  MessageSockets& operator=(const MessageSockets&) = delete;

  /// Returns what the other ranks need to know.
  const MessageAddress& address() const;
  /// The addresses of all ranks, by rank. Call it once, before the first message.
  void set_addresses(std::vector<MessageAddress> addresses);

  /// Sends a message to another rank. Several threads may send to it. Returns once the system has
  /// taken the message, which may be before the other rank receives it.
  Result<void> send(int to, const MessageKey& key, std::span<const std::byte> bytes);
  /// Fills `into` with the next message of `key` from another rank. Several threads may receive
  /// from it at once, with different keys. invalid_argument if it sent another number of bytes.
  Result<void> receive(int from, const MessageKey& key, std::span<std::byte> into);

  /// Makes every blocked and every later call fail at once.
  void abort();

  /// Listens for the other ranks; unavailable if `host` is not an address of this host.
  static Result<std::unique_ptr<MessageSockets>> listen(const MessageSocketsOptions& options);

 private:
  class Ends;
  explicit MessageSockets(std::unique_ptr<Ends> ends);

  const std::unique_ptr<Ends> ends_;
};

}  // namespace hocket
