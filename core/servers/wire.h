#pragma once

// The messages of ranks and parameter servers over TCP. Numbers are little-endian; a
// connection carries one request at a time. Pure.
//
// 1. The greeting of core/greeting/messages.h. The rank adds its RankIdentity.
// 2. Requests of the rank, each followed by the server's Reply:
//    push     the Request, then its values as float32; the Reply comes when the server has them,
//             or, if it refuses them, when it has read the Request.
//    update   as push, with an Update between the Request and the values.
//    await    the Reply comes when parts that the rank has pushed are sums, which it names in
//             `more_bytes` bytes of SumName, each part once; or after timeout_ns, naming none, or
//             with an error if parts have been missing for so long.
//    pull     the Reply comes at once, followed by the values of a sum.
//    goodbye  the rank pushes and pulls no more, on any connection.
//    If the Reply's code is not kDone, it is a refusal: `more_bytes` bytes of text follow it.

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "core/collective/parameter_servers.h"
#include "core/greeting/messages.h"

namespace hocket::server_wire {

inline constexpr greeting::Protocol kProtocol = {.magic = 0x73706b68,  // "hkps"
                                                 .version = 3,
                                                 .name = "the parameter servers' protocol",
                                                 .server = "the server",
                                                 .everyone = "every rank and every server"};

/// No await lasts longer: one day.
inline constexpr std::int64_t kLongestWaitNs = 86'400'000'000'000;

enum Operation : std::uint32_t { kPush = 1, kAwait = 2, kPull = 3, kGoodbye = 4, kUpdate = 5 };

/// The identity of a rank, which follows its Introduction in the greeting.
struct RankIdentity {
  std::int32_t rank = 0, ranks = 0;
  std::int32_t server = 0, servers = 0;  ///< the server that the rank takes this one for
  std::uint64_t session = 0;             ///< random, one for all connections of a rank
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
  std::uint32_t code = greeting::kDone;
  std::uint32_t more_bytes = 0;
};

struct SumName {
  std::uint64_t collective = 0;
  std::int64_t offset_bytes = 0;
};

/// Most sums that a Reply names.
inline constexpr std::size_t kMostSums = 32;

static_assert(sizeof(RankIdentity) == 24 && sizeof(Request) == 40 && sizeof(Update) == 64 &&
              sizeof(Reply) == 8 && sizeof(SumName) == 16);

/// invalid_argument if no rank of this version sends it.
Result<void> check_request(const Request& request);

Update to_wire(const PartUpdate& update);
/// invalid_argument if there is no such optimiser.
Result<PartUpdate> from_wire(const Update& update);

}  // namespace hocket::server_wire
