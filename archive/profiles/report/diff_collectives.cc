#include "archive/profiles/report/diff_collectives.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/statistics.h"
#include "profiler/metrics/exposed_time.h"
#include "profiler/metrics/iteration_windows.h"
#include "profiler/metrics/metrics.h"

namespace hocket {
namespace {

/// Collectives that are compared as one. Bytes are kManySizes where sizes are not told apart.
struct CollectiveId {
  std::string group;
  std::optional<CollectiveKind> kind;
  std::string name;
  std::int64_t bytes = 0;

  auto operator<=>(const CollectiveId&) const = default;
};

constexpr std::int64_t kManySizes = -1;

struct CollectiveFacts {
  std::int64_t records = 0;
  std::int64_t exposed_ns = 0;
  /// Earliest begin after that of its iteration.
  std::int64_t position_ns = std::numeric_limits<std::int64_t>::max();
  std::vector<double> skews, waits, transfers, bandwidths;

  void add(const CollectiveFacts& more) {
    const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    records += more.records;
    exposed_ns += more.exposed_ns;
    position_ns = std::min(position_ns, more.position_ns);
    append(skews, more.skews);
    append(waits, more.waits);
    append(transfers, more.transfers);
    append(bandwidths, more.bandwidths);
  }
};

using AllFacts = std::map<CollectiveId, CollectiveFacts>;

CollectiveId id_of(const RankTrace& trace, const TraceRecord& record) {
  const auto group = static_cast<std::size_t>(record.group);
  return {record.group == kAllRanks ? std::string() : trace.groups[group].name, record.collective,
          trace.names[record.name], record.bytes};
}

bool is_counted(const RankTrace& trace, const TraceRecord& record) {
  return record.kind == TraceKind::communication && is_plausible(record) &&
         record.name < trace.names.size() && record.group < std::ssize(trace.groups);
}

void add_records(const RankTrace& trace, std::span<const StepWindow> windows, AllFacts& all) {
  const auto begins_after = [](std::int64_t ns, const StepWindow& window) {
    return ns < window.interval.end_ns;
  };
  for (const TraceRecord& record : trace.records) {
    if (!is_counted(trace, record)) continue;
    const auto window =
        std::upper_bound(windows.begin(), windows.end(), record.begin_ns, begins_after);
    if (window == windows.end() || record.begin_ns < window->interval.begin_ns) continue;
    CollectiveFacts& facts = all[id_of(trace, record)];
    ++facts.records;
    facts.position_ns = std::min(facts.position_ns, record.begin_ns - window->interval.begin_ns);
  }
}

/// Adds the exposed time inside `windows` to the collectives that cause it.
void add_exposed(const RankTrace& trace, std::span<const StepWindow> windows, AllFacts& all) {
  std::size_t next = 0;
  for (const auto& [interval, index] : exposed_slices(trace)) {
    if (!is_counted(trace, trace.records[index])) continue;
    while (next < windows.size() && windows[next].interval.end_ns <= interval.begin_ns) ++next;
    std::int64_t inside_ns = 0;
    for (std::size_t i = next; i < windows.size(); ++i) {
      const Interval& window = windows[i].interval;
      if (window.begin_ns >= interval.end_ns) break;
      inside_ns +=
          std::min(window.end_ns, interval.end_ns) - std::max(window.begin_ns, interval.begin_ns);
    }
    if (inside_ns > 0) all[id_of(trace, trace.records[index])].exposed_ns += inside_ns;
  }
}

/// Returns the facts of all collectives, and the sum of the ranks' iterations.
std::pair<AllFacts, std::int64_t> facts_of(const ProfiledRanks& profile) {
  AllFacts all;
  std::int64_t iterations = 0;
  for (const RankTrace& trace : profile.traces) {
    const auto windows = windows_of(trace.step_starts, 0);
    iterations += std::ssize(windows);
    add_records(trace, windows, all);
    add_exposed(trace, windows, all);
  }
  if (iterations == 0) return {};
  for (const CollectiveMetrics& each : measure_job(profile.traces, profile.fits).collectives) {
    const auto found = all.find({each.group, each.kind, each.name, each.bytes});
    if (found == all.end()) continue;
    found->second.skews.push_back(each.arrival_skew_ns);
    found->second.waits.push_back(each.wait_ns);
    if (!each.knows_transfer) continue;
    found->second.transfers.push_back(each.transfer_ns);
    if (each.bus_bandwidth > 0) found->second.bandwidths.push_back(each.bus_bandwidth);
  }
  return {std::move(all), iterations};
}

/// Group, kind and name.
using NamedId = std::tuple<std::string, std::optional<CollectiveKind>, std::string>;

NamedId named(const CollectiveId& id) {
  return {id.group, id.kind, id.name};
}

std::map<NamedId, std::set<std::int64_t>> sizes_of(const AllFacts& all) {
  std::map<NamedId, std::set<std::int64_t>> sizes;
  for (const auto& [id, facts] : all) sizes[named(id)].insert(id.bytes);
  return sizes;
}

/// Puts the sizes of a name together where the two profiles have different ones.
void join_other_sizes(AllFacts& before, AllFacts& after) {
  const auto sizes_before = sizes_of(before), sizes_after = sizes_of(after);
  const auto join = [&](AllFacts& all) {
    AllFacts joined;
    for (auto& [id, facts] : all) {
      const auto a = sizes_before.find(named(id)), b = sizes_after.find(named(id));
      CollectiveId to = id;
      if (a != sizes_before.end() && b != sizes_after.end() && a->second != b->second)
        to.bytes = kManySizes;
      joined[std::move(to)].add(facts);
    }
    all = std::move(joined);
  };
  join(before);
  join(after);
}

/// Returns for collectives that only `after` has the one of `before` in the same place.
std::map<CollectiveId, CollectiveId> same_places(const AllFacts& before, const AllFacts& after) {
  using Place = std::tuple<std::string, std::optional<CollectiveKind>, std::int64_t>;
  using Alone = std::map<Place, std::vector<const AllFacts::value_type*>>;
  const auto only_in = [](const AllFacts& all, const AllFacts& other) {
    Alone alone;
    for (const auto& each : all)
      if (!other.contains(each.first))
        alone[{each.first.group, each.first.kind, each.first.bytes}].push_back(&each);
    for (auto& [place, list] : alone)
      std::ranges::stable_sort(list, {}, [](const auto* each) { return each->second.position_ns; });
    return alone;
  };
  const Alone gone = only_in(before, after), added = only_in(after, before);
  std::map<CollectiveId, CollectiveId> places;
  for (const auto& [place, list] : added) {
    const auto found = gone.find(place);
    if (found == gone.end() || found->second.size() != list.size()) continue;
    for (std::size_t i = 0; i < list.size(); ++i)
      places.emplace(list[i]->first, found->second[i]->first);
  }
  return places;
}

CollectiveFigure figure_of(const CollectiveFacts& facts, std::int64_t iterations) {
  const auto middle = [](const std::vector<double>& values) {
    return values.empty() ? std::nullopt : std::optional<double>(median(values));
  };
  const auto all = static_cast<double>(iterations);
  return {.per_iteration = static_cast<double>(facts.records) / all,
          .exposed_ns = static_cast<double>(facts.exposed_ns) / all,
          .arrival_skew_ns = middle(facts.skews),
          .wait_ns = middle(facts.waits),
          .transfer_ns = middle(facts.transfers),
          .bus_bandwidth = middle(facts.bandwidths)};
}

nlohmann::json collective_figure_json(const CollectiveFigure& figure) {
  nlohmann::json document = {{"per_iteration", figure.per_iteration},
                             {"exposed_ns", figure.exposed_ns}};
  const auto add = [&](const char* name, const std::optional<double>& value) {
    document[name] = value ? nlohmann::json(*value) : nlohmann::json();
  };
  add("arrival_skew_ns", figure.arrival_skew_ns);
  add("wait_ns", figure.wait_ns);
  add("transfer_ns", figure.transfer_ns);
  add("bus_bandwidth", figure.bus_bandwidth);
  return document;
}

}  // namespace

std::vector<CollectiveDifference> diff_collectives(const ProfiledRanks& before,
                                                   const ProfiledRanks& after) {
  auto [facts_before, iterations_before] = facts_of(before);
  auto [facts_after, iterations_after] = facts_of(after);
  join_other_sizes(facts_before, facts_after);
  const auto places = same_places(facts_before, facts_after);
  std::map<CollectiveId, CollectiveDifference> all;
  const auto entry = [&](const CollectiveId& id) -> CollectiveDifference& {
    CollectiveDifference& difference = all[id];
    difference.group = id.group;
    difference.kind = id.kind;
    difference.name = id.name;
    difference.name_after = id.name;
    if (id.bytes != kManySizes) difference.bytes = id.bytes;
    return difference;
  };
  for (const auto& [id, facts] : facts_before)
    entry(id).before = figure_of(facts, iterations_before);
  for (const auto& [id, facts] : facts_after) {
    const auto place = places.find(id);
    CollectiveDifference& difference = entry(place == places.end() ? id : place->second);
    difference.after = figure_of(facts, iterations_after);
    difference.name_after = id.name;
  }
  std::vector<CollectiveDifference> differences;
  for (auto& [id, difference] : all) differences.push_back(std::move(difference));
  std::ranges::stable_sort(differences, std::greater<>(), [](const CollectiveDifference& each) {
    return std::abs(each.change_ns());
  });
  return differences;
}

nlohmann::json to_json(const CollectiveDifference& difference) {
  nlohmann::json document = {{"name", difference.name},
                             {"kind", nullptr},
                             {"bytes", nullptr},
                             {"before", collective_figure_json(difference.before)},
                             {"after", collective_figure_json(difference.after)},
                             {"change_ns", difference.change_ns()}};
  if (difference.kind) document["kind"] = to_string(*difference.kind);
  if (difference.bytes) document["bytes"] = *difference.bytes;
  if (!difference.group.empty()) document["group"] = difference.group;
  if (difference.name_after != difference.name) document["name_after"] = difference.name_after;
  return document;
}

}  // namespace hocket
