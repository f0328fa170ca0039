#pragma once

// A column of optional numbers that are mostly close to one another, such as steps and bytes, at
// four bytes each. Not thread-safe while it grows.
//
// 1. narrow_[i] is the i-th value minus base_, or kNone, or kWide.
// 2. wide_ has the values of exactly those i where narrow_[i] is kWide, sorted by i.
// 3. If no value is known, finish() empties narrow_.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace hocket {

class NarrowColumn {
 public:
  void reserve(std::size_t size) { narrow_.reserve(size); }

  void push_back(std::optional<std::int64_t> value) {
    if (!value) {
      narrow_.push_back(kNone);
      return;
    }
    if (!is_known_) base_ = *value;
    is_known_ = true;
    std::int64_t distance = 0;
    const bool overflows = __builtin_sub_overflow(*value, base_, &distance);
    if (overflows || distance <= kWide || distance > std::numeric_limits<std::int32_t>::max()) {
      wide_.emplace_back(narrow_.size(), *value);
      narrow_.push_back(kWide);
    } else {
      narrow_.push_back(static_cast<std::int32_t>(distance));
    }
  }

  /// Frees what is not needed. No value may be added afterwards.
  void finish() {
    if (!is_known_) narrow_ = std::vector<std::int32_t>();
    wide_.shrink_to_fit();
  }

  std::optional<std::int64_t> at(std::size_t index) const {
    if (!is_known_ || narrow_[index] == kNone) return std::nullopt;
    if (narrow_[index] != kWide) return base_ + narrow_[index];
    return std::lower_bound(wide_.begin(), wide_.end(), index,
                            [](const auto& entry, std::size_t at) { return entry.first < at; })
        ->second;
  }

  std::size_t bytes() const {
    return narrow_.capacity() * sizeof(std::int32_t) + wide_.capacity() * sizeof(wide_[0]);
  }

 private:
  static constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::min();
  static constexpr std::int32_t kWide = kNone + 1;

  std::vector<std::int32_t> narrow_;
  std::vector<std::pair<std::size_t, std::int64_t>> wide_;
  std::int64_t base_ = 0;
  bool is_known_ = false;
};

}  // namespace hocket
