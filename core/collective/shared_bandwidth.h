#pragma once

// A link whose bandwidth is shared equally by the transfers on it (processor sharing), or divided
// among channels for good, or something between. Pure: time is an argument.
//
// Each transfer is measured in the time that it would take on the whole link. A virtual clock runs
// at 1/d of real time while d transfers share the link; a transfer that begins at virtual time v
// ends at v + its work. With k transfers on c channels d = k + split · (c − k).

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
  /// `split` is the share of the bandwidth, 0 to 1, that belongs to the `channels` alike, whether
  /// they are used or not.
  SharedLink(int channels, double split) : channels_(channels), split_(split) {}

  struct End {
    std::int64_t time_ns = 0;
    std::uint64_t transfer = 0;
  };

  void begin(std::uint64_t transfer, double work_ns, std::int64_t now_ns) {
    advance(now_ns);
    under_way_.push_back({virtual_ns_ + work_ns, transfer});
  }

  /// The transfer that ends first, among equals the one that began first, if no other begins
  /// before.
  std::optional<End> next_end() const {
    if (under_way_.empty()) return std::nullopt;
    const Transfer& first = under_way_[first_to_end()];
    const double left_ns = (first.ends_at - virtual_ns_) * divisor();
    return End{now_ns_ + std::max<std::int64_t>(0, std::llround(left_ns)), first.transfer};
  }

  /// Ends the transfer that next_end() named.
  void end_next(std::int64_t now_ns) {
    HOCKET_CHECK(!under_way_.empty(), "no transfer is under way");
    const std::size_t first = first_to_end();
    // Exactly its end, so that rounding to nanoseconds does not add up.
    virtual_ns_ = under_way_[first].ends_at;
    now_ns_ = now_ns;
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(first));
  }

 private:
  struct Transfer {
    double ends_at = 0;  ///< virtual time
    std::uint64_t transfer = 0;
  };

  void advance(std::int64_t now_ns) {
    if (!under_way_.empty()) {
      virtual_ns_ += static_cast<double>(now_ns - now_ns_) / divisor();
    } else {
      virtual_ns_ = 0;  // keeps the double's precision over a long simulation
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
  std::vector<Transfer> under_way_;  // as many as channels
  double virtual_ns_ = 0;
  std::int64_t now_ns_ = 0;
};

}  // namespace hocket
