#pragma once

// The times of collectives from all ranks, as they arrive on rank 0. A collective's time is the
// smallest over the ranks (measure/collective_statistics.h), known once all ranks have sent it.
// Pure; one thread.

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/nccl/measure/collective_statistics.h"
#include "plugins/nccl/tuning/collective_class.h"

namespace hocket::nccl {

struct TimedCollective {
  CollectiveClass of;
  std::int64_t transfer_ns = 0;
};

class CollectiveTimes {
 public:
  /// Most times that are kept of each rank, for statistics.
  static constexpr std::size_t kMostKept = 4096;

  explicit CollectiveTimes(int ranks) : ranks_(ranks) {}

  /// Adds what a rank has sent; ignores bytes of another form or of another rank.
  void add(std::uint32_t rank, std::string_view bytes);
  /// Returns the collectives that have become known since the last call, by function and number.
  std::vector<TimedCollective> take();
  /// Returns all that was added since the last call, at most kMostKept of each rank, and forgets
  /// it.
  std::vector<measure::RankCollectives> take_all() { return std::exchange(kept_, {}); }

 private:
  struct Partial {
    int ranks = 0;
    measure::MeasuredCollective shortest;
    bool is_usable = true;
  };
  using Number = std::pair<int, std::uint64_t>;  // function and NCCL's number

  const int ranks_;
  std::map<Number, Partial> partial_;
  std::vector<measure::RankCollectives> kept_;
};

}  // namespace hocket::nccl
