#pragma once

// The parts that simulated ranks push to parameter servers and pull from them: their channels, the
// sums of the servers, and the flows on the links. As the real servers (core/servers) do, a server
// says to every rank when it has the sum of a part, which is then pulled.
// Private to this folder; pure: time is an argument, and what happens later is told to the caller.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/collective/served_paths.h"
#include "core/collective/shared_flows.h"
#include "core/description/step_description.h"
#include "core/plan/plan.h"
#include "core/sim/rank_groups.h"

namespace hocket {

class ServedParts {
 public:
  /// A part on its way.
  struct Part {
    PartDecision decision;
    std::uint32_t rank = 0;  ///< number of the simulated rank
    bool is_pull = false;
    std::int32_t channel = 0;   ///< pulls' channels follow those of pushes
    std::int64_t taken_ns = 0;  ///< time at which it took the channel
  };
  /// Something that happens to a part: it enters the links, or is done.
  struct Later {
    std::int64_t time_ns = 0;
    std::uint64_t part = 0;
  };

  ServedParts(const StepServers& servers, std::vector<RankClass> groups, int channels);

  /// Takes a part that the plan of `rank` has handed out.
  void add(std::uint32_t rank, bool is_pull, const PartDecision& decision);
  /// Gives free channels of `rank` to its parts; returns when these enter the links.
  std::vector<Later> take_channels(std::uint32_t rank, std::int64_t now_ns);

  void enter_links(std::uint64_t part, std::int64_t now_ns);
  /// Returns when the next part leaves the links, if nothing enters before.
  std::optional<std::int64_t> next_leaves_ns() const;
  /// Lets it leave, and returns when it is done.
  Later leave_links(std::int64_t now_ns);

  struct Ended {
    Part part;
    bool makes_sum = false;  ///< the last rank has pushed the part
  };
  /// Ends a part, which frees its channel.
  Ended end(std::uint64_t part);
  /// The decisions of a part on all ranks, by rank, once they all have pushed it.
  const std::vector<PartDecision>& decisions(const PartDecision& part) const {
    return sums_.at(key_of(part)).decisions;
  }

 private:
  struct Rank {
    std::deque<PartDecision> pushes, pulls;  ///< parts without a channel
    std::vector<std::int32_t> free_pushes, free_pulls;
  };
  /// A sum on a server.
  struct Sum {
    std::size_t pushed = 0, pulled = 0;  ///< numbers of simulated ranks that have pushed and pulled
    std::vector<PartDecision> decisions = {};
  };
  using Key = std::pair<std::uint64_t, std::int64_t>;  ///< collective, offset

  std::uint64_t take(std::uint32_t rank, bool is_pull, std::int64_t now_ns);
  static Key key_of(const PartDecision& part) { return {part.collective, part.offset_bytes}; }
  Later entering(std::uint64_t part, std::int64_t now_ns) const;
  std::optional<ServedPath> path_of(const Part& part) const;

  const StepServers servers_;
  const std::vector<RankClass> groups_;
  std::vector<Rank> ranks_;
  std::map<Key, Sum> sums_;
  std::vector<Part> parts_;
  std::vector<std::uint64_t> free_parts_;
  const ServedPaths paths_;
  SharedFlows links_;
};

}  // namespace hocket
