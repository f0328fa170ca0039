#pragma once

// The collectives that more than one rank has: their numbers, and their parts on each rank. Const
// functions may be called by any thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profiler/timeline/timeline.h"

namespace hocket {

/// A part of a collective, by the trace that it is in.
struct SequencedPart {
  std::size_t group = 0;  ///< index in JobGroups::groups
  std::int64_t sequence = 0;
  std::size_t trace = 0;
  std::int64_t begin_ns = 0;
  RecordPlace place;
};

class JoinTable {
 public:
  JoinTable() = default;
  /// Numbers the collectives from 1, by group and sequence. As in core/trace/paired_collectives.h,
  /// only the first of a trace's parts with one sequence counts.
  explicit JoinTable(std::vector<SequencedPart> parts);

  /// Number of collectives.
  std::size_t size() const { return first_.size() - 1; }
  /// Returns the parts of collective `join`, from 1, in the order of traces; none for 0.
  std::span<const RecordPlace> parts(std::uint32_t join) const {
    if (join == 0) return {};
    return std::span(parts_).subspan(first_[join - 1], first_[join] - first_[join - 1]);
  }
  std::size_t bytes() const {
    return first_.capacity() * sizeof(first_[0]) + parts_.capacity() * sizeof(parts_[0]);
  }

 private:
  std::vector<std::uint32_t> first_ = {0};  ///< begin of each collective in parts_, and the end
  std::vector<RecordPlace> parts_;
};

}  // namespace hocket
