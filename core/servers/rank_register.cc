#include "core/servers/rank_register.h"

#include "core/base/check.h"

namespace hocket {
namespace {

std::string differ(const std::string& server, const std::string& rank) {
  return "this server was started " + server + ", the rank " + rank +
         "; start servers and ranks with the same numbers and the same list of servers";
}

}  // namespace

RankRegister::RankRegister(const ServerIdentity& identity, std::size_t connections_per_rank)
    : identity_(identity),
      connections_per_rank_(connections_per_rank),
      ranks_(static_cast<std::size_t>(identity.ranks)) {
  HOCKET_CHECK(identity.ranks > 0 && identity.server >= 0 && identity.server < identity.servers,
               "the server has ranks and is one of the servers");
}

Result<void> RankRegister::enter(const server_wire::RankIdentity& peer) {
  if (peer.ranks != identity_.ranks) {
    return invalid(differ("for " + std::to_string(identity_.ranks) + " ranks",
                          "is one of " + std::to_string(peer.ranks)));
  }
  if (peer.servers != identity_.servers || peer.server != identity_.server) {
    return invalid(differ("as number " + std::to_string(identity_.server) + " of " +
                              std::to_string(identity_.servers) + " servers",
                          "takes it for number " + std::to_string(peer.server) + " of " +
                              std::to_string(peer.servers)));
  }
  const std::string name = "rank " + std::to_string(peer.rank);
  if (peer.rank < 0 || peer.rank >= identity_.ranks) {
    return invalid("there is no " + name + ": ranks are 0 to " +
                   std::to_string(identity_.ranks - 1));
  }
  Rank& rank = ranks_[static_cast<std::size_t>(peer.rank)];
  if (rank.state == State::left || rank.state == State::gone) {
    return failure(ErrorCode::unavailable,
                   name + (rank.state == State::left ? " has left" : " is gone") +
                       " and cannot come back; start the servers and the job again");
  }
  if (rank.state == State::here && rank.session != peer.session)
    return invalid(name + " is already connected; give every rank a number of its own");
  if (rank.connections >= connections_per_rank_) {
    return failure(ErrorCode::unavailable,
                   name + " has " + std::to_string(rank.connections) +
                       " connections, which is the limit; push and pull in fewer threads");
  }
  rank.state = State::here;
  rank.session = peer.session;
  ++rank.connections;
  return {};
}

void RankRegister::leave(int rank) {
  Rank& left = ranks_[static_cast<std::size_t>(rank)];
  if (left.state == State::here) left.state = State::left;
}

bool RankRegister::end_connection(int rank, bool said_goodbye) {
  Rank& ended = ranks_[static_cast<std::size_t>(rank)];
  --ended.connections;
  const bool lost = ended.state == State::here;
  if (lost) ended.state = State::gone;
  if (lost || (said_goodbye && ended.state == State::left)) {
    ended_ += ended.ended ? 0 : 1;
    ended.ended = true;
  }
  return lost;
}

Result<void> RankRegister::outcome() const {
  std::string gone;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].state != State::gone) continue;
    gone += (gone.empty() ? "rank " : ", rank ") + std::to_string(rank);
  }
  if (gone.empty()) return {};
  return failure(ErrorCode::unavailable,
                 gone + " went away without a goodbye; see what it printed last");
}

}  // namespace hocket
