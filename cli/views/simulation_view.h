#pragma once

// Formats predictions of a simulation as JSON and as text. Thread-safe.

#include <iosfwd>
#include <nlohmann/json.hpp>
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

/// Returns `{"iteration_ns":…,"exposed_ns":…,"compute_ns":…,"communication_ns":…,"bound_ns":…,
/// "efficiency":…,"parts":…,"events":…,"ranks":…,"simulated_ranks":…,
/// "iterations_ns":[…],"config":{…}}`.
nlohmann::json prediction_json(const StepDescription& step, const Prediction& prediction);

void print_prediction(std::ostream& out, const StepDescription& step, const Prediction& prediction);

/// One row of a sweep: the values of the swept knobs, as written, and their prediction.
struct SweepRow {
  std::vector<std::string> values;
  Prediction prediction;
};

/// Returns an array of predictions, each with its `speedup` over the first, and one of them as
/// `best`.
nlohmann::json sweep_json(const StepDescription& step, std::span<const SweepRow> rows);

/// Prints a table with the swept knobs first and the shortest iteration marked. Requires a row.
void print_sweep(std::ostream& out, std::span<const KnobSweep> sweeps,
                 std::span<const SweepRow> rows);

}  // namespace hocket
