#pragma once

// Reorders tasks as far as their accesses allow. Pure.

#include <cstdint>
#include <queue>
#include <span>
#include <vector>

#include "core/plan/dependency_graph.h"
#include "core/step/task.h"

namespace hocket::partitioning {

/// Returns the numbers of the tasks in the order of `keys`, which must be distinct, except that
/// each task follows all tasks of lower number that it conflicts with. Of the tasks that may come
/// next it takes the one with the least key. `accesses_of(i)` returns the accesses of task i;
/// `data` is the number of data items.
template <class Key, class AccessesOf>
std::vector<std::uint32_t> conflict_order(const std::vector<Key>& keys, std::size_t data,
                                          const AccessesOf& accesses_of) {
  const auto later = [&](std::uint32_t a, std::uint32_t b) { return keys[b] < keys[a]; };
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(later)> ready(later);

  struct Nothing {};
  DependencyGraph<Nothing> graph;
  for (std::size_t i = 0; i < data; ++i) graph.add_data();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto added = graph.add(std::span<const Access>(accesses_of(i)));
    if (added.ready) ready.push(added.task.slot);
  }
  std::vector<std::uint32_t> order;
  order.reserve(keys.size());
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    graph.finish(graph.id_of(order.back()), [&](std::uint32_t next) { ready.push(next); });
  }
  return order;
}

}  // namespace hocket::partitioning
