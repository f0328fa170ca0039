#pragma once

// Builds a RankTrace from another profiler's recording: numbers names and lanes, sorts records,
// finds steps, numbers collectives. Not thread-safe.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/trace/impossible_records.h"
#include "core/trace/message_ends.h"
#include "core/trace/rank_trace.h"

namespace hocket {

/// Numbers texts from 0, in order of first occurrence.
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
  /// Keys of numbers_, which do not move.
  std::vector<const std::string*> texts_;
};

/// A range that a job marked, and the step number from its name or a count.
struct StepRange {
  std::int64_t step = 0, begin_ns = 0, end_ns = 0;

  bool operator==(const StepRange&) const = default;
};

/// Returns the ranges in `records` whose name is `prefix`, followed by at most blanks and a number.
/// If all have numbers that increase with time these are the step numbers; otherwise ranges are
/// counted from 0. Sorted by time.
std::vector<StepRange> named_steps(const std::vector<TraceRecord>& records, const Interner& names,
                                   std::string_view prefix);

/// Like named_steps() for the name whose ranges repeat most evenly: at least three ranges that do
/// not overlap, with the least variation in the distance of their begins. Work of the job must lie
/// in most of them: it was submitted there or, if that is unknown, begins before the next one.
/// Prefers names that leave no gaps between their ranges. Empty when no name qualifies. `work` has
/// the work, where that is not among `records`.
std::vector<StepRange> repeated_steps(const std::vector<TraceRecord>& records,
                                      const Interner& names, const std::vector<TraceRecord>& work);
std::vector<StepRange> repeated_steps(const std::vector<TraceRecord>& records,
                                      const Interner& names);

/// Like repeated_steps() for names with numbers that rise, of a word for a step: "iteration 7",
/// "train_step_7", "batch#7".
std::vector<StepRange> numbered_steps(const std::vector<TraceRecord>& records,
                                      const Interner& names);

class TraceBuilder {
 public:
  Interner& names() { return names_; }
  const Interner& names() const { return names_; }
  const std::vector<TraceRecord>& records() const { return records_; }

  /// Returns the lane of `place`, the profiler's name of a stream, channel or thread. Streams of
  /// computation and copies are numbered together, and so are the host threads of ranges and calls.
  std::int32_t lane(TraceKind kind, std::string_view place);

  /// Returns the number of a group of ranks, for TraceRecord::group: kAllRanks if neither its name
  /// nor its ranks are known.
  std::int32_t group(std::string_view name, std::vector<std::int64_t> ranks);
  /// Returns the number of the group of the messages from one rank to another.
  std::int32_t group(const MessageEnds& ends);

  /// Adds a record. `order` separates communication of one group whose relative order differs
  /// between ranks. The sequence of a collective is the recording's own number of it within its
  /// group, or kNoSequence.
  void add(const TraceRecord& record, std::string_view order = {});

  /// Adds work of a device, whose order is empty. `stream` is a queue, of which two records never
  /// run at once; kUnknownStream if the recording does not say which.
  void add_device_work(const TraceRecord& record, std::int32_t stream);

  /// Notes work of a device that the recording has without its times, and when it was launched; 0
  /// if unknown.
  void add_lost(std::int64_t submitted_ns);

  /// Leaves out and corrects work of devices that cannot be as it was recorded. Call at most once,
  /// when all records are there, before steps are sought in them.
  const ImpossibleRecords& correct();

  /// Fills `trace` except its header fields. Counts implausible records as quarantined, and those
  /// that correct() left out. A record belongs to the step in which it was submitted or, if that
  /// time is unknown, in which it begins. Steps that miss work have no window
  /// (remove_incomplete_steps); returns how many.
  ///
  /// A collective's sequence is derived from the recording's own number if all of its group have
  /// one, else from its step and its index among those of its group in the step, so that ranks
  /// whose traces begin at different steps agree; if that is impossible it is counted over the
  /// trace.
  std::int64_t finish(RankTrace& trace, std::vector<StepRange> steps);

 private:
  std::int32_t number_of(TraceGroup group);
  void number_collectives(std::vector<TraceRecord>& records,
                          const std::vector<std::uint32_t>& orders) const;
  std::vector<StepLoss> losses_of(const RankTrace& trace) const;

  Interner names_, orders_;
  std::vector<TraceGroup> groups_;
  std::map<std::pair<std::string, std::vector<std::int64_t>>, std::int32_t> group_numbers_;
  std::map<std::pair<int, std::string>, std::int32_t, std::less<>> lanes_;
  std::map<int, std::int32_t> lane_counts_;
  std::vector<TraceRecord> records_;
  std::vector<std::uint32_t> record_orders_;
  std::vector<std::int32_t> streams_;  ///< of records_, or kOnHost
  ImpossibleRecords impossible_;
};

}  // namespace hocket
