#pragma once

// The two ranks of a send or a receive, by what PyTorch's profiler says of it. Pure.
//
// "record_param_comms" says the peer in the whole job ("Src Rank", "Dst Rank", since PyTorch 2.4),
// and names of NCCL's operations say both ranks' places in their group ("nccl:send 0->1"). Where
// neither is said, as with Gloo, a group or a job of two ranks tells the peer. The numbers of
// messages ("Seq") count the messages of a group with any peer, so they do not pair them.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/step/collective_kind.h"
#include "core/trace/message_ends.h"

namespace hocket {

/// A message, as a file describes it.
struct KinetoMessage {
  CollectiveKind kind = CollectiveKind::send;
  /// Ranks in the job.
  std::optional<std::int64_t> source, destination;
  std::string_view name;                ///< of the operation, which may say places in the group
  std::span<const std::int64_t> ranks;  ///< of the group; empty if unknown
};

/// The rank whose file it is, and the number of the job's ranks; 0 if unknown.
struct KinetoRank {
  std::int64_t rank = 0, ranks = 0;
};

/// Returns the ends of a message of `own`. Nothing if the file does not tell them, or contradicts
/// itself: a rank that the job or the group does not have, or a message to itself.
std::optional<MessageEnds> ends_of(const KinetoMessage& message, const KinetoRank& own);

}  // namespace hocket
