// hocket knobs: the declared settings of other tools that `hocket tune --knobs` searches.

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>

#include "archive/studies/study_job.h"
#include "cli/base/command_line.h"
#include "cli/inputs/knobs/knob_catalog.h"
#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "core/base/plain_text.h"
#include "core/base/text.h"
#include "tuner/space/job_value.h"

namespace hocket {
namespace {

struct KnobsOptions {
  std::string knobs;
  bool json = false;
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Returns "hocket", the path of a user's file, and whether it stands in for hocket's own.
std::string place_of_file(const KnownKnobs& known) {
  if (known.path.empty()) return "hocket";
  return known.path + (known.is_replacing ? " (in place of hocket's)" : "");
}

/// Returns the oldest and the newest version that some of the knobs need.
std::string version_range_text(const std::string& since, const std::string& until) {
  if (since.empty() && until.empty()) return "any";
  if (until.empty()) return "from " + since;
  return (since.empty() ? "" : "from " + since + " ") + "to " + until;
}

/// Returns the values as --param takes them.
std::string values_text(const Domain& domain) {
  if (const auto* range = std::get_if<IntegerRange>(&domain))
    return to_text(range->low) + ".." + to_text(range->high) + (range->log ? ":log" : "");
  std::string text;
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : ",") + word; };
  if (const auto* levels = std::get_if<Levels>(&domain)) {
    for (const auto& value : levels->values) add(to_text(value));
  } else if (const auto* choices = std::get_if<Choices>(&domain)) {
    for (const auto& word : choices->names)
      if (word != kUnset) add(word);
  }
  return text;
}

nlohmann::json values_json(const Domain& domain) {
  if (const auto* range = std::get_if<IntegerRange>(&domain))
    return {{"low", range->low}, {"high", range->high}, {"log", range->log}};
  if (const auto* choices = std::get_if<Choices>(&domain)) return choices->names;
  auto values = nlohmann::json::array();
  for (const auto& value : std::get<Levels>(domain).values) values.push_back(to_json(value));
  return values;
}

Result<int> list_knobs(const KnobsOptions& options, VerbContext& context) {
  HOCKET_TRY(no_command(context.command, "knobs"));
  const std::string folder = own_knobs_folder(process_environment);
  const KnobCatalog catalog = read_knob_catalog(folder);
  for (const std::string& problem : catalog.problems)
    context.err << plain_line("note: not read: " + problem) << '\n';
  if (options.json) {
    auto tools = nlohmann::json::array();
    for (const KnownKnobs& known : catalog.files) {
      tools.push_back({{"tool", known.file.tool},
                       {"sets", sets_of(known.file)},
                       {"knobs", known.file.knobs.size()},
                       {"unknown", known.file.refuses_unknown ? "refused" : "ignored"},
                       {"file", known.path.empty() ? nlohmann::json() : nlohmann::json(known.path)},
                       {"replaces", known.is_replacing},
                       {"about", known.file.about}});
    }
    context.out << json_text({{"tools", std::move(tools)}, {"folder", folder}}) << '\n';
    return kDone;
  }
  TextTable table({"tool", "knobs", "sets", "from", "what"});
  for (const KnownKnobs& known : catalog.files) {
    table.add({known.file.tool, std::to_string(known.file.knobs.size()),
               joined(sets_of(known.file)), place_of_file(known), known.file.about});
  }
  table.print(context.out);
  if (!folder.empty())
    context.err << plain_line("files of your own: " + folder + "/TOOL.json") << '\n';
  return kDone;
}

nlohmann::json knob_json(const ToolKnob& knob) {
  nlohmann::json document = {{"name", knob.parameter.name},
                             {"set", knob.set},
                             {"way", to_string(knob.place.way)},
                             {"as", knob.place.name},
                             {"values", values_json(knob.parameter.domain)},
                             {"default", to_json(knob.parameter.default_value)},
                             {"about", knob.about},
                             {"source", knob.source}};
  if (!knob.place.variable.empty()) document["variable"] = knob.place.variable;
  if (!knob.place.options.empty()) document["options"] = knob.place.options;
  if (!knob.since.empty()) document["since"] = knob.since;
  if (!knob.until.empty()) document["until"] = knob.until;
  if (!knob.needs.empty()) document["needs"] = knob.needs;
  return document;
}

Result<int> show_knobs(const KnobsOptions& options, VerbContext& context) {
  HOCKET_TRY(no_command(context.command, "knobs"));
  const auto selection = parse_knob_selection(options.knobs);
  HOCKET_TRY(selection);
  auto known = find_knobs(*selection, own_knobs_folder(process_environment));
  if (!known) return failure(as_bad_input(known.error()));
  const std::string place = place_of_file(*known);
  auto file = selected_knobs(std::move(known->file), *selection);
  HOCKET_TRY(file);
  if (options.json) {
    auto knobs = nlohmann::json::array();
    for (const ToolKnob& knob : file->knobs) knobs.push_back(knob_json(knob));
    context.out << json_text({{"tool", file->tool},
                              {"about", file->about},
                              {"unknown", file->refuses_unknown ? "refused" : "ignored"},
                              {"knobs", std::move(knobs)},
                              {"constraints", file->constraints}})
                << '\n';
    return kDone;
  }
  TextTable table({"knob", "set", "values", "default", "versions", "what", "source"});
  for (const ToolKnob& knob : file->knobs) {
    table.add({knob.parameter.name, knob.set, values_text(knob.parameter.domain),
               to_text(knob.parameter.default_value), version_range_text(knob.since, knob.until),
               knob.about, knob.source});
  }
  table.print(context.out);
  for (const std::string& constraint : file->constraints)
    context.out << plain_line("requires " + constraint) << '\n';
  context.err << plain_line(file->about + "; from " + place) << '\n';
  return kDone;
}

}  // namespace

void add_knobs(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<KnobsOptions>();
  auto* knobs = program.add_subcommand("knobs", "settings of other tools that can be searched");
  knobs->require_subcommand(1);
  auto* list = knobs->add_subcommand("list", "list the tools whose knobs are declared");
  list->add_flag("--json", options->json, "print JSON");
  list->footer(
      "A file of your own, TOOL.json in ~/.config/hocket/knobs, stands in for hocket's of the "
      "same\n"
      "tool; docs/formats/knobs.md says how to write one.\n");
  list->callback([options, &action] {
    action = [options](VerbContext& c) { return list_knobs(*options, c); };
  });
  auto* show = knobs->add_subcommand("show", "show the knobs of a tool");
  show->add_option("knobs", options->knobs,
                   "TOOL[:SET][@VERSION], or a file in place of the tool, as for hocket tune")
      ->type_name("KNOBS")
      ->required();
  show->add_flag("--json", options->json, "print JSON");
  show->footer("Examples:\n  hocket knobs show nccl:net\n  hocket knobs show xla@0.6.2\n");
  show->callback([options, &action] {
    action = [options](VerbContext& c) { return show_knobs(*options, c); };
  });
}

}  // namespace hocket
