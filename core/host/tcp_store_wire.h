#pragma once

// Wire protocol between TcpStoreClient and TcpStoreServer (core/host/tcp_store.h). Numbers are
// little-endian.
//
// 1. The greeting of core/greeting/messages.h. The server adds its Limits, and refuses with its
//    Greeting when all places are taken.
// 2. Requests of the client, one at a time: a Request, the key, and for set the value. The server
//    answers each with a Reply, which for get is followed by the value.

#include <chrono>
#include <cstdint>

#include "core/greeting/messages.h"

namespace hocket::tcp_store_wire {

inline constexpr greeting::Protocol kProtocol = {.magic = 0x73746b68,  // "hkts"
                                                 .version = 3,
                                                 .name = "the protocol of the ranks' rendezvous",
                                                 .server = "rank 0",
                                                 .everyone = "every rank"};

/// A longer wait is asked for in pieces, so that the server is not kept waiting for clients that
/// are gone.
constexpr std::chrono::milliseconds kLongestWait{60'000};

/// A client believes no server that announces longer values.
constexpr std::uint32_t kLongestValue = 64 << 20;

/// Longest key and value that the server takes; sent behind its Verdict.
struct Limits {
  std::uint32_t key_bytes = 0, value_bytes = 0;
};

enum Operation : std::uint32_t { kSet = 0, kGet = 1 };

struct Request {
  std::uint32_t operation = kSet;
  std::uint32_t key_bytes = 0;
  std::uint32_t argument = 0;  ///< of set: bytes of the value; of get: time to wait, in ms
};

enum Answer : std::uint32_t { kNotInTime = 0, kDone = 1, kTooManyKeys = 2, kTooManyBytes = 3 };

struct Reply {
  std::uint32_t answer = kDone;
  std::uint32_t value_bytes = 0;
};

static_assert(sizeof(Limits) == 8 && sizeof(Request) == 12 && sizeof(Reply) == 8);

}  // namespace hocket::tcp_store_wire
