#pragma once

// Emulated links on which the parts of collectives and messages are flows, shared max-min fairly as
// in the simulator (core/collective/shared_flows.h). The flows are a table in memory that the
// processes of one machine share, or in memory of this process, behind a lock that outlives a
// process which dies with it. Nobody wakes anybody: each rank of a part looks at the table at times
// of its own, and every look brings the table up to its time. Thread-safe.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/collective/max_min_rates.h"
#include "core/collective/shared_flows.h"
#include "core/host/emulation/shared_memory.h"
#include "core/step/collective_group.h"

namespace hocket {

class LinkFlows {
 public:
  /// Parts that may be under way at once, for each rank.
  static constexpr std::size_t kPartsPerRank = 64;
  /// Least time between two looks that may both be too early.
  static constexpr std::int64_t kLeastWaitNs = 5000;

  /// The links, and how many ranks use them.
  struct Shape {
    std::vector<double> bytes_per_second;
    std::size_t ranks = 1;
  };
  /// Tells a part from the others that are under way.
  struct PartName {
    CollectiveGroup group = {};
    std::uint64_t index = 0;
    std::int64_t first_rank = 0;      ///< of the group
    std::int64_t from = -1, to = -1;  ///< ranks of a message

    bool operator==(const PartName&) const = default;
  };
  struct Part {
    PartName name;
    /// Bytes of its flow, which has the most that any of the part's ranks says.
    double bytes = 0;
    std::uint32_t members = 1;  ///< ranks that join the part
    /// All of its ranks have begun the part when the first one joins it, so the flow begins then;
    /// otherwise it begins with the last one. The same on all ranks.
    bool has_met = false;
    /// Links, at least one, each named once; the same on all ranks of the part.
    std::span<const SharedFlows::Use> uses;
  };
  enum class Phase : std::uint8_t { none, meeting, on_links, ended };
  struct Progress {
    Phase phase = Phase::none;
    /// When the part left the links if it has. Otherwise when to look again: it leaves them no
    /// sooner, or by kLeastWaitNs at most.
    std::int64_t time_ns = 0;
  };

  /// Makes links of this process alone.
  explicit LinkFlows(Shape shape);
  /// Makes links that others can open. unavailable with the system's reason.
  static Result<LinkFlows> make(Shape shape);
  /// Maps the links that a process of this machine has made, with the same shape. unavailable if
  /// this machine has no such links, invalid_argument if theirs is another shape.
  static Result<LinkFlows> open(const std::string& name, Shape shape);

  /// Returns the name for others; empty if the links are this process's own.
  std::string name() const { return shared_ ? shared_->name() : ""; }

  /// Adds this rank to a part. Returns the part's ticket. Times are by a clock that all processes
  /// have. unavailable if too many parts are under way.
  Result<std::uint32_t> join(const Part& part, std::int64_t now_ns);
  /// Returns how far a part is. A rank that sees that the part has ended has left it.
  Progress look(std::uint32_t ticket, std::int64_t now_ns);
  /// Leaves a part that this rank has joined and that it has not seen end.
  void leave(std::uint32_t ticket);

 private:
  class Lock;
  struct Table;
  struct Slot;

  LinkFlows(Shape shape, std::optional<SharedMemory> shared);

  std::size_t most_parts() const { return kPartsPerRank * shape_.ranks; }
  static std::size_t size_bytes(const Shape& shape);
  Table& table() const;
  std::span<Slot> slots() const;
  std::span<SharedFlows::Use> uses_of(const Slot& slot) const;

  /// Returns the part of this name that not all of its ranks have joined.
  Slot* find_incomplete(const PartName& name);
  Slot* find_free();
  void leave(Slot& slot);
  /// Lets flows run until then, and end.
  void advance(std::int64_t now_ns);
  void pass_until(std::int64_t time_ns);
  /// Finds the flows, which other processes begin and end, too.
  void find_flows();
  /// Gives the flows their rates, when one has begun or ended.
  void share();
  double alone_ns(const Slot& slot, double bytes) const;
  std::int64_t next_end_ns() const;
  /// Returns whether a flow that begins may let this one end sooner. It does so where it holds back
  /// one that shares a link with this one, on a link that this one does not use.
  bool may_be_helped(const Slot& slot) const;
  void end_all();

  Shape shape_;
  std::optional<SharedMemory> shared_;
  std::unique_ptr<std::byte[]> own_;
  // Guarded by the table's lock:
  MaxMinRates rates_;
  std::vector<Slot*> on_links_;
};

/// Gives all ranks the same links, or none of them if they are not on one machine. Every rank must
/// call it, with the same shape, when it has no other call of `collective` under way.
Result<std::optional<LinkFlows>> share_link_flows(Collective& collective,
                                                  const LinkFlows::Shape& shape);

}  // namespace hocket
