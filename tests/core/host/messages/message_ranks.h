#pragma once

// Ranks of one process that send each other messages, and callers that break the protocol. One
// thread, except for the messages themselves.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/host/messages/message_dial.h"
#include "core/host/messages/message_sockets.h"

namespace hocket {

/// Long enough for whatever succeeds, on a busy machine.
inline constexpr std::chrono::milliseconds kUnhurriedMessages{60'000};

class MessageRanks {
 public:
  explicit MessageRanks(int count, std::chrono::milliseconds timeout = kUnhurriedMessages) {
    for (int rank = 0; rank < count; ++rank) {
      auto opened = MessageSockets::listen(
          {.rank = rank, .world_size = count, .secret = "of the job", .timeout = timeout});
      if (!opened) throw std::runtime_error(opened.error().message);
      ranks_.push_back(std::move(*opened));
      addresses_.push_back(ranks_.back()->address());
    }
    for (const auto& rank : ranks_) rank->set_addresses(addresses_);
  }

  MessageSockets& operator[](int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  const MessageAddress& address(int rank) const {
    return addresses_[static_cast<std::size_t>(rank)];
  }
  /// A rank goes with all its connections, as one whose process ends.
  void end(int rank) { ranks_[static_cast<std::size_t>(rank)].reset(); }

  /// Connects to rank 0 as `caller` says.
  Result<FileDescriptor> call(const message_wire::Caller& caller,
                              const std::string& secret = "of the job") const {
    const OpenSockets sockets;
    return dial({.rank = 0, .address = address(0), .secret = secret}, caller, kUnhurriedMessages,
                sockets);
  }

 private:
  std::vector<MessageAddress> addresses_;
  std::vector<std::unique_ptr<MessageSockets>> ranks_;
};

inline Result<void> send_text(MessageSockets& sockets, int to, const MessageKey& key,
                              const std::string& text) {
  return sockets.send(to, key, std::as_bytes(std::span(text)));
}

/// Receives a text of `size` characters.
inline Result<std::string> receive_text(MessageSockets& sockets, int from, const MessageKey& key,
                                        std::size_t size) {
  std::string text(size, '?');
  HOCKET_TRY(sockets.receive(from, key, std::as_writable_bytes(std::span(text))));
  return text;
}

/// Expects `outcome` to be an error with `code` whose message has `part`.
template <class T>
void expect_error(const Result<T>& outcome, ErrorCode code, const std::string& part) {
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, code) << outcome.error().message;
  EXPECT_NE(outcome.error().message.find(part), std::string::npos) << outcome.error().message;
}

}  // namespace hocket
