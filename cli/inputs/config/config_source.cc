#include "cli/inputs/config/config_source.h"

#include <CLI/CLI.hpp>
#include <ostream>
#include <utility>

#include "cli/inputs/config/schedule_preset.h"
#include "core/base/json.h"

namespace hocket {
namespace {

bool is_json(const std::string& source) {
  const auto begin = source.find_first_not_of(" \t\n");
  return begin != std::string::npos && source[begin] == '{';
}

NamedConfig named(const SchedulePreset& preset) {
  return {std::string(preset.title), preset.config, preset.differences};
}

/// Reads what is given to `option`, a file or JSON.
Result<NamedConfig> read_document(const std::string& option, const std::string& source,
                                  std::ostream& err) {
  const auto text = is_json(source) ? source : read_file(source);
  if (!text) return invalid(text.error().in(option).message);
  std::vector<std::string> warnings;
  auto config = parse_schedule_config(*text, &warnings);
  if (!config) return failure(config.error().in(option));
  for (const auto& warning : warnings) err << "hocket: " << option << ": " << warning << std::endl;
  return NamedConfig{is_json(source) ? "the configuration of " + option : source,
                     std::move(*config)};
}

}  // namespace

NamedConfig hockets_defaults() {
  return named(*find_preset("hocket"));
}

void add_config_options(CLI::App& verb, ConfigChoice& choice, const std::string& otherwise) {
  std::string names;
  for (const SchedulePreset& preset : schedule_presets())
    names += (names.empty() ? "" : "|") + std::string(preset.name);
  auto* preset = verb.add_option("--preset", choice.preset, "what a framework does by default")
                     ->type_name(names);
  verb.add_option("--config", choice.config,
                  "a configuration: a file, or the JSON itself (default: " + otherwise + ")")
      ->type_name("FILE")
      ->excludes(preset);
}

Result<NamedConfig> read_config(const ConfigChoice& choice, NamedConfig otherwise,
                                std::ostream& err) {
  if (!choice.preset.empty()) {
    const SchedulePreset* const preset = find_preset(choice.preset);
    if (preset == nullptr) return failure(unknown_preset(choice.preset).in("--preset"));
    return named(*preset);
  }
  if (choice.config.empty()) return otherwise;
  return read_document("--config", choice.config, err);
}

Result<NamedConfig> read_baseline(const std::string& text, std::ostream& err) {
  if (const SchedulePreset* const preset = find_preset(text); preset != nullptr)
    return named(*preset);
  auto read = read_document("--baseline", text, err);
  if (read || is_json(text)) return read;
  // Whoever mistypes a preset's name should not be told of a missing file alone.
  return failure(read.error().code,
                 read.error().message + "; as a preset: " + unknown_preset(text).message);
}

}  // namespace hocket
