#include "core/layout/rank_traffic.h"

#include <map>
#include <tuple>

namespace hocket {

std::vector<RankTraffic> traffic_of(const Graph& program) {
  using Kind = OperationKind;
  std::vector<RankTraffic> traffic;
  std::map<std::tuple<std::string, Kind, std::string>, std::size_t> places;
  for (const Operation& operation : program.operations()) {
    if (!is_communication(operation.kind)) continue;
    const std::string& group = operation.attributes.word("group");
    const std::int64_t ranks = operation.attributes.integer("ranks");
    const auto [place, is_new] =
        places.try_emplace({operation.region, operation.kind, group}, traffic.size());
    if (is_new) traffic.push_back({operation.region, operation.kind, group, ranks, 0, 0});
    const bool is_gather = operation.kind == Kind::all_gather;
    const std::int64_t bytes =
        program.type(is_gather ? operation.first_result : operation.operands[0]).bytes();
    RankTraffic& all = traffic[place->second];
    ++all.count;
    // Blocks of what cannot be divided evenly are as large as the largest.
    const std::int64_t block = (bytes + ranks - 1) / ranks;
    all.sent_bytes += block * (ranks - 1) * (operation.kind == Kind::all_reduce ? 2 : 1);
  }
  return traffic;
}

}  // namespace hocket
