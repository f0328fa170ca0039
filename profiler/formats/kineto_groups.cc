// The groups of communication and the two ranks of messages in events of PyTorch's profiler.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/trace/collective_name.h"
#include "profiler/formats/kineto_events.h"

namespace hocket {

std::vector<std::int64_t> KinetoEvents::ranks_of(const Details& details, const ChromeHead& head) {
  if (!details.ranks.empty() || details.group.empty()) return details.ranks;
  const auto listed = std::ranges::find(head.groups, details.group, &ChromeGroup::name);
  const auto is_negative = [](std::int64_t rank) { return rank < 0; };
  const bool is_known =
      listed != head.groups.end() && !std::ranges::any_of(listed->ranks, is_negative);
  return is_known ? listed->ranks : std::vector<std::int64_t>();
}

std::optional<KinetoMessage> KinetoEvents::message_of(const Seen& seen) const {
  const std::string& name = builder_.names().text(seen.record.name);
  const Details* const details = seen.details == kNoDetails ? nullptr : &details_[seen.details];
  if (seen.record.collective || (details && details->collective)) return std::nullopt;
  auto kind = details ? details->message : std::nullopt;
  if (!kind && seen.role != Role::kernel) kind = spelled_message(name);
  if (!kind) return std::nullopt;
  KinetoMessage message{.kind = *kind, .source = {}, .destination = {}, .name = name, .ranks = {}};
  if (details) message.source = details->source;
  if (details) message.destination = details->destination;
  return message;
}

void KinetoEvents::find_messages(const ChromeHead& head, ImportNotes& notes) {
  const KinetoRank own{head.rank.value_or(-1), head.world_size.value_or(0)};
  const auto is_communication = [](const Seen& seen) {
    return seen.record.kind == TraceKind::communication;
  };
  // Several messages of one kernel have no kind, so that the numbers of the others of their
  // direction are not known. They show where more was called than ran.
  using Way = std::pair<MessageEnds, CollectiveKind>;
  std::map<Way, std::int64_t> called, ran;
  for (Seen& seen : seen_) {
    if (!seen.is_call && !is_communication(seen)) continue;
    auto message = message_of(seen);
    if (!message) continue;
    std::vector<std::int64_t> ranks;
    if (seen.details != kNoDetails) ranks = ranks_of(details_[seen.details], head);
    message->ranks = ranks;
    seen.ends = ends_of(*message, own);
    if (!seen.ends) continue;
    if (seen.is_call) ++called[{*seen.ends, message->kind}];
    if (is_communication(seen)) ++ran[{*seen.ends, message->kind}];
  }
  std::int64_t unknown = 0;
  for (Seen& seen : seen_) {
    if (!is_communication(seen)) continue;
    const auto message = message_of(seen);
    if (seen.ends) {
      const Way way{*seen.ends, message->kind};
      const auto calls = called.find(way);
      if (calls == called.end() || calls->second == ran.at(way)) {
        seen.record.collective = message->kind;
        continue;
      }
      seen.ends.reset();
    }
    const bool has_kind =
        seen.record.collective || (seen.details != kNoDetails && details_[seen.details].collective);
    const bool is_message = message || names_messages(builder_.names().text(seen.record.name));
    unknown += !has_kind && is_message ? 1 : 0;
  }
  if (unknown > 0) {
    notes.add(
        std::to_string(unknown) +
            " sends and receives have no kind and are joined with none: the file does not say "
            "their two ranks, or one kernel has several of them",
        NoteWeight::informs);
  }
}

void KinetoEvents::describe(const Seen& seen, const ChromeHead& head, TraceRecord& record) {
  if (record.kind != TraceKind::communication) return;
  const Details* const details = seen.details == kNoDetails ? nullptr : &details_[seen.details];
  if (details && record.bytes == 0) record.bytes = details->bytes;
  if (seen.ends) {
    record.group = builder_.group(*seen.ends);
  } else if (details) {
    if (details->collective) record.collective = details->collective;
    record.sequence = details->sequence;
    record.group = builder_.group(details->group, ranks_of(*details, head));
  }
}

}  // namespace hocket
