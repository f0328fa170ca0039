#pragma once

// Formats predictions of a simulation as text, and those of a sweep as JSON. Thread-safe.

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/inputs/knob_text.h"
#include "core/step/step_description.h"
#include "profiler/archive/prediction.h"

namespace hocket {

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
