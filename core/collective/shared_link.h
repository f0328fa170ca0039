#pragma once

// The link between ranks, with its bandwidth shared equally among the transfers on it (processor
// sharing), divided statically among channels, or a mixture of both. Pure: time is an argument.
//
// The work of a transfer is the time that it would take on the whole link. A virtual clock runs at
// 1/d of real time, where d is the divisor of the bandwidth; a transfer that begins at virtual time
// v ends at v + its work. With k transfers on c channels d = k + split · (c − k).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/check.h"

namespace hocket {

class SharedLink {
 public:
  SharedLink() = default;
  /// `split` is the share of the bandwidth, 0 to 1, that is divided equally among the `channels`,
  /// used or not.
  SharedLink(int channels, double split) : channels_(channels), split_(split) {}

  struct End {
    std::int64_t time_ns = 0;
    std::uint64_t transfer = 0;
  };

  void begin(std::uint64_t transfer, double work_ns, std::int64_t now_ns) {
    advance(now_ns);
    under_way_.push_back({virtual_ns_ + work_ns, transfer});
  }

  /// Returns the transfer that ends first if no other begins before its end; of equal ones, the
  /// transfer that began first.
  std::optional<End> next_end() const {
    if (under_way_.empty()) return std::nullopt;
    const Transfer& first = under_way_[first_to_end()];
    const double left_ns = (first.ends_at - virtual_ns_) * divisor();
    return End{now_ns_ + std::max<std::int64_t>(0, std::llround(left_ns)), first.transfer};
  }

  /// Ends the transfer that next_end() returned.
  void end_next(std::int64_t now_ns) {
    HOCKET_CHECK(!under_way_.empty(), "no transfer is under way");
    const std::size_t first = first_to_end();
    // Uses its exact end, so that rounding to nanoseconds does not accumulate.
    virtual_ns_ = under_way_[first].ends_at;
    now_ns_ = now_ns;
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(first));
  }

 private:
  struct Transfer {
    /// Virtual time.
    double ends_at = 0;
    std::uint64_t transfer = 0;
  };

  void advance(std::int64_t now_ns) {
    if (!under_way_.empty()) {
      virtual_ns_ += static_cast<double>(now_ns - now_ns_) / divisor();
    } else {
      virtual_ns_ = 0;  // preserves the double's precision over a long simulation
    }
    now_ns_ = now_ns;
  }

  double divisor() const {
    const auto used = static_cast<double>(under_way_.size());
    return used + split_ * std::max(0.0, channels_ - used);
  }

  std::size_t first_to_end() const {
    std::size_t first = 0;
    for (std::size_t i = 1; i < under_way_.size(); ++i)
      if (under_way_[i].ends_at < under_way_[first].ends_at) first = i;
    return first;
  }

  int channels_ = 1;
  double split_ = 0;
  // At most one per channel.
  std::vector<Transfer> under_way_;
  double virtual_ns_ = 0;
  std::int64_t now_ns_ = 0;
};

}  // namespace hocket
