#include "profiler/formats/dialects/kineto_messages.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace hocket {
namespace {

std::optional<std::int64_t> place_in(std::string_view text) {
  std::int64_t place = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), place);
  if (error != std::errc() || end != text.data() + text.size() || place < 0) return std::nullopt;
  return place;
}

/// Returns the rank at the second place of "nccl:send 0->1" or "nccl:recv 1<-0", whose first is the
/// own one. Nothing if the name says no places, or another rank is at the own one.
std::optional<std::int64_t> named_peer(const KinetoMessage& message, const KinetoRank& own) {
  const auto blank = message.name.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view places = message.name.substr(blank + 1);
  const auto arrow = places.find(message.kind == CollectiveKind::send ? "->" : "<-");
  if (arrow == std::string_view::npos) return std::nullopt;
  const auto mine = place_in(places.substr(0, arrow)), other = place_in(places.substr(arrow + 2));
  const std::int64_t size = std::ssize(message.ranks);
  if (!mine || !other || *mine >= size || *other >= size) return std::nullopt;
  if (message.ranks[static_cast<std::size_t>(*mine)] != own.rank) return std::nullopt;
  return message.ranks[static_cast<std::size_t>(*other)];
}

std::optional<std::int64_t> peer_of(const KinetoMessage& message, const KinetoRank& own) {
  const bool is_send = message.kind == CollectiveKind::send;
  if (const auto& said = is_send ? message.destination : message.source) return said;
  if (const auto named = named_peer(message, own)) return named;
  if (message.ranks.size() == 2) return message.ranks[message.ranks[0] == own.rank ? 1 : 0];
  if (message.ranks.empty() && own.ranks == 2) return 1 - own.rank;
  return std::nullopt;
}

}  // namespace

std::optional<MessageEnds> ends_of(const KinetoMessage& message, const KinetoRank& own) {
  const auto peer = peer_of(message, own);
  const auto is_rank = [&](std::int64_t rank) {
    return rank >= 0 && (own.ranks <= 0 || rank < own.ranks) &&
           (message.ranks.empty() || std::ranges::find(message.ranks, rank) != message.ranks.end());
  };
  if (!peer || *peer == own.rank || !is_rank(*peer) || !is_rank(own.rank)) return std::nullopt;
  const bool is_send = message.kind == CollectiveKind::send;
  // The own end, where the file says it, too.
  const auto& mine = is_send ? message.source : message.destination;
  if (mine && *mine != own.rank) return std::nullopt;
  return is_send ? MessageEnds{own.rank, *peer} : MessageEnds{*peer, own.rank};
}

}  // namespace hocket
