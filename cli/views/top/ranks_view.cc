#include "cli/views/top/ranks_view.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "cli/output/columns.h"
#include "cli/output/fitted_table.h"
#include "cli/output/value_text.h"
#include "core/base/text.h"
#include "core/step/collective_kind.h"

namespace hocket {
namespace {

constexpr std::size_t kMostNameBytes = 200, kMostProblemBytes = 400;
/// The clock of the lanes advances every 4 or 10 ms.
constexpr std::int64_t kLeastSpanNs = 10'000'000;

std::string span_text(std::int64_t since_ns, std::int64_t now_ns) {
  if (since_ns <= 0 || since_ns > now_ns) return "-";
  if (now_ns - since_ns < kLeastSpanNs) return "<10 ms";
  return value_text(static_cast<double>(now_ns - since_ns), ObjectiveUnit::nanoseconds);
}

bool is_placed(const RankLanes& rank) {
  return std::ranges::any_of(rank.lanes,
                             [](const ShownLane& lane) { return lane.kind == TraceKind::copy; });
}

std::string lane_text(const RankLanes& rank, const ShownLane& lane) {
  switch (lane.kind) {
    case TraceKind::communication:
      return "channel " + std::to_string(lane.lane);
    case TraceKind::copy:
      return lane.lane == 0 ? "to device" : "to host";
    case TraceKind::compute:
    case TraceKind::range:
    case TraceKind::call:
      break;
  }
  const auto computing = std::ranges::count(rank.lanes, TraceKind::compute, &ShownLane::kind);
  if (is_placed(rank) && lane.lane + 1 == computing) return "host";
  return "stream " + std::to_string(lane.lane);
}

std::string work_text(const RankLanes& rank, const ShownLane& lane) {
  if (lane.state == LaneState::changing) return "(short tasks, one after the other)";
  if (lane.state == LaneState::waiting) return "(waits for work)";
  std::string name = printable(lane.name, kMostNameBytes) + (lane.is_cut ? "…" : "");
  if (name.empty()) name = "(no name)";
  if (lane.kind == TraceKind::compute) return name;
  const std::string size = ", " + size_with_unit(std::max<std::int64_t>(lane.bytes, 0));
  if (lane.kind == TraceKind::copy) return name + size;
  std::string text = std::string(in_words(lane.collective)) + " of " + name + size;
  if (lane.peer_rank != kNoPeer) {
    return text + (lane.collective == CollectiveKind::send ? ", to rank " : ", from rank ") +
           std::to_string(lane.peer_rank);
  }
  return lane.group == CollectiveGroup::world ? text : text + ", " + rank.mesh.name_of(lane.group);
}

/// Returns the lanes to show of a rank: those with work, or the one that has waited the shortest.
std::vector<const ShownLane*> lanes_of(const RankLanes& rank) {
  std::vector<const ShownLane*> lanes;
  const ShownLane* last = nullptr;
  for (const ShownLane& lane : rank.lanes) {
    if (lane.state != LaneState::waiting) lanes.push_back(&lane);
    if (!last || lane.since_ns > last->since_ns) last = &lane;
  }
  if (lanes.empty() && last) lanes.push_back(last);
  return lanes;
}

void add_rank(const ShownRank& rank, std::int64_t now_ns, FittedTable& table) {
  bool is_first = true;
  for (const ShownLane* lane : lanes_of(rank.lanes)) {
    const bool waits = lane->state == LaneState::waiting, runs = lane->state == LaneState::running;
    const std::string ranks = std::to_string(rank.lanes.mesh.grid().ranks);
    table.add({is_first ? std::to_string(rank.pid) : "",
               is_first
                   ? printable(rank.command, kMostNameBytes) + (rank.is_stopped ? " (stopped)" : "")
                   : "",
               is_first ? std::to_string(rank.lanes.rank) + " of " + ranks : "",
               runs ? std::to_string(lane->step) : "-",
               waits ? "all" : lane_text(rank.lanes, *lane), work_text(rank.lanes, *lane),
               lane->state == LaneState::changing ? "-" : span_text(lane->since_ns, now_ns)});
    is_first = false;
  }
}

std::string counted(std::size_t count, std::string_view one) {
  return std::to_string(count) + " " + std::string(one) + (count == 1 ? "" : "s");
}

std::string heading_of(const RanksShown& shown) {
  return "hocket top  ranks on this machine  " + time_text(shown.at_unix_ns) + "  " +
         counted(shown.found.ranks.size(), "rank");
}

/// Returns how many ranks fit into `room` lines, one of which says that there are more if not all
/// do.
std::size_t fitting_ranks(const std::vector<ShownRank>& ranks, std::size_t room) {
  std::size_t lines = 0, fitting = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    lines += lanes_of(ranks[i].lanes).size();
    if (lines + (i + 1 < ranks.size() ? 1 : 0) <= room) fitting = i + 1;
    if (lines > room) break;
  }
  return fitting;
}

}  // namespace

std::vector<std::string> rank_lines(const RanksShown& shown, const TopSize& size) {
  const std::vector<ShownRank>& ranks = shown.found.ranks;
  std::vector<std::string> lines = {heading_of(shown)};
  for (const std::string& problem : shown.found.problems)
    lines.push_back(printable(problem, kMostProblemBytes));
  if (ranks.empty()) {
    lines.push_back("No process that you may look into shows lanes of hocket's scheduler.");
  } else {
    const std::size_t others = lines.size() + 1;
    std::size_t fitting = ranks.size();
    if (size.height > 0)
      fitting = fitting_ranks(ranks, size.height > others ? size.height - others : 0);
    FittedTable table({{"pid", 3, true},
                       {"program", 2, false, 8, 26},
                       {"rank", 6, true},
                       {"step", 4, true},
                       {"lane", 5},
                       {"runs", 8, false, 20},
                       {"for", 7, true}});
    for (std::size_t i = 0; i < fitting; ++i) add_rank(ranks[i], shown.at_coarse_ns, table);
    for (std::string& line : table.lines(size.width)) lines.push_back(std::move(line));
    if (fitting < ranks.size())
      lines.push_back("and " + counted(ranks.size() - fitting, "more rank"));
  }
  if (size.height > 0 && lines.size() > size.height) lines.resize(size.height);
  for (std::string& line : lines) line = cut_to(line, size.width);
  return lines;
}

}  // namespace hocket
