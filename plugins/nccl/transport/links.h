#pragma once

// The links of a communicator's ranks: a star around rank 0, and questions between the other ranks
// (agreement/protocol.h). The real ones are sockets (socket_links.h); tests have them in memory,
// and broken on purpose.
//
// wait() and send() are for one thread, wake() for any.

#include <cstdint>
#include <vector>

#include "plugins/nccl/agreement/message.h"

namespace hocket::nccl {

struct LinkEvent {
  enum class Kind : std::uint8_t {
    up,       ///< on ranks > 0: there is a link to rank 0, or a new one
    lost,     ///< the link to the rank has ended
    message,  ///< on rank 0: over the link of the rank; otherwise from rank 0 or a rank that asks
  };
  Kind kind = Kind::message;
  std::uint32_t rank = 0;  ///< rank at the other end
  Message message = {};
};

class Links {
 public:
  virtual ~Links() = default;

  /// Waits until something has arrived, wake() is called or the time has passed, and returns what
  /// has arrived, in order for each link.
  virtual std::vector<LinkEvent> wait(std::int64_t timeout_ns) = 0;
  virtual void wake() = 0;

  /// Sends to one rank, never waits, and drops what cannot be sent. Between ranks > 0 only `Ask`
  /// and its answers can be sent; answers go to a rank that has asked.
  virtual void send(std::uint32_t to, const Message& message) = 0;

  /// Tries for a short time to get rid of what was sent. The last call.
  virtual void close() = 0;
};

}  // namespace hocket::nccl
