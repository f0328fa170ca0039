#pragma once

// Makes a RankTrace of what another profiler recorded: names and lanes numbered, records in order,
// steps found, collectives numbered. Not thread-safe.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/trace/rank_trace.h"

namespace hocket {

/// Numbers texts from 0, in the order in which they are first seen.
class Interner {
 public:
  std::uint32_t number(std::string_view text);
  const std::string& text(std::uint32_t number) const { return *texts_[number]; }
  std::size_t size() const { return texts_.size(); }
  std::vector<std::string> texts() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
  std::vector<const std::string*> texts_;  ///< the keys, which do not move
};

/// A range that a job marked, and how its name ends.
struct StepRange {
  std::int64_t step = 0, begin_ns = 0, end_ns = 0;

  bool operator==(const StepRange&) const = default;
};

/// Those ranges in `records` whose name is `prefix`, but for a number at its end and blanks before
/// it. Where every such number is known and they rise with time they are the steps' numbers;
/// otherwise ranges count from 0. In order of time.
std::vector<StepRange> named_steps(const std::vector<TraceRecord>& records, const Interner& names,
                                   std::string_view prefix);

/// The same for the name whose ranges repeat most evenly: at least three times, none overlapping
/// another, with begins at distances that vary least from each other; names that leave no time
/// between their ranges come first. None when there is no such name.
std::vector<StepRange> repeated_steps(const std::vector<TraceRecord>& records,
                                      const Interner& names);

class TraceBuilder {
 public:
  Interner& names() { return names_; }
  const Interner& names() const { return names_; }
  const std::vector<TraceRecord>& records() const { return records_; }

  /// The lane for what ran at `place`, whatever that is called there. Streams of computation and
  /// copies are numbered together, and so are the host threads of ranges and calls.
  std::int32_t lane(TraceKind kind, std::string_view place);

  /// `group` tells apart communication whose order among each other is not the same on all ranks.
  void add(const TraceRecord& record, std::string_view group = {});

  /// Fills `trace` but for its head. Records that cannot be true are counted as quarantined. A
  /// record belongs to the step in which it was submitted, or begins if that is not known.
  ///
  /// A collective's sequence is made of its step and its place in it, so that ranks whose traces
  /// begin at different steps agree; where that is impossible it is counted over the trace.
  void finish(RankTrace& trace, std::vector<StepRange> steps);

 private:
  void number_collectives(std::vector<TraceRecord>& records,
                          const std::vector<std::uint32_t>& groups);

  Interner names_, groups_;
  std::map<std::pair<int, std::string>, std::int32_t, std::less<>> lanes_;
  std::map<int, std::int32_t> lane_counts_;
  std::vector<TraceRecord> records_;
  std::vector<std::uint32_t> record_groups_;
};

}  // namespace hocket
