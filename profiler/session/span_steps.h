#pragma once

// Decides which steps of a span are profiled, which are left alone for comparison, and when records
// must be kept. Pure.
//
// When a task of step s ends, step s + 2 has not been submitted, and all of step s − 2 has ended.
// So recording that starts when step P − 2 is first seen misses nothing of step P, and may stop
// when step Q + 2 is seen with all of step Q recorded.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "profiler/session/profile_session.h"

namespace hocket {

/// The profiled steps [begin, end).
struct ProfiledBlock {
  std::int64_t begin = 0, end = 0;
};

class SpanSteps {
 public:
  explicit SpanSteps(const ProfileSpan& span)
      : span_(span),
        blocks_(span.interleave > 0 ? (span.steps + span.interleave - 1) / span.interleave : 1) {}

  std::int64_t blocks() const { return blocks_; }
  ProfiledBlock block(std::int64_t index) const {
    if (span_.interleave == 0) return {span_.first_step, span_.first_step + span_.steps};
    const std::int64_t begin = span_.first_step + index * round();
    const std::int64_t left = span_.steps - index * span_.interleave;
    return {begin, begin + std::min(left, span_.interleave)};
  }

  /// Returns the steps after block `index` in whose windows nothing is recorded.
  ProfiledBlock plain(std::int64_t index) const {
    const std::int64_t begin = block(index).end + kAfter + 1;
    return {begin, begin + span_.interleave};
  }

  /// Returns the block to record when `latest` is the highest step seen.
  std::optional<std::int64_t> kept_block(std::int64_t latest) const {
    const std::int64_t ahead = latest + kBefore - span_.first_step;
    const std::int64_t index =
        span_.interleave == 0 ? 0 : std::max<std::int64_t>(ahead, 0) / round();
    if (index >= blocks_) return std::nullopt;
    const ProfiledBlock at = block(index);
    if (latest < at.begin - kBefore || latest >= at.end + kAfter) return std::nullopt;
    return index;
  }

  /// Returns whether times of the tasks of `step` are needed. Tasks of the step before a block may
  /// still run in the block's first window, and those of the step after it end its last one.
  bool times_tasks_of(std::int64_t step) const {
    const std::int64_t ahead = step + 1 - span_.first_step;
    const std::int64_t index =
        span_.interleave == 0 ? 0 : std::max<std::int64_t>(ahead, 0) / round();
    if (index >= blocks_) return false;
    const ProfiledBlock at = block(index);
    return step >= at.begin - 1 && step <= at.end;
  }

  /// Returns the step that ends the span when it is seen.
  std::int64_t done_at() const {
    const std::int64_t last = span_.interleave == 0 ? block(0).end : plain(blocks_ - 1).end;
    return last + kAfter;
  }

  static constexpr std::int64_t kBefore = 2, kAfter = 2;

 private:
  /// Returns the distance between the begins of two blocks.
  std::int64_t round() const { return 2 * span_.interleave + kAfter + 1 + kBefore; }

  ProfileSpan span_;
  std::int64_t blocks_ = 1;
};

}  // namespace hocket
