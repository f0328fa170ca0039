#pragma once

// The parts of collectives and messages in which only some of the simulated ranks take part: which
// of them have given a part a channel, and the flows on the links between them. A part begins once
// all of its ranks have given it one.
// Private to this folder; pure: time is an argument, and what happens later is told to the caller.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/collective/shared_flows.h"
#include "core/description/step_description.h"
#include "core/plan/plan.h"
#include "core/programs/job_fold.h"
#include "core/sim/part_cost.h"

namespace hocket {

class GroupParts {
 public:
  /// A rank that takes part in a part.
  struct Member {
    std::uint32_t rank = 0;
    std::uint32_t number = 0;  ///< of its collective or message, within its program
    TaskId task;
    std::int64_t taken_ns = 0;  ///< time at which it gave the part a channel
    std::int32_t lane = 0;      ///< in its trace
  };
  struct Part {
    std::uint32_t communication = 0;
    std::int64_t bytes = 0;
    PartCost cost;
    std::vector<Member> members;  ///< those that have given it a channel
  };

  /// Ranks are the classes of `fold`; `split` as in core/collective/shared_link.h.
  GroupParts(std::shared_ptr<const JobFold> fold, int channels, double split);

  /// Takes a part that the plan of `rank` has handed out: one of the collective or message
  /// `number`, counted within the rank's program.
  void start(std::uint32_t rank, std::uint32_t number, const PartDecision& decision,
             const PartCost& cost);
  bool has_waiting(std::uint32_t rank) const { return !waiting_[rank].empty(); }
  /// Gives a channel of `rank` to its next waiting part, and returns the part's index.
  std::uint32_t take_channel(std::uint32_t rank, std::int64_t now_ns);
  /// Returns whether all ranks of the part have given it a channel.
  bool is_met(std::uint32_t index) const;

  const Part& part(std::uint32_t index) const { return parts_[index]; }
  /// The last rank that gave the part a channel.
  Member& last_member(std::uint32_t index) { return parts_[index].members.back(); }

  /// Puts a part that is met onto its links.
  void enter_links(std::uint32_t index, std::int64_t now_ns);
  /// Returns when the next part leaves the links, if none enters before.
  std::optional<std::int64_t> next_leaves_ns() const;
  /// Lets it leave, and returns its index.
  std::uint32_t leave_links(std::int64_t now_ns);
  /// Forgets a part that is done.
  void end(std::uint32_t index);

 private:
  /// A part that a rank has begun and given no channel.
  struct Waiting {
    std::uint32_t index = 0;
    std::uint32_t number = 0;
    TaskId task;
  };
  /// The parts of a communication that are under way, in order of their beginning.
  struct Communication {
    std::deque<std::uint32_t> parts;
    std::uint64_t first = 0;  ///< number of the first of them, counted over all launches
  };

  LinkTier tier_of(const Part& part) const {
    return fold_->communications[part.communication].crosses_hosts ? LinkTier::network
                                                                   : LinkTier::host;
  }
  void count_transfer(const Part& part, int change);
  void set_shares();

  const std::shared_ptr<const JobFold> fold_;
  const int channels_;
  const double split_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> free_parts_;
  std::vector<Communication> communications_;
  /// By rank and number: how many parts of it the rank has begun.
  std::vector<std::vector<std::uint64_t>> begun_;
  std::vector<std::deque<Waiting>> waiting_;  ///< by rank
  SharedFlows links_;
  /// By rank: its parts on the links of each tier.
  std::vector<std::array<int, kLinkTiers>> transfers_;
};

}  // namespace hocket
