// hocket explain: shows what a search has learned and why it tried each setting; or how a step is
// best partitioned, and which alternatives were rejected.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/profiles/export_profile.h"
#include "archive/profiles/prediction.h"
#include "archive/studies/explanation/explanation_json.h"
#include "cli/inputs/config/config_source.h"
#include "cli/inputs/config/schedule_preset.h"
#include "cli/inputs/step/step_source.h"
#include "cli/output/value_text.h"
#include "cli/verbs/explanation/explanation_source.h"
#include "cli/verbs/verb.h"
#include "cli/views/explanation_view.h"
#include "cli/views/partition_view.h"
#include "cli/views/profile_view.h"
#include "cli/views/simulation_view.h"
#include "core/base/json.h"
#include "core/sim/offload/offload_choice.h"
#include "core/step/hidden_knob.h"

namespace hocket {
namespace {

struct ExplainOptions {
  ExplanationSource source;
  ConfigChoice config;
  StepChanges changes;
  std::string output;
  bool json = false;
};

constexpr const char* kExplainFooter =
    "Of a search each trial is left out once, to compare what the others predict with what was\n"
    "measured. Of a step description (docs/formats/step.md) the simulator tries how to partition\n"
    "it: what is best, and what was rejected; or how many layers a device of limited memory\n"
    "keeps, if it is placed on one. docs/formats/explanation.md says what the JSON "
    "holds.\n"
    "Examples:\n"
    "  hocket explain gpt2-1\n"
    "  hocket explain --table sweep.csv --objective-column iteration_ns --json\n"
    "  hocket explain gpt2.step.json --preset ddp\n"
    "  hocket explain gpt2.step.json --ranks 64 --ranks-per-host 8 \\\n"
    "      --link host=300gbit,5us --link network=25gbit,20us\n"
    "  hocket explain gpt2.step.json --config now.json --output better.json\n";

/// Returns whether the source is a step description. A file takes precedence over a study's name.
bool names_step(const ExplanationSource& source) {
  std::error_code ignored;
  return source.table.empty() && (source.study.ends_with(".json") ||
                                  std::filesystem::is_regular_file(source.study, ignored));
}

/// Explains how many layers a device of limited memory best keeps.
Result<int> explain_placed_step(const ExplainOptions& options, const StepDescription& step,
                                const ScheduleConfig& base, VerbContext& context) {
  const auto choice = choose_offload(step, base);
  if (!choice) return failure(choice.error().in(options.source.study));
  const nlohmann::json document = offload_json(step, *choice, base);
  if (!options.output.empty())
    HOCKET_TRY(write_whole_file(options.output, document.at("config").dump(2) + "\n"));
  if (options.json) {
    context.out << json_text(document) << '\n';
  } else {
    print_offload(context.out, step, *choice);
  }
  return kDone;
}

Result<int> explain_step(const ExplainOptions& options, VerbContext& context) {
  const auto base = read_config(options.config, hockets_defaults(), context.err);
  HOCKET_TRY(base);
  const auto step = read_changed_step(options.source.study, options.changes, context.err);
  HOCKET_TRY(step);
  const auto comparable = check_comparable(*step, false);
  if (!comparable) return failure(comparable.error().in(options.source.study));
  if (step->device_memory_bytes > 0)
    return explain_placed_step(options, *step, base->config, context);
  PartitionSearchOptions search;
  for (const SchedulePreset& preset : schedule_presets()) search.always.push_back(preset.config);
  auto choice = choose_partition(*step, base->config, search);
  if (!choice) return failure(choice.error().in(options.source.study));
  auto notes = base->notes;
  for (const HiddenKnob& hidden : hidden_knobs(base->config)) notes.push_back(hidden.text);
  if (!choice->complete) {
    notes.push_back("the search was cut short at its limit of " + std::to_string(search.events) +
                    " simulated events: there may be better configurations than the chosen one, "
                    "which is no worse than any preset");
  }
  print_notes(context.err, notes);
  const ExplainedStep explained{options.source.study, base->config, base->name, step->ranks,
                                std::move(*choice)};
  if (!options.output.empty()) {
    const std::string text = to_json(explained.choice.config).dump(2) + "\n";
    HOCKET_TRY(write_whole_file(options.output, text));
  }
  if (options.json) {
    context.out << json_text(to_json(explained)) << '\n';
  } else {
    print_partition(context.out, explained);
  }
  return kDone;
}

Result<int> explain_verb(const ExplainOptions& options, VerbContext& context) {
  if (names_step(options.source)) return explain_step(options, context);
  if (!options.config.is_empty() || !options.changes.is_empty() || !options.output.empty()) {
    return invalid(
        "--preset, --config, --output, --ranks, --link and other changes of a step are of a step "
        "description; explain STEP.json, where the file is there and says how a step runs");
  }
  const auto explained = explain_source(options.source, "explain");
  HOCKET_TRY(explained);
  if (options.json) {
    context.out << json_text(to_json(*explained)) << '\n';
  } else {
    print_explanation(context.out, *explained);
  }
  return kDone;
}

}  // namespace

void add_explain(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<ExplainOptions>();
  auto* verb = program.add_subcommand(
      "explain", "show what a search learned, or how a step is best partitioned");
  add_source(*verb, options->source, "its name or number, or the file of a step description");
  add_config_options(*verb, options->config, "hocket's defaults; both are of a step");
  add_step_changes(*verb, options->changes);
  verb->add_option("-o,--output", options->output,
                   "of a step: the file to write the chosen configuration to")
      ->type_name("FILE");
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(kExplainFooter);
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return explain_verb(*options, c); };
  });
}

}  // namespace hocket
