#pragma once

// The records of one lane by columns, with summaries of runs of consecutive records. Const
// functions may be called by any thread.
//
// 1. Records are disjoint and sorted: end_ns(i) ≤ begin_ns(i + 1). So begins and ends both rise,
//    and the records in a span of time are consecutive.
// 2. Level l of the summaries has one for each complete run of kSummaryFan^(l + 1) records, from
//    record 0 on. The summary of any run is put together from O(kSummaryFan · log n) of them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/intervals.h"
#include "core/step/collective_kind.h"
#include "profiler/timeline/narrow_column.h"

namespace hocket {

inline constexpr std::size_t kSummaryFan = 16;

/// A record on the axis; the rest as in TraceRecord.
struct LaneRecord {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint32_t name = 0;
  std::optional<std::int64_t> step = {}, task = {}, bytes = {}, sequence = {};
  std::optional<std::int64_t> submitted_ns = {}, ready_ns = {};
  std::optional<CollectiveKind> collective = {};
};

/// Summary of a run of consecutive records.
struct RunSummary {
  std::int64_t busy_ns = 0;
  std::uint32_t name = 0;  ///< kSeveralNames if the records have several
  std::uint32_t join = 0;  ///< 0 if there is none or are several
};

class LaneRecords {
 public:
  void reserve(std::size_t size);
  /// Requires that `record` begins when the last one has ended, or later.
  void push_back(const LaneRecord& record);
  /// Sets the number, from 1, of the collective that a record is a part of. No record may be added
  /// afterwards.
  void set_join(std::size_t index, std::uint32_t join);
  /// Makes the summaries. Records and joins must not change afterwards.
  void finish();

  std::size_t size() const { return begin_ns_.size(); }
  std::int64_t begin_ns(std::size_t index) const { return begin_ns_[index]; }
  std::int64_t end_ns(std::size_t index) const { return end_ns_[index]; }
  std::uint32_t name(std::size_t index) const { return names_[index]; }
  std::uint32_t join(std::size_t index) const { return joins_.empty() ? 0 : joins_[index]; }
  LaneRecord at(std::size_t index) const;

  /// Returns the first record that is not before `time_ns`: it ends later, or begins then or later.
  std::size_t first_not_before(std::int64_t time_ns) const;
  /// Returns the first record from `from` on that begins at `time_ns` or later. O(log of the
  /// distance).
  std::size_t first_begin_from(std::int64_t time_ns, std::size_t from = 0) const;
  /// Returns the first record from `from` on that ends after `time_ns`. O(log of the distance).
  std::size_t first_end_after(std::int64_t time_ns, std::size_t from) const;

  /// Returns the summary of the records from `first` up to `last`, which must be more.
  RunSummary summary(std::size_t first, std::size_t last) const;
  /// Returns how long the records from `first` up to `last`, which must all lie in `window` at
  /// least in part, are in it.
  std::int64_t busy_ns(std::size_t first, std::size_t last, const Interval& window) const;
  /// Returns how long all records are in `window`; 0 if that is empty.
  std::int64_t busy_ns(const Interval& window) const;

  std::size_t bytes() const;

 private:
  RunSummary summary_of(std::size_t index) const;

  std::vector<std::int64_t> begin_ns_, end_ns_;
  std::vector<std::uint32_t> names_;
  std::vector<std::uint32_t> joins_;       ///< empty if all are 0
  std::vector<std::uint8_t> collectives_;  ///< kind plus 1, or 0; empty if all are 0
  NarrowColumn steps_, tasks_, bytes_, sequences_;
  NarrowColumn submitted_before_, ready_before_;    ///< distances to the begin
  std::vector<std::vector<RunSummary>> summaries_;  ///< by level
};

}  // namespace hocket
