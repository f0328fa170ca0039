#pragma once

// Formats predictions of a simulation as text, and those of a sweep and of a comparison of what a
// device keeps as JSON. Thread-safe.

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "archive/profiles/prediction.h"
#include "cli/inputs/config/knob_text.h"
#include "core/description/step_description.h"
#include "core/sim/offload/offload_choice.h"

namespace hocket {

/// Prints a line for each figure; that of the speed-up only under another configuration than the
/// baseline's, those of memory and copies only for a step that is placed.
void print_prediction(std::ostream& out, const StepDescription& step, const Prediction& prediction,
                      const PredictionBaseline& baseline);

/// Returns `{"device_memory_bytes":…,"peak_bytes":…,"host_ns":…,"to_device_ns":…,"to_host_ns":…}`
/// of a step that is placed on a device with limited memory.
nlohmann::json placement_json(const StepDescription& step, const Simulation& simulation);

/// One row of a sweep: the values of the swept knobs, as written, and their prediction.
struct SweepRow {
  std::vector<std::string> values;
  Prediction prediction;
};

/// Returns an array of predictions, one of them as `best`.
nlohmann::json sweep_json(const StepDescription& step, std::span<const SweepRow> rows,
                          const PredictionBaseline& baseline);

/// Prints a table with the swept knobs first and the shortest iteration marked, and what the
/// speed-ups are against. Requires a row.
void print_sweep(std::ostream& out, std::span<const KnobSweep> sweeps,
                 std::span<const SweepRow> rows, const PredictionBaseline& baseline);

/// Prints a row for each offload_k, with what is busiest, with the fastest marked, or the reason
/// why the step does not fit; and then what CoTrain's rule chooses.
void print_offload(std::ostream& out, const StepDescription& step, const OffloadChoice& choice);

/// Returns `{"device_memory_bytes":…,"cotrain_offload_k":…,"candidates":[…],"config":{…}}`.
/// Candidates that do not fit have "why_not" in place of times and memory; the configuration is
/// `config` with what is fastest.
nlohmann::json offload_json(const StepDescription& step, const OffloadChoice& choice,
                            const ScheduleConfig& config);

}  // namespace hocket
