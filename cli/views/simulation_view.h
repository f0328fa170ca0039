#pragma once

// Formats predictions of a simulation as JSON and as text. Thread-safe.

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/inputs/knob_text.h"
#include "core/sim/simulator.h"
#include "core/step/schedule_config.h"
#include "core/step/step_description.h"

namespace hocket {

/// Prediction of a step under one configuration.
struct Prediction {
  ScheduleConfig config;
  Simulation simulation;
};

/// What the speed-up of a prediction is against: the same step under another configuration.
struct Baseline {
  std::string name;  ///< such as "DDP's defaults"
  ScheduleConfig config;
  std::int64_t iteration_ns = 0;
};

/// Returns `{"iteration_ns":…,"exposed_ns":…,"compute_ns":…,"communication_ns":…,"bound_ns":…,
/// "efficiency":…,"parts":…,"events":…,"ranks":…,"simulated_ranks":…,"iterations_ns":[…],
/// "config":{…},"speedup":…,"baseline":{"name":…,"iteration_ns":…,"config":{…}}}`.
nlohmann::json prediction_json(const StepDescription& step, const Prediction& prediction,
                               const Baseline& baseline);

/// Prints a line for each figure; that of the speed-up only under another configuration than the
/// baseline's.
void print_prediction(std::ostream& out, const StepDescription& step, const Prediction& prediction,
                      const Baseline& baseline);

/// One row of a sweep: the values of the swept knobs, as written, and their prediction.
struct SweepRow {
  std::vector<std::string> values;
  Prediction prediction;
};

/// Returns an array of predictions, one of them as `best`.
nlohmann::json sweep_json(const StepDescription& step, std::span<const SweepRow> rows,
                          const Baseline& baseline);

/// Prints a table with the swept knobs first and the shortest iteration marked, and what the
/// speed-ups are against. Requires a row.
void print_sweep(std::ostream& out, std::span<const KnobSweep> sweeps,
                 std::span<const SweepRow> rows, const Baseline& baseline);

}  // namespace hocket
