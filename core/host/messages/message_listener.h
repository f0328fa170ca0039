#pragma once

// Takes connections of other ranks (core/host/messages/message_wire.h), on a thread of its own.
// Strangers cost a place among a limited number of places for a limited time.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/files/descriptor.h"
#include "core/host/messages/message_wire.h"

namespace hocket {

struct MessageListenerOptions {
  std::string host = "127.0.0.1";  ///< a numeric address
  std::string secret = {};         ///< that callers prove to have
  /// Time for a caller to prove it.
  std::chrono::milliseconds patience{30'000};
  /// Callers that have not proved it yet; further ones take the place of the oldest.
  std::size_t strangers = 64;
};

/// Called on the listener's thread. A caller that has proved the secret is admitted or refused. An
/// admitted one that sends either arrives or gives up.
struct MessageCallers {
  std::function<Result<void>(const message_wire::Caller&)> admit;
  std::function<void(int rank, FileDescriptor socket)> arrived;
  std::function<void(int rank)> gave_up;
};

/// Thread-safe.
class MessageListener final {
 public:
  ~MessageListener();
  MessageListener(const MessageListener&) = delete;
  MessageListener& operator=(const MessageListener&) = delete;

  std::uint16_t port() const;

  /// Calls `ended` on the listener's thread when `rank`, at the other end, ends the connection, or
  /// has arrived itself; not once the listener is stopped.
  void watch(int rank, FileDescriptor socket, std::function<void()> ended);

  /// Ends all connections that it still holds, and takes no more. Does not wait.
  void stop();

  /// Listens at a port that the system chooses; unavailable if it cannot.
  static Result<std::unique_ptr<MessageListener>> listen(const MessageListenerOptions& options,
                                                         MessageCallers callers);

 private:
  class Service;
  explicit MessageListener(std::unique_ptr<Service> service);

  const std::unique_ptr<Service> service_;
};

}  // namespace hocket
