#include "core/trace/message_ends.h"

#include <string>

namespace hocket {

TraceGroup message_group(const MessageEnds& ends) {
  return {std::to_string(ends.sender) + " to " + std::to_string(ends.receiver),
          {ends.sender, ends.receiver}};
}

std::optional<MessageEnds> message_ends(const RankTrace& trace, const TraceRecord& record) {
  if (!record.collective || !is_message(*record.collective)) return std::nullopt;
  if (record.group < 0 || record.group >= std::ssize(trace.groups)) return std::nullopt;
  const auto& ranks = trace.groups[static_cast<std::size_t>(record.group)].ranks;
  if (ranks.size() != 2 || ranks[0] == ranks[1]) return std::nullopt;
  const MessageEnds ends{ranks[0], ranks[1]};
  const bool is_send = *record.collective == CollectiveKind::send;
  if ((is_send ? ends.sender : ends.receiver) != trace.rank) return std::nullopt;
  return ends;
}

}  // namespace hocket
