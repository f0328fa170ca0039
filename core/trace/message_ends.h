#pragma once

// Messages in traces: who sent a record's bytes, and who received them.
//
// A message is a record of kind `send` on one rank and of kind `receive` on the other, both in the
// group of the two ranks in this direction. The group has the sender before the receiver, so that
// the two directions between a pair of ranks are two groups, and the n-th send of a direction is
// the n-th receive of it. Pure.

#include <cstdint>
#include <optional>

#include "core/trace/rank_trace.h"

namespace hocket {

/// The two ranks of a message.
struct MessageEnds {
  std::int64_t sender = 0, receiver = 0;

  auto operator<=>(const MessageEnds&) const = default;
};

/// Returns the group of all messages from one rank to another.
TraceGroup message_group(const MessageEnds& ends);

/// Returns the ends of the message that `record` of `trace` is a part of. Nothing if its kind is
/// not that of a message, or its group is not that of two ranks of which the trace's is the one
/// that the kind says.
std::optional<MessageEnds> message_ends(const RankTrace& trace, const TraceRecord& record);

}  // namespace hocket
