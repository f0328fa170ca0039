#pragma once

// Wire protocol of messages between two ranks (core/host/messages/message_sockets.h). Numbers are
// little-endian.
//
// 1. The greeting of core/greeting/messages.h; who connects adds its Caller.
// 2. If the caller sends: messages, one after the other, each a Head and its bytes. Nothing comes
//    back. If it watches: nothing. The end of the connection then says that the other side is gone.

#include <cstdint>

#include "core/greeting/messages.h"

namespace hocket::message_wire {

inline constexpr greeting::Protocol kProtocol = {.magic = 0x736d6b68,  // "hkms"
                                                 .version = 1,
                                                 .name = "the protocol of messages between ranks",
                                                 .server = "the other rank",
                                                 .everyone = "every rank"};

enum Purpose : std::uint32_t { kSend = 0, kWatch = 1 };

/// Says who connects, and what for.
struct Caller {
  std::uint32_t rank = 0;
  std::uint32_t purpose = kSend;
};

struct Head {
  std::uint64_t group = 0, index = 0;  ///< of the MessageKey
  std::uint64_t bytes = 0;             ///< that follow
};

static_assert(sizeof(Caller) == 8 && sizeof(Head) == 24);

}  // namespace hocket::message_wire
