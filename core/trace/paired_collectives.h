#pragma once

// Pairs the collectives that several ranks of a job recorded: records of the same group of ranks
// with the same sequence number are parts of one collective. Pure.
//
// Two ranks' groups are the same if they have the same name and, where both traces say them, the
// same ranks: the rows of a mesh may all be called "tp" by their ranks. A trace that does not say
// the ranks of a group is of the known group with that name that holds its rank, if there is one.
//
// The send and the receive of a message are paired in the same way (core/trace/message_ends.h). A
// send may end before its receive begins, and waits for nothing that a trace tells.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/trace/rank_trace.h"

namespace hocket {

/// A group of ranks, as all traces together tell it.
struct MemberGroup {
  std::string name;                 ///< empty: all ranks
  std::vector<std::size_t> traces;  ///< indices of its members' traces, ascending
  std::int64_t ranks = 0;           ///< number of members, with or without a trace
};

/// The groups of a job's traces.
struct JobGroups {
  std::vector<MemberGroup> groups;  ///< group 0 has all ranks
  /// Group of each RankTrace::groups entry, by trace.
  std::vector<std::vector<std::size_t>> group_of;

  /// Returns the index in `groups` of a record's group. Requires a record of trace `trace`.
  std::size_t of(std::size_t trace, const TraceRecord& record) const {
    return record.group == kAllRanks ? 0
                                     : group_of[trace].at(static_cast<std::size_t>(record.group));
  }
};

JobGroups groups_of(std::span<const RankTrace> traces);

/// Returns whether `record` of `trace` is a part of a collective or of a message that may be
/// paired: a plausible communication with a kind and a number, and of a message with its two ranks.
bool is_part(const RankTrace& trace, const TraceRecord& record);

/// One collective or message, or one part of it.
struct PairedCollective {
  std::size_t group = 0;
  std::int64_t sequence = 0;
  /// Its record on each member, in the order of MemberGroup::traces; null where a trace lacks it.
  std::span<const TraceRecord* const> parts;
};

class PairedCollectives {
 public:
  /// O(n log n) in the records. `traces` must outlive this. Records that are no part (is_part())
  /// are left out; of several of a trace with one number the first counts.
  explicit PairedCollectives(std::span<const RankTrace> traces);

  const std::vector<MemberGroup>& groups() const { return groups_.groups; }
  std::size_t size() const { return collectives_.size(); }
  /// Returns collective `index`; they are sorted by group and sequence.
  PairedCollective operator[](std::size_t index) const;

  /// Returns whether every member of its group has a trace, and every trace a part of it.
  bool is_complete(std::size_t index) const;
  /// Returns whether its parts have the same bytes and the same kind; those of a message are a send
  /// and a receive.
  bool is_alike(std::size_t index) const;
  /// Returns whether a part of it is a send or a receive.
  bool is_of_message(std::size_t index) const;

 private:
  struct Entry {
    std::size_t group = 0, first = 0;  // index of its first part
    std::int64_t sequence = 0;
  };

  JobGroups groups_;
  std::vector<Entry> collectives_;
  std::vector<const TraceRecord*> parts_;
};

}  // namespace hocket
