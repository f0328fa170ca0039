#pragma once

// The rule by which a job whose ranks run different programs, in many groups of ranks, cannot
// deadlock.
//
// A rank begins its communications one after another, in an order in which each stands behind those
// of the rank that it depends on, and as soon as fewer than some limit of them are under way. A
// communication ends once all of its ranks have begun it. If the orders of all ranks are parts of
// one order of the whole job, every communication ends, whatever the limit and the times. For, of
// those that have not ended, look at the first in the job's order. Whatever its ranks begin before
// it stands before it, has therefore ended, and keeps no place, and with it what it depends on; so
// each of its ranks begins it, and it ends.
//
// Conversely, orders of which no such order can be made have a circle: communications each of which
// is begun by some rank before the next one, and the last before the first. With a limit of 1 none
// of them can be the first to end.
//
// An order for the job comes from one of three sources. The order of submission is one where
// find_job_order() finds no circle. Any run of the simulator over all programs is one: it begins
// each communication once, on all of its ranks together, behind what that depends on. An order that
// rank 0 of a group decides while the step runs is one only if all communications of the job are in
// that group, since two groups would decide without each other. Pure.

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace hocket {

/// Numbers of communications of the job, in some order.
using JobOrder = std::vector<std::uint32_t>;

/// A rank begins `before` earlier than `after`.
struct OrderConflict {
  std::int64_t rank = 0;
  std::uint32_t before = 0, after = 0;

  bool operator==(const OrderConflict&) const = default;
};

/// A circle: each conflict's `after` is the next one's `before`, and the last one's the first
/// one's. Of those that there are, one with the fewest ranks, except where looking at all of them
/// would take long.
using OrderCircle = std::vector<OrderConflict>;

/// Returns an order of which each rank's is a part, or a circle if there is none. `begun` lists for
/// each rank the communications that it takes part in, below `communications`, each once.
std::variant<JobOrder, OrderCircle> find_job_order(std::span<const JobOrder> begun,
                                                   std::size_t communications);

}  // namespace hocket
