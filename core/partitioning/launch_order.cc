#include "core/partitioning/launch_order.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/partitioning/conflict_order.h"

namespace hocket::partitioning {

std::vector<Piece> defer_launches(std::vector<Piece> pieces, std::size_t data) {
  const auto is_deferred = [](const Piece& piece) { return piece.deferred; };
  if (std::none_of(pieces.begin(), pieces.end(), is_deferred)) return pieces;

  using Key = std::tuple<bool, std::uint32_t, std::uint32_t>;
  std::vector<Key> keys;
  keys.reserve(pieces.size());
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    keys.emplace_back(piece.deferred, piece.deferred ? piece.task.priority : 0, i);
  }
  const auto order = conflict_order(keys, data, [&](std::size_t i) -> const std::vector<Access>& {
    return pieces[i].task.accesses;
  });
  std::vector<Piece> ordered;
  ordered.reserve(pieces.size());
  for (const std::uint32_t i : order) ordered.push_back(std::move(pieces[i]));
  return ordered;
}

void prioritise_computations(std::vector<Piece>& pieces, std::size_t data, ComputeOrder order,
                             const Rules& rules) {
  if (order != ComputeOrder::critical_path) return;
  struct Nothing {};
  DependencyGraph<Nothing> graph;
  for (std::size_t i = 0; i < data; ++i) graph.add_data();
  for (const Piece& piece : pieces) graph.add(piece.task.accesses);

  std::vector<std::uint32_t> behind(pieces.size(),
                                    0);  // tasks in the longest chain that waits for it
  for (auto i = static_cast<std::uint32_t>(pieces.size()); i-- > 0;) {
    graph.for_each_successor(
        i, [&](std::uint32_t next) { behind[i] = std::max(behind[i], behind[next] + 1); });
  }
  std::map<std::uint32_t, std::uint32_t, std::greater<>>
      place;  // priority by length, longest first
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!pieces[i].task.collective) place[behind[i]];
  }
  std::uint32_t next = 0;
  for (auto& [length, priority] : place) priority = std::min(next++, kPriorityLevels - 1);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece& piece = pieces[i];
    if (piece.task.collective || rules.rules[piece.rule].priority) continue;
    piece.task.priority = place[behind[i]];
  }
}

void limit_streams(std::vector<Piece>& pieces, std::vector<std::string>& data, const Rules& rules,
                   int streams) {
  struct Turns {
    std::uint32_t first_data = 0;
    std::uint32_t next = 0;
  };
  std::vector<Turns> turns(rules.rules.size());
  const auto is_limited = [&](const Rule& rule) {
    return rule.streams > 0 && rule.streams < streams;
  };
  for (std::size_t r = 0; r < turns.size(); ++r) {
    const Rule& rule = rules.rules[r];
    turns[r].first_data = static_cast<std::uint32_t>(data.size());
    for (int k = 0; is_limited(rule) && k < rule.streams; ++k)
      data.push_back("streams " + rule.region + " " + std::to_string(k));
  }
  for (Piece& piece : pieces) {
    const Rule& rule = rules.rules[piece.rule];
    if (piece.task.collective || !is_limited(rule)) continue;
    Turns& turn = turns[piece.rule];
    const auto count = static_cast<std::uint32_t>(rule.streams);
    piece.task.accesses.push_back(update(DataId{turn.first_data + turn.next++ % count}));
  }
}

}  // namespace hocket::partitioning
