#include "archive/profiles/report/straggler_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace hocket {
namespace {

/// Returns whether the ranks' clocks are known so well that their errors hide no lateness.
bool are_comparable(const std::vector<ClockFit>& fits, double iteration_ns) {
  return std::ranges::all_of(fits, [&](const ClockFit& fit) {
    return fit.method != "none" && fit.residual_ns <= kLeastStragglerShare * iteration_ns / 2;
  });
}

void keep_steps(const StragglerOptions& options, StragglerInput& input) {
  const auto is_outside = [&](const auto& of) {
    return (options.first_step && of.step < *options.first_step) ||
           (options.last_step && of.step > *options.last_step);
  };
  std::erase_if(input.steps, is_outside);
  std::erase_if(input.arrivals, is_outside);
}

Error no_steps(const LoadedProfile& profile, const StragglerOptions& options,
               const StragglerInput& all) {
  std::string message = "profile " + profile.row.name + ": no iteration is in the traces of all " +
                        std::to_string(profile.traces.size()) + " ranks";
  if (!all.steps.empty() && (options.first_step || options.last_step)) {
    message = "profile " + profile.row.name + " has no iteration in --steps; it has " +
              std::to_string(all.steps.front().step) + " to " +
              std::to_string(all.steps.back().step);
  }
  return {ErrorCode::not_found, std::move(message)};
}

Error messages_alone(const LoadedProfile& profile) {
  const std::string& name = profile.row.name;
  return {ErrorCode::not_found,
          (name.empty() ? "" : "profile " + name + ": ") +
              "its ranks wait for one another in messages, and in collectives only between ranks "
              "that messages connect; the stages of a pipeline wait so however fast they are, so "
              "that no straggler is told"};
}

std::vector<std::string> notes_of(const LoadedProfile& profile, const StragglerInput& input) {
  std::vector<std::string> notes = profile.notes;
  std::int64_t ranks = 0;
  for (const RankTrace& trace : profile.traces) ranks = std::max(ranks, trace.ranks);
  if (ranks > std::ssize(profile.traces)) {
    notes.push_back(std::to_string(profile.traces.size()) + " of " + std::to_string(ranks) +
                    " ranks have a trace; the others may be later than these");
  }
  if (input.messages > 0) {
    notes.push_back(std::to_string(input.messages) +
                    " messages between two ranks do not count: the stages of a pipeline wait in "
                    "receives while it fills and drains, however fast they are");
  }
  if (input.unknown_messages > 0) {
    notes.push_back(std::to_string(input.unknown_messages) +
                    " sends and receives do not say their two ranks: any ranks of their groups may "
                    "wait for each other in them");
  }
  if (input.collectives_of_connected > 0) {
    notes.push_back(
        std::to_string(input.collectives_of_connected) +
        " collectives between ranks that messages connect do not count: the stages of a "
        "pipeline come to them one after the other");
  }
  if (input.arrivals.empty())
    notes.push_back("no collective is in the traces of two ranks, so nobody waits for anybody");
  return notes;
}

}  // namespace

Result<StragglerReport> find_stragglers(const LoadedProfile& profile,
                                        const StragglerOptions& options) {
  if (profile.traces.size() < 2) {
    return failure(ErrorCode::not_found,
                   "profile " + profile.row.name +
                       ": ranks are compared, and only one has a trace; profile all ranks");
  }
  auto input = straggler_input(profile.traces, profile.fits, ArrivalClock::common);
  StragglerReport report{.profile = profile.row.name, .found = {}};
  if (!are_comparable(profile.fits, input.iteration_ns)) {
    report.clock = ArrivalClock::own;
    input = straggler_input(profile.traces, profile.fits, ArrivalClock::own);
  }
  report.residual_ns = input.residual_ns;
  if (input.arrivals.empty() && input.messages + input.collectives_of_connected > 0)
    return failure(messages_alone(profile));
  const StragglerInput all = input;
  keep_steps(options, input);
  if (input.steps.empty()) return failure(no_steps(profile, options, all));
  report.first_step = input.steps.front().step;
  report.last_step = input.steps.back().step;
  report.notes = notes_of(profile, input);
  report.found = find_stragglers(input);
  return report;
}

nlohmann::json to_json(const StragglerReport& report) {
  auto document = to_json(report.found);
  document["profile"] = report.profile;
  document["clock"] = report.clock == ArrivalClock::common ? "common" : "own";
  if (report.clock == ArrivalClock::common) document["residual_ns"] = report.residual_ns;
  if (report.first_step) document["first_step"] = *report.first_step;
  if (report.last_step) document["last_step"] = *report.last_step;
  document["notes"] = report.notes;
  return document;
}

}  // namespace hocket
