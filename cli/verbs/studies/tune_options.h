#pragma once

// The options of `hocket tune`, and the study that they define. One thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tuner/study/study_definition.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hocket {

struct TuneOptions {
  std::vector<std::string> params, knobs, defaults, constraints, limits, allowed_variables;
  std::vector<std::string> objectives;  ///< empty: that of the knobs' tool, or auto
  std::string timeout = "10m", stop_command, stop_timeout = "30s";
  std::int64_t confirm = 5, seed = 1;
  std::optional<std::int64_t> trials, skip;
  std::string study, workload, store;
  std::string step, method = "model", transfer, from;
  std::optional<std::string> max_time;
  bool maximize = false, default_from_env = false, all_trials = false, full_trials = false,
       no_transfer = false, allow_fewer = false;
  std::optional<std::int64_t> workers;
  std::optional<std::string> slurm;
  bool resume = false, take_over = false, keep_going = false, accept_changes = false, json = false;
};

/// Declares the options. Returns those that define a study, which --resume takes from the store.
std::vector<CLI::Option*> add_tune_options(CLI::App& verb, TuneOptions& options);

/// Returns the study that the options define for `command`, which is checked as a whole. May read
/// the step's description, the command's script, and files of knobs. `notes` gets a line for each
/// knob that is left out.
Result<StudyDefinition> study_definition(const TuneOptions& options,
                                         const std::vector<std::string>& command,
                                         std::vector<std::string>* notes = nullptr);

}  // namespace hocket
