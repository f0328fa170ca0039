#include "cli/reference/described_verb.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "core/step/knob.h"
#include "tuner/space/built_in_knobs.h"

namespace hocket {
namespace {

std::vector<std::string> names_of(const CLI::Option& option) {
  if (!option.nonpositional()) return {option.get_name(true)};
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

/// Splits "ring|tree" into its words; empty if the text is no list of words.
std::vector<std::string> alternatives(const std::string& text) {
  if (text.find('|') == std::string::npos) return {};
  return CLI::detail::split(text, '|');
}

std::vector<std::string> knob_settings() {
  std::vector<std::string> names;
  for (const Knob& knob : schedule_knobs()) names.push_back(std::string(knob.name) + "=");
  return names;
}

/// Returns hocket's own sets of knobs of other tools: "nccl", "nccl:net".
std::vector<std::string> tool_knob_sets() {
  std::vector<std::string> names;
  for (const KnobFile& file : built_in_knobs()) {
    names.push_back(file.tool);
    for (const std::string& set : sets_of(file)) names.push_back(file.tool + ":" + set);
  }
  return names;
}

/// Sets what help says of the value: "FILE", "ring|tree", "KNOB=VALUE", "INT:INT in [1 - 5]".
void describe_value(const CLI::Option& option, DescribedOption& described) {
  if (option.get_items_expected_max() == 0) {
    described.kind = ValueKind::none;
    return;
  }
  const std::string type =
      option.get_option_text().empty() ? option.get_type_name() : option.get_option_text();
  const auto colon = type.find(':');
  described.value_name = type.substr(0, colon);
  if (colon != std::string::npos) described.range = type.substr(colon + 1);
  described.words = alternatives(described.value_name);
  if (described.value_name == "FILE") {
    described.kind = ValueKind::file;
  } else if (described.value_name == "FOLDER") {
    described.kind = ValueKind::folder;
  } else if (described.value_name.starts_with("KNOB=")) {
    described.kind = ValueKind::settings;
    described.words = knob_settings();
  } else if (described.value_name == "KNOBS") {
    described.kind = ValueKind::settings;
    described.words = tool_knob_sets();
  } else if (!described.words.empty()) {
    described.kind = ValueKind::words;
  }
}

DescribedOption describe_option(const CLI::Option& option) {
  DescribedOption described;
  described.names = names_of(option);
  described.description = option.get_description();
  describe_value(option, described);
  described.default_text = option.get_default_str();
  described.is_required = option.get_required();
  described.is_repeated = option.get_items_expected_max() > 1 && described.kind != ValueKind::none;
  for (const CLI::Option* excluded : option.get_excludes()) {
    described.excludes.push_back(names_of(*excluded).back());
  }
  std::ranges::sort(described.excludes);  // the library orders them by address
  return described;
}

}  // namespace

DescribedVerb describe_verb(const CLI::App& app, bool (*takes_command)(std::string_view verb)) {
  DescribedVerb described{.name = app.get_name(),
                          .description = app.get_description(),
                          .footer = app.get_footer(),
                          .takes_command = takes_command(app.get_name())};
  for (const CLI::Option* option : app.get_options({})) {
    if (option->get_group().empty()) continue;
    auto& list = option->nonpositional() ? described.options : described.positionals;
    list.push_back(describe_option(*option));
  }
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (!verb->get_group().empty()) described.verbs.push_back(describe_verb(*verb, takes_command));
  }
  return described;
}

}  // namespace hocket
