#pragma once

// The messages with which two processes of a job begin a connection over TCP: each says which
// version of which protocol it speaks, and both prove that they have the job's secret. The sides
// are core/greeting/client_side.h and server_side.h. Numbers are little-endian. Pure; any thread.
//
// 1. Server: a Greeting.
// 2. Client: an Introduction, then what the protocol adds about the client.
// 3. Server: a Verdict, then what the protocol adds for a client that is let in.
//
// In 1 and 3 an Outcome whose code is not kDone refuses the client: `text_bytes` bytes of text
// follow its message, which say why, and the server sends nothing more. A Protocol's messages have
// fixed lengths, and only the texts do not, so nobody reserves memory for what a stranger claims.

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/result.h"

namespace hocket {

using Nonce = std::array<std::uint8_t, 32>;
using SecretProof = std::array<std::uint8_t, 32>;

}  // namespace hocket

namespace hocket::greeting {

static_assert(std::endian::native == std::endian::little, "structures are sent as they are");

/// A protocol that begins with a greeting. The version covers all its messages, these included.
struct Protocol {
  std::uint32_t magic, version;
  std::string_view name;      ///< "the parameter servers' protocol"
  std::string_view server;    ///< who serves: "rank 0"
  std::string_view everyone;  ///< who needs the secret: "every rank"
};

/// Both sides' first message begins with it, in every version of every protocol.
struct Opening {
  std::uint32_t magic = 0, version = 0;
};

constexpr Opening opening_of(const Protocol& protocol) {
  return {protocol.magic, protocol.version};
}

inline constexpr std::uint32_t kDone = 0;  ///< other codes are 1 + an ErrorCode
/// Longest text of a refusal.
inline constexpr std::uint32_t kLongestText = 2000;

struct Outcome {
  std::uint32_t code = kDone;
  std::uint32_t text_bytes = 0;
};

struct Greeting {
  Opening opening = {};
  Outcome outcome = {};
  Nonce nonce = {};
};

struct Introduction {
  Opening opening = {};
  std::uint32_t has_secret = 0;  ///< or 1
  std::uint32_t reserved = 0;
  Nonce nonce = {};
  SecretProof proof = {};  ///< the client's; zeros without a secret
};

struct Verdict {
  Outcome outcome = {};
  SecretProof proof = {};  ///< the server's; zeros without a secret, and with a refusal
};

static_assert(sizeof(Opening) == 8 && sizeof(Outcome) == 8 && sizeof(Greeting) == 48 &&
              sizeof(Introduction) == 80 && sizeof(Verdict) == 40);

/// Returns a message as it is sent.
template <class Message>
std::string_view message_bytes(const Message& message) {
  static_assert(std::has_unique_object_representations_v<Message>, "no byte is left to chance");
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

/// Says why a peer's opening is not understood: unavailable if it speaks another protocol,
/// invalid_argument if another version. `peer` names it in the message.
Result<void> check_opening(const Protocol& protocol, const Opening& opening, std::string_view peer);

/// An error as it is sent: an Outcome, and the text that follows it.
struct Refusal {
  Outcome outcome = {};
  std::string text = {};
};
Refusal refusal_of(const Error& error);
/// Returns the bytes of a Greeting that refuses any client.
std::string refusing_greeting(const Protocol& protocol, const Error& error);

/// Returns whether a received outcome lets the client in.
constexpr bool is_welcome(const Outcome& outcome) {
  return outcome.code == kDone && outcome.text_bytes == 0;
}

/// Returns whether a received code and length of text are possible for a refusal.
bool is_refusal(const Outcome& outcome);
/// Returns the error of such an outcome, with the text made printable.
Error error_of(const Outcome& outcome, std::string_view text);

}  // namespace hocket::greeting
