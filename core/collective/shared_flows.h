#pragma once

// Flows between ranks and parameter servers, or among groups of ranks. They share the links max-min
// fairly, as TCP connections of equal round-trip times do approximately: no flow gets more at the
// expense of one that has less. Each flow uses one or more links at once, such as a rank's and a
// server's. Collectives of all ranks share their link in another way
// (core/collective/shared_link.h). Pure: time is an argument.
//
// Rates follow anew at each begin and end (core/collective/max_min_rates.h).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/collective/max_min_rates.h"

namespace hocket {

class SharedFlows {
 public:
  /// A flow's use of a link: `times` its rate, which is > 0. A flow that stands for n alike flows
  /// uses the link that they share n times.
  struct Use {
    std::uint32_t link = 0;
    double times = 1;
  };
  struct End {
    std::int64_t time_ns = 0;
    std::uint64_t flow = 0;
  };

  explicit SharedFlows(std::vector<double> bytes_per_second)
      : bytes_per_second_(std::move(bytes_per_second)), users_(bytes_per_second_.size()) {}

  /// Begins a flow of `bytes` over the links in `uses`, of which there may be none.
  void begin(std::uint64_t flow, double bytes, std::span<const Use> uses, std::int64_t now_ns);

  /// Calls `share(flow)` for each flow, which then runs at this share, above 0 and up to 1, of what
  /// the links give it. Call it at the time of the last begin or end.
  template <class Share>
  void for_each_share(const Share& share) {
    for (Flow& flow : flows_) flow.share = share(flow.id);
  }

  /// Returns the flow that ends first if no other begins before its end; of equal ones, the flow
  /// that began first.
  std::optional<End> next_end() const;
  /// Ends the flow that next_end() returned.
  void end_next(std::int64_t now_ns);

 private:
  struct Flow {
    std::uint64_t id = 0;
    double bytes_left = 0;
    double bytes_per_ns = 0;  ///< what the links give it
    double share = 1;         ///< how much of that it takes
    std::vector<Use> uses;
  };

  void advance(std::int64_t now_ns);
  void share();
  /// Changes the number of flows on its links, and returns whether it is alone on all of them.
  bool count(const Flow& flow, int change);
  double end_after_ns(const Flow& flow) const;

  std::vector<double> bytes_per_second_;
  std::vector<int> users_;  ///< number of flows on each link
  std::vector<Flow> flows_;
  std::int64_t now_ns_ = 0;
  MaxMinRates rates_;
};

}  // namespace hocket
