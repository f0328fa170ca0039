#pragma once

// The messages of ranks and parameter servers over TCP. Numbers are little-endian; a
// connection carries one request at a time. Pure.
//
// 1. Server: a Greeting.
// 2. Rank: an Introduction.
// 3. Server: a Verdict. If its code is not kDone, `text_bytes` bytes of text follow, which say why
//    the rank is refused, and the connection ends.
// 4. Requests of the rank, each followed by the server's Reply:
//    push     the Request, then its values as float32; the Reply comes when the server has them,
//             or, if it refuses them, when it has read the Request.
//    update   as push, with an Update between the Request and the values.
//    await    the Reply comes when parts that the rank has pushed are sums, which it names in
//             `more_bytes` bytes of SumName, each part once; or after timeout_ns, naming none, or
//             with an error if parts have been missing for so long.
//    pull     the Reply comes at once, followed by the values of a sum.
//    goodbye  the rank pushes and pulls no more, on any connection.
//    If the Reply's code is not kDone, `more_bytes` bytes of text follow it and nothing else.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/collective/parameter_servers.h"
#include "core/greeting/rendezvous_secret.h"

namespace hocket::server_wire {

static_assert(std::endian::native == std::endian::little, "structures are sent as they are");

inline constexpr std::uint32_t kMagic = 0x73706b68;  // "hkps"
inline constexpr std::uint32_t kVersion = 2;

/// Longest text of an error.
inline constexpr std::uint32_t kLongestText = 2000;
/// No await lasts longer: one day.
inline constexpr std::int64_t kLongestWaitNs = 86'400'000'000'000;

enum Code : std::uint32_t { kDone = 0 };  ///< otherwise 1 + an ErrorCode
enum Operation : std::uint32_t { kPush = 1, kAwait = 2, kPull = 3, kGoodbye = 4, kUpdate = 5 };

/// Both sides' first message begins with it, in every version.
struct Opening {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
};

struct Greeting {
  Opening opening = {};
  Nonce nonce = {};
};

struct Introduction {
  Opening opening = {};
  std::uint32_t has_secret = 0;
  std::int32_t rank = 0, ranks = 0;
  std::int32_t server = 0, servers = 0;  ///< the server that the rank takes this one for
  std::uint32_t reserved = 0;
  std::uint64_t session = 0;  ///< random, one for all connections of a rank
  Nonce nonce = {};
  SecretProof proof = {};  ///< zeros without a secret
};

struct Verdict {
  std::uint32_t code = kDone;
  std::uint32_t text_bytes = 0;
  SecretProof proof = {};  ///< zeros without a secret, and for a rank that is refused
};

struct Request {
  std::uint32_t operation = kPush;
  std::uint32_t reserved = 0;
  std::uint64_t collective = 0;
  std::int64_t offset_bytes = 0;
  std::uint64_t values = 0;
  std::int64_t timeout_ns = 0;  ///< of an await
};

/// A PartUpdate.
struct Update {
  std::uint32_t tensor = 0;
  std::uint32_t optimizer = 0;  ///< an OptimizerKind
  std::int64_t update = 0;
  double gradient_scale = 0, learning_rate = 0, momentum = 0, beta1 = 0, beta2 = 0, epsilon = 0;
};

struct Reply {
  std::uint32_t code = kDone;
  std::uint32_t more_bytes = 0;
};

struct SumName {
  std::uint64_t collective = 0;
  std::int64_t offset_bytes = 0;
};

/// Most sums that a Reply names.
inline constexpr std::size_t kMostSums = 32;

static_assert(sizeof(Opening) == 8 && sizeof(Greeting) == 40 && sizeof(Introduction) == 104 &&
              sizeof(Verdict) == 40 && sizeof(Request) == 40 && sizeof(Update) == 64 &&
              sizeof(Reply) == 8 && sizeof(SumName) == 16);

/// Why a peer's opening is not understood: unavailable if it is no parameter server or rank at all,
/// invalid_argument if it has another version. `peer` names it in the message.
Result<void> check_opening(const Opening& opening, std::string_view peer);

/// invalid_argument if no rank of this version sends it.
Result<void> check_request(const Request& request);

Update to_wire(const PartUpdate& update);
/// invalid_argument if there is no such optimiser.
Result<PartUpdate> from_wire(const Update& update);

/// A code and the text that follows it, at most kLongestText bytes.
struct Refusal {
  std::uint32_t code = kDone;
  std::string text = {};
};
Refusal refusal_of(const Error& error);

/// Returns whether a received code and length of text are possible.
bool is_refusal(std::uint32_t code, std::uint32_t text_bytes);
/// The error of such a code, with the text made printable.
Error error_of(std::uint32_t code, std::string_view text);

}  // namespace hocket::server_wire
