// hocket stragglers: says which rank the others wait for, in a profile or in a running job.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "archive/profiles/load_profile.h"
#include "archive/profiles/report/straggler_report.h"
#include "cli/inputs/access/profile_source.h"
#include "cli/output/value_text.h"
#include "cli/verbs/profiles/live_stragglers.h"
#include "cli/verbs/profiles/straggler_view.h"
#include "cli/verbs/verb.h"
#include "cli/views/profile_view.h"

namespace hocket {
namespace {

struct StragglersOptions {
  std::string profile, store, steps;
  std::size_t collectives = 5;
  LiveStragglersOptions live;
  bool json = false;
};

std::optional<std::int64_t> step_number(const std::string& text) {
  constexpr std::size_t kMostDigits = 18;
  const bool is_number = !text.empty() && text.size() <= kMostDigits &&
                         text.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? std::optional<std::int64_t>(std::stoll(text)) : std::nullopt;
}

/// Reads "10-20", "10-" and "-20".
Result<StragglerOptions> steps_of(const std::string& text) {
  StragglerOptions range;
  if (text.empty()) return range;
  const auto dash = text.find('-');
  const std::string first = text.substr(0, dash);
  const std::string last = dash == std::string::npos ? text : text.substr(dash + 1);
  range.first_step = step_number(first);
  range.last_step = step_number(last);
  const bool is_read = (range.first_step || first.empty()) && (range.last_step || last.empty()) &&
                       (range.first_step || range.last_step);
  if (is_read && range.first_step.value_or(0) <= range.last_step.value_or(INT64_MAX)) return range;
  return failure(
      ErrorCode::invalid_argument,
      "--steps: expected the first and the last step, such as 10-20, 10- or -20, found " + text);
}

Result<int> show_stragglers(const StragglersOptions& options, VerbContext& context) {
  if (options.profile.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "stragglers: name a PROFILE (`hocket profiles list` shows them), or a running "
                   "job with --job");
  }
  const auto steps = steps_of(options.steps);
  HOCKET_TRY(steps);
  const auto store = open_profiles(options.store, false);
  HOCKET_TRY(store);
  const auto row = find_profile(**store, options.profile);
  HOCKET_TRY(row);
  const auto profile = load_profile(*row);
  HOCKET_TRY(profile);
  const auto report = find_stragglers(*profile, *steps);
  HOCKET_TRY(report);
  if (options.json) {
    context.out << json_text(to_json(*report)) << '\n';
  } else {
    print_stragglers(context.out, *report, options.collectives);
    print_notes(context.err, report->notes);
  }
  return kDone;
}

}  // namespace

void add_stragglers(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<StragglersOptions>();
  auto* verb = program.add_subcommand("stragglers", "say which rank the others wait for, and why");
  auto* profile = verb->add_option("PROFILE", options->profile, "its name or number");
  auto* steps = verb->add_option("--steps", options->steps,
                                 "of a profile: only these steps, such as 10-20, 10- or -20");
  auto* collectives =
      verb->add_option("--collectives", options->collectives,
                       "of a profile: how many collectives to list, the worst first");
  collectives->capture_default_str();
  auto* store = verb->add_option("--store", options->store, "the store's file, with profiles");
  auto* job = verb->add_option("--job", options->live.job,
                               "in place of a profile, a running job of the daemon: its id, or its "
                               "name when only one has it");
  add_daemon_option(*verb, options->live.daemon);
  for (auto* option : {profile, steps, collectives, store}) job->excludes(option);
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(
      "Examples:\n  hocket stragglers gpt2-3\n  hocket stragglers gpt2-3 --steps 20-\n"
      "  hocket stragglers --job gpt2\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& context) {
      options->live.json = options->json;
      return options->live.job.empty() ? show_stragglers(*options, context)
                                       : show_live_stragglers(options->live, context);
    };
  });
}

}  // namespace hocket
