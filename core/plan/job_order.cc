#include "core/plan/job_order.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kShownNameBytes = 80;

/// Returns the shortest circle through `start` over `next`, which leads from each communication to
/// those that some rank begins directly after it; empty if there is none.
OrderCircle circle_through(std::uint32_t start,
                           const std::vector<std::vector<OrderConflict>>& next) {
  std::vector<OrderConflict> reached_by(next.size(), {.rank = -1});
  std::deque<std::uint32_t> open{start};
  while (!open.empty()) {
    const std::uint32_t at = open.front();
    open.pop_front();
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

std::string shown(const PlannedCommunication& communication, const Mesh& mesh) {
  return "\"" + printable(communication.name, kShownNameBytes) + "\" (" +
         std::string(in_words(communication.kind)) + " of " + std::to_string(communication.bytes) +
         " bytes in " + mesh.name_of(communication.group) + ")";
}

}  // namespace

std::variant<JobOrder, OrderCircle> find_job_order(std::span<const JobOrder> begun,
                                                   std::size_t communications) {
  // Neighbours suffice: what a rank begins later follows from them.
  std::vector<std::vector<OrderConflict>> next(communications);
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
  OrderCircle best;
  for (std::uint32_t i = 0; i < communications; ++i) {
    if (waits_for[i] == 0) continue;
    OrderCircle circle = joined(circle_through(i, next));
    if (!circle.empty() && (best.empty() || circle.size() < best.size())) best = std::move(circle);
    if (best.size() == 2) break;  // one rank alone has no circle
  }
  return best;
}

Result<MatchedJob> match_communications(const Mesh& mesh,
                                        std::span<const std::vector<PlannedCommunication>> programs,
                                        std::span<const std::uint32_t> program_of) {
  HOCKET_CHECK(std::ssize(program_of) == mesh.grid().ranks, "each rank has a program");
  /// The communications of one group so far, each as the first rank that has it does.
  struct Group {
    struct Member {
      std::int64_t rank = 0;
      std::uint32_t number = 0;  // of the communication
      const PlannedCommunication* has = nullptr;
    };
    std::vector<Member> first;
    std::map<std::int64_t, std::size_t> count;  // by rank
  };
  std::map<std::pair<CollectiveGroup, std::int64_t>, Group> groups;
  MatchedJob job;
  job.begun.resize(program_of.size());
  for (std::int64_t rank = 0; rank < mesh.grid().ranks; ++rank) {
    for (const PlannedCommunication& own : programs[program_of[static_cast<std::size_t>(rank)]]) {
      Group& group = groups[{own.group, mesh.first_rank(own.group, rank)}];
      const std::size_t index = group.count[rank]++;
      if (index == group.first.size()) {
        group.first.push_back({rank, static_cast<std::uint32_t>(job.communications++), &own});
      }
      const Group::Member& first = group.first[index];
      if (first.has->kind != own.kind || first.has->bytes != own.bytes) {
        return invalid("ranks " + std::to_string(first.rank) + " and " + std::to_string(rank) +
                       " have different communications in the same place of a group: " +
                       shown(*first.has, mesh) + " and " + shown(own, mesh));
      }
      job.begun[static_cast<std::size_t>(rank)].push_back(first.number);
    }
  }
  for (const auto& [key, group] : groups) {
    for (const std::int64_t rank : mesh.ranks_of(key.first, key.second)) {
      const auto found = group.count.find(rank);
      const std::size_t count = found == group.count.end() ? 0 : found->second;
      if (count == group.first.size()) continue;
      const Group::Member& missing = group.first[count];
      return invalid("rank " + std::to_string(rank) + " never takes part in " +
                     shown(*missing.has, mesh) + ", which rank " + std::to_string(missing.rank) +
                     " has");
    }
  }
  return job;
}

Result<MatchedJob> in_order_of_submission(
    const Mesh& mesh, std::span<const std::vector<PlannedCommunication>> programs,
    std::span<const std::uint32_t> program_of) {
  auto job = match_communications(mesh, programs, program_of);
  HOCKET_TRY(job);
  const auto order = find_job_order(job->begun, job->communications);
  const auto* circle = std::get_if<OrderCircle>(&order);
  if (!circle) return job;
  const auto named = [&](std::int64_t rank, std::uint32_t communication) {
    const auto& begun = job->begun[static_cast<std::size_t>(rank)];
    const auto at =
        static_cast<std::size_t>(std::ranges::find(begun, communication) - begun.begin());
    return shown(programs[program_of[static_cast<std::size_t>(rank)]][at], mesh);
  };
  std::string message = "ranks wait for each other in a circle:";
  for (const OrderConflict& step : *circle) {
    message += (&step == &circle->front() ? " rank " : "; rank ") + std::to_string(step.rank) +
               " begins " + named(step.rank, step.before) + " before " +
               named(step.rank, step.after);
  }
  return invalid(message + "; submit them in one order on all ranks");
}

}  // namespace hocket
