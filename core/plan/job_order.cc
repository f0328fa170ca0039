#include "core/plan/job_order.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "core/base/check.h"

namespace hocket {
namespace {

/// Steps after which no shorter circle is looked for.
constexpr std::size_t kMostSteps = 10'000'000;

using Neighbours = std::vector<std::vector<OrderConflict>>;

/// Returns a circle. `next` leads from each communication to those that some rank begins directly
/// after it, and each of those with `waits_for` > 0 comes after another of them.
OrderCircle any_circle(const Neighbours& next, const std::vector<std::uint32_t>& waits_for) {
  std::vector<OrderConflict> reached_by(next.size());
  std::uint32_t at = 0;
  for (const auto& steps : next) {
    for (const OrderConflict& step : steps) {
      if (waits_for[step.before] == 0) continue;
      reached_by[step.after] = step;
      at = step.after;
    }
  }
  std::vector<bool> is_passed(next.size());
  for (; !is_passed[at]; at = reached_by[at].before) is_passed[at] = true;
  OrderCircle circle{reached_by[at]};
  for (std::uint32_t back = reached_by[at].before; back != at; back = reached_by[back].before)
    circle.push_back(reached_by[back]);
  std::ranges::reverse(circle);
  return circle;
}

/// Returns the shortest circle through `start`; empty if there is none. Adds the steps that it
/// looked at to `steps`.
OrderCircle circle_through(std::uint32_t start, const Neighbours& next, std::size_t& steps) {
  std::vector<OrderConflict> reached_by(next.size(), {.rank = -1});
  steps += next.size();
  std::deque<std::uint32_t> open{start};
  while (!open.empty()) {
    const std::uint32_t at = open.front();
    open.pop_front();
    steps += next[at].size();
    for (const OrderConflict& step : next[at]) {
      if (step.after == start) {
        OrderCircle circle{step};
        for (std::uint32_t back = at; back != start; back = reached_by[back].before)
          circle.push_back(reached_by[back]);
        std::ranges::reverse(circle);
        return circle;
      }
      if (reached_by[step.after].rank >= 0) continue;
      reached_by[step.after] = step;
      open.push_back(step.after);
    }
  }
  return {};
}

/// Joins neighbours of one rank, which begins the first before the last as well.
OrderCircle joined(const OrderCircle& circle) {
  OrderCircle result;
  for (const OrderConflict& step : circle) {
    if (!result.empty() && result.back().rank == step.rank) {
      result.back().after = step.after;
    } else {
      result.push_back(step);
    }
  }
  if (result.size() > 1 && result.front().rank == result.back().rank) {
    result.front().before = result.back().before;
    result.pop_back();
  }
  return result;
}

}  // namespace

std::variant<JobOrder, OrderCircle> find_job_order(std::span<const JobOrder> begun,
                                                   std::size_t communications) {
  // Neighbours suffice: what a rank begins later follows from them.
  Neighbours next(communications);
  std::vector<std::uint32_t> waits_for(communications);
  for (std::size_t rank = 0; rank < begun.size(); ++rank) {
    for (std::size_t i = 0; i < begun[rank].size(); ++i) {
      HOCKET_CHECK(begun[rank][i] < communications, "a communication of the job");
      if (i == 0) continue;
      const std::uint32_t before = begun[rank][i - 1], after = begun[rank][i];
      next[before].push_back({static_cast<std::int64_t>(rank), before, after});
      ++waits_for[after];
    }
  }
  JobOrder order;
  order.reserve(communications);
  for (std::uint32_t i = 0; i < communications; ++i)
    if (waits_for[i] == 0) order.push_back(i);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const OrderConflict& step : next[order[i]])
      if (--waits_for[step.after] == 0) order.push_back(step.after);
  }
  if (order.size() == communications) return order;
  OrderCircle best = joined(any_circle(next, waits_for));
  std::size_t steps = 0;
  // One rank alone has a circle only if it begins something twice.
  for (std::uint32_t i = 0; i < communications && best.size() > 2 && steps < kMostSteps; ++i) {
    if (waits_for[i] == 0) continue;
    OrderCircle circle = joined(circle_through(i, next, steps));
    if (!circle.empty() && circle.size() < best.size()) best = std::move(circle);
  }
  return best;
}

}  // namespace hocket
