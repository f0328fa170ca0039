#pragma once

// Reads the scheduler's configuration given on a command line. One thread.

#include <iosfwd>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/schedule_config.h"

namespace CLI {
class App;
}

namespace hocket {

/// A configuration, and what people call it.
struct NamedConfig {
  std::string name;  ///< such as "DDP's defaults"
  ScheduleConfig config;
  /// Differences between the configuration and what it is named after, to be shown to users.
  std::vector<std::string> notes = {};
};

NamedConfig hockets_defaults();

/// The options that give a configuration: at most one of the two.
struct ConfigChoice {
  std::string preset;  ///< --preset NAME (cli/inputs/config/schedule_preset.h)
  std::string config;  ///< --config: a file, or the JSON itself

  bool is_empty() const { return preset.empty() && config.empty(); }
};

/// Declares --preset and --config; `otherwise` says what holds without them.
void add_config_options(CLI::App& verb, ConfigChoice& choice, const std::string& otherwise);

/// Returns the chosen configuration, or `otherwise` if none is chosen. Errors begin with the
/// option's name; warnings go to `err`.
Result<NamedConfig> read_config(const ConfigChoice& choice, NamedConfig otherwise,
                                std::ostream& err);

/// Returns the configuration of `--baseline TEXT`: a preset's name, a file or JSON.
Result<NamedConfig> read_baseline(const std::string& text, std::ostream& err);

}  // namespace hocket
