#pragma once

// Distributes records that overlap over rows, so that each row's records are disjoint. Not
// thread-safe.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hocket {

class LaneRows {
 public:
  explicit LaneRows(std::size_t most) : most_(most) {}

  /// Returns the first row, from 0, in which no record lasts beyond `begin_ns`; nothing if all
  /// `most` rows have one. A record lies below those that it is nested in, if they come first.
  /// Requires that begins do not fall. O(most).
  std::optional<std::size_t> place(std::int64_t begin_ns, std::int64_t end_ns) {
    for (std::size_t row = 0; row < ends_.size(); ++row) {
      if (ends_[row] > begin_ns) continue;
      ends_[row] = end_ns;
      return row;
    }
    if (ends_.size() == most_) return std::nullopt;
    ends_.push_back(end_ns);
    return ends_.size() - 1;
  }

 private:
  std::size_t most_;
  std::vector<std::int64_t> ends_;  ///< end of each row's last record
};

}  // namespace hocket
