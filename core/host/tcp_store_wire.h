#pragma once

// Wire protocol between TcpStoreClient and TcpStoreServer (core/host/tcp_store.h). All integers
// have 32 bits, in network order.
//
// 1. Server: kMagic, a Welcome, the longest key and the longest value in bytes, a nonce.
// 2. Client: whether it has a secret (0 or 1), a nonce, its proof (zeros without a secret).
// 3. Server: whether the proof is right (0 or 1), its own proof (zeros without a secret).
// 4. Requests of the client, one at a time: an Operation, key length, value length (set) or timeout
//    in ms (get), key, value (set). Reply to set: an Answer. Reply to get: an Answer, value length,
//    value.

#include <arpa/inet.h>

#include <array>
#include <chrono>
#include <cstdint>

#include "core/greeting/rendezvous_secret.h"

namespace hocket::tcp_store_wire {

constexpr std::uint32_t kMagic = 0x686f6b32;  // "hok2"

/// A longer wait is asked for in pieces, so that the server is not kept waiting for clients that
/// are gone.
constexpr std::chrono::milliseconds kLongestWait{60'000};

/// A client believes no server that announces longer values.
constexpr std::uint32_t kLongestValue = 64 << 20;

enum Welcome : std::uint32_t { kOpen = 0, kNeedsSecret = 1, kCrowded = 2 };
enum Operation : std::uint32_t { kSet = 0, kGet = 1 };
enum Answer : std::uint32_t { kNotInTime = 0, kDone = 1, kTooManyKeys = 2, kTooManyBytes = 3 };

template <std::size_t N>
using Words = std::array<std::uint32_t, N>;

struct Greeting {
  Words<4> words;  ///< magic, welcome, longest key, longest value
  Nonce nonce;
};
struct Introduction {
  Words<1> has_secret;
  Nonce nonce;
  SecretProof proof;
};
struct Verdict {
  Words<1> welcome;
  SecretProof proof;
};
static_assert(sizeof(Greeting) == 48 && sizeof(Introduction) == 68 && sizeof(Verdict) == 36);

/// Converts to network order and back.
template <std::size_t N>
Words<N> swapped(Words<N> words) {
  for (auto& word : words) word = htonl(word);
  return words;
}

}  // namespace hocket::tcp_store_wire
