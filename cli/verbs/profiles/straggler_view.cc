#include "cli/verbs/profiles/straggler_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <string>
#include <utility>

#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kStragglerNameBytes = 40;

std::string late_text(double ns) {
  const std::string text = value_text(std::abs(ns), ObjectiveUnit::nanoseconds);
  return ns < 0 ? "-" + text : text;
}

std::string with_share(double ns, const Stragglers& found) {
  if (found.iteration_ns <= 0) return late_text(ns);
  return late_text(ns) + " (" + percent_text(ns / found.iteration_ns) + " of an iteration)";
}

/// Returns for example "persistent: computation"; "-" without a verdict.
std::string judged_text(const StragglerRank& rank) {
  if (rank.pattern == StragglerPattern::none) return "-";
  return std::string(to_string(rank.pattern)) + ": " + std::string(to_string(rank.cause));
}

std::string pattern_sentence(const StragglerRank& rank, const Stragglers& found) {
  const std::string name = "rank " + std::to_string(rank.rank);
  const std::string usual = with_share(rank.late_median_ns, found);
  switch (rank.pattern) {
    case StragglerPattern::persistent:
      return name + " is late in " + percent_text(rank.late_share) + " of the steps, by " + usual +
             " at the median";
    case StragglerPattern::growing:
      return name + " is later and later, by " + with_share(rank.change_ns, found) +
             " more over the steps";
    case StragglerPattern::shrinking:
      return name + " is late, but less and less, by " + with_share(-rank.change_ns, found) +
             " less over the steps";
    case StragglerPattern::periodic:
      return name + " is late every " + std::to_string(rank.period) + " steps, by " +
             with_share(rank.late_p95_ns, found) + " (95th percentile)";
    default:
      return name + " is late in some steps, by " + with_share(rank.late_p95_ns, found) +
             " (95th percentile)";
  }
}

std::string more_text(const std::optional<double>& ns) {
  return ns ? (*ns < 0 ? "-" : "+") + value_text(std::abs(*ns), ObjectiveUnit::nanoseconds)
            : "unknown";
}

std::string cause_sentence(const StragglerRank& rank) {
  const StragglerParts& excess = rank.excess;
  switch (rank.cause) {
    case StragglerCause::computation:
      return "its computation takes longer than the others' (" + more_text(excess.compute_ns) +
             " in a late step): look for a slower or shared processor or device, or for more work";
    case StragglerCause::host:
      return "its work is submitted late (" + more_text(excess.host_ns) +
             " in a late step in which nothing runs): look at what its process does beside the "
             "step";
    case StragglerCause::data:
      return "its steps begin late (" + more_text(excess.data_ns) +
             " before a late step's first task): look at its input, and at what it does between "
             "steps";
    case StragglerCause::link:
      return "its transfers take longer (" + more_text(excess.transfer_ns) +
             " in a late step): look at its link and at its host's network";
    case StragglerCause::copies:
      return "its copies take longer (" + more_text(excess.copy_ns) + " in a late step)";
    case StragglerCause::unknown:
      break;
  }
  return "no part of its steps explains most of it (computation " + more_text(excess.compute_ns) +
         ", host " + more_text(excess.host_ns) + ", input " + more_text(excess.data_ns) +
         ", transfers " + more_text(excess.transfer_ns) + ")";
}

std::string chance_text(double chance) {
  if (chance < 1e-4) return "less than 1 in 10000";
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", chance);
  return text;
}

void print_verdict(std::ostream& out, const Stragglers& found) {
  switch (found.verdict) {
    case StragglerVerdict::too_few:
      out << "no verdict: " << found.steps << (found.steps == 1 ? " step is" : " steps are")
          << " compared, and one takes at least " << kFewestStragglerSteps
          << " steps of two ranks or more; profile more steps\n";
      return;
    case StragglerVerdict::none:
      out << "no rank is late: ranks wait for one another for "
          << with_share(found.blocked_ns, found) << ", on average\n";
      return;
    case StragglerVerdict::alternating:
      out << "no rank is to blame: ranks wait for one another for "
          << with_share(found.blocked_ns, found)
          << ", on average, and none is last more often than chance makes it\n";
      return;
    case StragglerVerdict::uneven:
      out << "no rank is late alone, but ranks wait for one another for "
          << with_share(found.blocked_ns, found)
          << ", on average: some are regularly earlier than most\n";
      return;
    case StragglerVerdict::late_ranks:
      break;
  }
  for (const StragglerRank& rank : found.ranks) {
    if (rank.pattern == StragglerPattern::none) continue;
    out << pattern_sentence(rank, found) << ": " << cause_sentence(rank) << ". Confidence "
        << confidence_of(rank) << ": the probability of this by chance is "
        << chance_text(rank.chance) << ".\n";
  }
}

void print_places(std::ostream& out, const Stragglers& found, std::size_t most) {
  if (most == 0 || found.places.empty()) return;
  TextTable table({"collective", "group", "position", "count", "last", "in", "skew median", "p95",
                   "alone median", "p95"});
  for (std::size_t i = 0; i < std::min(most, found.places.size()); ++i) {
    const StragglerPlace& place = found.places[i];
    table.add(
        {printable(place.place.name, kStragglerNameBytes),
         place.place.group.empty() ? "all" : printable(place.place.group, kStragglerNameBytes),
         std::to_string(place.place.position), std::to_string(place.count),
         "rank " + std::to_string(place.last_rank), percent_text(place.last_share),
         late_text(place.skew_median_ns), late_text(place.skew_p95_ns),
         late_text(place.alone_median_ns), late_text(place.alone_p95_ns)});
  }
  out << '\n';
  table.print(out);
  if (found.places.size() > most)
    out << found.places.size() - most << " further collectives; --collectives shows more\n";
}

}  // namespace

void print_stragglers(std::ostream& out, const StragglerReport& report,
                      std::size_t most_collectives) {
  const Stragglers& found = report.found;
  out << "profile " << report.profile << ": " << found.steps
      << (found.steps == 1 ? " step" : " steps");
  if (report.first_step) out << " from " << *report.first_step << " to " << *report.last_step;
  out << ", iteration " << late_text(found.iteration_ns) << "; ranks are compared ";
  if (report.clock == ArrivalClock::common) {
    out << "on one clock, within " << late_text(report.residual_ns) << "\n\n";
  } else {
    out << "by how long they are in collectives, because their clocks are not known well enough; "
        << "a slow link does not show so\n\n";
  }
  TextTable table({"rank", "last in", "late in", "others waited", "late median", "p95", "verdict"});
  for (const StragglerRank& rank : found.ranks) {
    table.add({std::to_string(rank.rank), percent_text(rank.last_share),
               percent_text(rank.late_share), late_text(rank.kept_waiting_ns),
               late_text(rank.late_median_ns), late_text(rank.late_p95_ns), judged_text(rank)});
  }
  table.print(out);
  out << '\n';
  print_verdict(out, found);
  print_places(out, found, most_collectives);
}

}  // namespace hocket
