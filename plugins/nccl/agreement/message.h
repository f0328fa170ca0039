#pragma once

// The messages by which ranks agree, and their binary form. Pure functions; any thread.
//
// A frame is a length (u32, of what follows), the form's version (u8), the type (u8: the position
// in `Message`) and the fields in their order. Numbers are little-endian, a bool is 0 or 1, a text
// is a length (u32) and its bytes, a list is a length (u8) and its elements. Each message has
// exactly one form.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plugins/nccl/agreement/protocol.h"

namespace hocket::nccl {

/// First message of a member on every link to rank 0. `count` is its number of calls so far, and
/// `undecided` the version of a proposal whose verdicts it may have missed, 0 if there is none.
struct Hello {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::uint64_t comm_id = 0;
  std::uint16_t protocol = kProtocolVersion;
  std::uint64_t count = 0;
  std::uint64_t undecided = 0;
  bool operator==(const Hello&) const = default;
};

/// Asks a member for its count. Answered with the same number.
struct Ping {
  std::uint64_t number = 0;
  bool operator==(const Ping&) const = default;
};

struct Pong {
  std::uint64_t number = 0;
  std::uint64_t count = 0;
  bool operator==(const Pong&) const = default;
};

/// From `call` on the setting `payload` (index into the proposal's payloads) is in force.
struct Gate {
  std::uint64_t call = 0;
  std::uint8_t payload = 0;
  bool is_return = false;
  bool operator==(const Gate&) const = default;
};

struct Proposal {
  std::uint64_t version = 0;
  std::vector<std::string> payloads;
  /// Ascending in their calls. The first is no return gate.
  std::vector<Gate> gates;
  bool operator==(const Proposal&) const = default;
};

/// The member had made the first gate's call before it knew the gate.
struct Passed {
  std::uint64_t version = 0;
  std::uint64_t count = 0;
  bool operator==(const Passed&) const = default;
};

/// The member cannot use a payload, or takes no proposals now.
struct Refused {
  std::uint64_t version = 0;
  std::string reason;
  bool operator==(const Refused&) const = default;
};

/// The member takes no part, now and later.
struct Abstention {
  std::string reason;
  bool operator==(const Abstention&) const = default;
};

/// The member waits at a gate. `digest` includes the gate's call.
struct Arrived {
  std::uint64_t version = 0;
  std::uint32_t gate = 0;
  std::uint64_t call = 0;
  std::uint64_t digest = 0;
  bool operator==(const Arrived&) const = default;
};

struct Verdict {
  std::uint64_t version = 0;
  std::uint32_t gate = 0;
  bool go = false;
  bool operator==(const Verdict&) const = default;
};

/// `rank` waits at a gate, has lost rank 0 and asks any rank for the verdict.
struct Ask {
  std::uint32_t rank = 0;
  Arrived arrived;
  bool operator==(const Ask&) const = default;
};

/// Answer to `Ask`. `has_link`: the answering rank can reach rank 0.
struct Unknown {
  std::uint64_t version = 0;
  std::uint32_t gate = 0;
  bool has_link = false;
  bool operator==(const Unknown&) const = default;
};

/// The communicator is being destroyed on this rank.
struct Goodbye {
  std::uint64_t count = 0;
  bool operator==(const Goodbye&) const = default;
};

/// Opaque bytes for the arbiter's caller.
struct Statistics {
  std::string bytes;
  bool operator==(const Statistics&) const = default;
};

using Message = std::variant<Hello, Ping, Pong, Proposal, Passed, Refused, Abstention, Arrived,
                             Verdict, Ask, Unknown, Goodbye, Statistics>;

/// Returns why a proposal cannot be sent: "" if it is valid.
std::string_view problem_of(const Proposal& proposal);

/// Returns the frame of `message`. Payloads, reasons and bytes beyond their bound are cut off, and
/// an invalid proposal gives a frame that is refused: see `problem_of`.
std::string encode(const Message& message);

struct Decoded {
  std::optional<Message> message;
  /// Bytes of the frame. 0 if the frame is incomplete or invalid.
  std::size_t consumed = 0;
  /// Why the bytes are no frame: "" if there is a message, or if more bytes are needed.
  std::string_view error;
};

/// Reads the frame at the beginning of `bytes`, which may end within it or contain more.
Decoded decode(std::span<const std::byte> bytes);

/// One message to send. The target is a rank or `kEveryone`.
struct Send {
  std::uint32_t to = kEveryone;
  Message message;
};

}  // namespace hocket::nccl
