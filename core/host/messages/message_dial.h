#pragma once

// Connects to the port on which another rank takes messages.

#include <chrono>
#include <string>

#include "core/base/result.h"
#include "core/files/descriptor.h"
#include "core/host/messages/message_address.h"
#include "core/host/messages/message_socket.h"
#include "core/host/messages/message_wire.h"

namespace hocket {

/// A rank that connections go to.
struct DialedRank {
  int rank = 0;
  MessageAddress address = {};
  std::string secret = {};  ///< of the job; may be empty
};

/// Returns the text that both sides of a connection prove to have.
std::string message_secret(const std::string& job_secret, const MessageAddress& address);

/// Connects and says who calls. Blocks at most `timeout`, or until `sockets` are shut down. Errors
/// name the rank: unavailable if it is gone or refuses, timed_out if it does not answer. Any
/// thread.
Result<FileDescriptor> dial(const DialedRank& peer, const message_wire::Caller& caller,
                            std::chrono::milliseconds timeout, const OpenSockets& sockets);

}  // namespace hocket
