#pragma once

// The max-min fair rates of flows on links that they share: no flow gets more at the expense of one
// that has less. By progressive filling (Bertsekas and Gallager, Data Networks, 1992, section
// 6.5.2). Pure; one thread uses an object.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace hocket {

class MaxMinRates {
 public:
  /// Calls `set_rate(flow, rate)` for each of `flows` that uses a link, at most once. `uses_of`
  /// returns the uses of a flow, each with the number of a `link` and the `times` that its rate
  /// counts there. Rates have the unit of `capacity`, which has the capacity of each link.
  template <class Flows, class UsesOf, class SetRate>
  void fill(std::span<const double> capacity, Flows& flows, const UsesOf& uses_of,
            const SetRate& set_rate) {
    left_.assign(capacity.begin(), capacity.end());
    has_rate_.assign(flows.size(), false);
    for (;;) {
      wanted_.assign(left_.size(), 0);
      for (std::size_t i = 0; i < flows.size(); ++i)
        if (!has_rate_[i])
          for (const auto& use : uses_of(flows[i])) wanted_[use.link] += use.times;
      // The link that is full first as the rates of all flows grow together.
      std::size_t full = left_.size();
      double rate = std::numeric_limits<double>::infinity();
      for (std::size_t link = 0; link < left_.size(); ++link) {
        if (wanted_[link] == 0 || left_[link] / wanted_[link] >= rate) continue;
        rate = left_[link] / wanted_[link];
        full = link;
      }
      if (full == left_.size()) return;
      for (std::size_t i = 0; i < flows.size(); ++i) {
        const auto& uses = uses_of(flows[i]);
        const auto is_full = [&](const auto& use) { return use.link == full; };
        if (has_rate_[i] || std::ranges::none_of(uses, is_full)) continue;
        has_rate_[i] = true;
        set_rate(flows[i], rate);
        for (const auto& use : uses)
          left_[use.link] = std::max(0.0, left_[use.link] - rate * use.times);
      }
    }
  }

 private:
  // Kept so that nothing is allocated.
  std::vector<double> left_, wanted_;
  std::vector<bool> has_rate_;
};

}  // namespace hocket
