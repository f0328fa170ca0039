#include "cli/views/simulation_view.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "core/base/statistics.h"
#include "core/base/text.h"
#include "core/step/knob.h"

namespace hocket {
namespace {

constexpr std::size_t kBaselineNameLimitBytes = 200;

std::string time(std::int64_t ns) {
  return value_text(static_cast<double>(ns), ObjectiveUnit::nanoseconds);
}

/// Returns for example "partition_bytes=4194304 credit_bytes=16777216 …": the knobs searched by
/// default, and others that differ from the default.
std::string config_text(const ScheduleConfig& config) {
  const auto values = knob_values(config);
  const auto changed = changed_knobs(ScheduleConfig{}, config);
  std::string text;
  const auto add = [&](const std::string& name) {
    const auto& value = values.at(name);
    text += (text.empty() ? "" : " ") + name + "=" +
            (value.is_string() ? value.get<std::string>() : value.dump());
  };
  for (const Knob& knob : schedule_knobs()) {
    const std::string name(knob.name);
    if (knob.is_searched() || std::ranges::count(changed, name) > 0) add(name);
  }
  for (const std::string& name : changed) {
    if (name.starts_with("regions.")) add(name);
  }
  return text;
}

/// Returns for example "40.1 ms (12.5 % of the iteration)".
std::string exposed_text(const Simulation& simulation) {
  const auto iteration_ns = static_cast<double>(std::max<std::int64_t>(simulation.iteration_ns, 1));
  return time(simulation.exposed_ns) + " (" +
         percent_text(static_cast<double>(simulation.exposed_ns) / iteration_ns) +
         " of the iteration)";
}

std::string ranks_text(const StepDescription& step, const Simulation& simulation) {
  std::string text = std::to_string(step.ranks);
  if (simulation.simulated_ranks < step.ranks) {
    text += " (" + std::to_string(simulation.simulated_ranks) + " simulated, the others are alike)";
  }
  return text;
}

std::string size(std::int64_t bytes) {
  return value_text(static_cast<double>(bytes), ObjectiveUnit::bytes);
}

void add_placement(TextTable& table, const StepDescription& step, const Simulation& simulation) {
  table.add({"device memory",
             size(simulation.device_peak_bytes) + " of " + size(step.device_memory_bytes)});
  table.add({"updates on the host", time(simulation.host_ns)});
  table.add({"copies to the device", time(simulation.to_device_ns)});
  table.add({"copies to the host", time(simulation.to_host_ns)});
}

/// Returns the standard deviation and range of the second half of the iterations, over which a
/// simulation with jitter averages.
std::string spread_text(const Simulation& simulation) {
  const auto& all = simulation.iterations_ns;
  const std::vector<double> half(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2),
                                 all.end());
  if (half.empty()) return "-";
  const auto [low, high] = std::minmax_element(half.begin(), half.end());
  return value_text(standard_deviation(half), ObjectiveUnit::nanoseconds) + " (" +
         value_text(*low, ObjectiveUnit::nanoseconds) + " to " +
         value_text(*high, ObjectiveUnit::nanoseconds) + ", " + std::to_string(half.size()) +
         " iterations)";
}

std::size_t best_row(std::span<const SweepRow> rows) {
  const auto best = std::min_element(rows.begin(), rows.end(), [](auto& a, auto& b) {
    return a.prediction.simulation.iteration_ns < b.prediction.simulation.iteration_ns;
  });
  return static_cast<std::size_t>(best - rows.begin());
}

std::string speedup_text(const Prediction& prediction, const PredictionBaseline& baseline) {
  char ratio[32];
  std::snprintf(ratio, sizeof ratio, "%.3f", speedup(prediction, baseline));
  return ratio;
}

/// Returns for example "against DDP's defaults, 774.9 ms".
std::string against_text(const PredictionBaseline& baseline) {
  return "against " + printable(baseline.name, kBaselineNameLimitBytes) + ", " +
         time(baseline.iteration_ns);
}

}  // namespace

void print_prediction(std::ostream& out, const StepDescription& step, const Prediction& prediction,
                      const PredictionBaseline& baseline) {
  const Simulation& s = prediction.simulation;
  TextTable table({"iteration", time(s.iteration_ns)});
  if (step.jitter.kind != JitterKind::none) table.add({"  spread", spread_text(s)});
  if (prediction.config != baseline.config) {
    table.add({"speed-up", speedup_text(prediction, baseline) + " " + against_text(baseline)});
  }
  table.add({"exposed communication", exposed_text(s)});
  table.add({"computation", time(s.compute_ns)});
  table.add({"communication", time(s.communication_ns)});
  if (step.device_memory_bytes > 0) add_placement(table, step, s);
  table.add({"bound T*", time(s.bound_ns)});
  if (s.efficiency) table.add({"overlap efficiency η", percent_text(*s.efficiency)});
  table.add({s.efficiency ? "parts a step" : "parts a step, on rank 0", std::to_string(s.parts)});
  table.add({"ranks", ranks_text(step, s)});
  table.add({"configuration", config_text(prediction.config)});
  table.print(out);
}

nlohmann::json placement_json(const StepDescription& step, const Simulation& simulation) {
  return {{"device_memory_bytes", step.device_memory_bytes},
          {"peak_bytes", simulation.device_peak_bytes},
          {"host_ns", simulation.host_ns},
          {"to_device_ns", simulation.to_device_ns},
          {"to_host_ns", simulation.to_host_ns}};
}

nlohmann::json sweep_json(const StepDescription& step, std::span<const SweepRow> rows,
                          const PredictionBaseline& baseline) {
  auto array = nlohmann::json::array();
  const std::size_t best = best_row(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    array.push_back(prediction_json(step, rows[i].prediction, baseline));
    array.back()["best"] = i == best;
  }
  return array;
}

void print_sweep(std::ostream& out, std::span<const KnobSweep> sweeps,
                 std::span<const SweepRow> rows, const PredictionBaseline& baseline) {
  std::vector<std::string> headings;
  for (const auto& sweep : sweeps) headings.push_back(sweep.name);
  headings.insert(headings.end(), {"iteration", "exposed", "efficiency", "speed-up", ""});
  TextTable table(std::move(headings));
  const std::size_t best = best_row(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Simulation& s = rows[i].prediction.simulation;
    auto cells = rows[i].values;
    cells.insert(
        cells.end(),
        {time(s.iteration_ns), time(s.exposed_ns), s.efficiency ? percent_text(*s.efficiency) : "-",
         speedup_text(rows[i].prediction, baseline), i == best ? "best" : ""});
    table.add(std::move(cells));
  }
  table.print(out);
  out << "speed-up " << against_text(baseline) << '\n';
}

namespace {

std::string_view busy_words(TaskLane lane) {
  switch (lane) {
    case TaskLane::stream:
      return "device";
    case TaskLane::host:
      return "host";
    case TaskLane::to_device:
      return "copies to the device";
    case TaskLane::to_host:
      return "copies to the host";
  }
  return "";
}

}  // namespace

void print_offload(std::ostream& out, const StepDescription& step, const OffloadChoice& choice) {
  TextTable table({"offload_k", "prefetch_layers", "iteration", "device memory", "busiest", ""});
  for (const OffloadCandidate& candidate : choice.candidates) {
    const std::string offload_k = std::to_string(candidate.offload_k);
    if (!candidate.fits()) {
      table.add({offload_k, "-", "-", "-", "-", "does not fit: " + candidate.why_not});
      continue;
    }
    table.add(
        {offload_k, std::to_string(candidate.prefetch_layers), time(candidate.iteration_ns),
         size(candidate.peak_bytes),
         std::string(busy_words(candidate.busiest)) + ", " + percent_text(candidate.busy_share),
         candidate.offload_k == choice.chosen().offload_k ? "best" : ""});
  }
  table.print(out);
  out << "of " << size(step.device_memory_bytes)
      << " of device memory; CoTrain's rule gives offload_k=" << cotrain_offload_k(step) << '\n';
}

nlohmann::json offload_json(const StepDescription& step, const OffloadChoice& choice,
                            const ScheduleConfig& config) {
  auto candidates = nlohmann::json::array();
  for (const OffloadCandidate& candidate : choice.candidates) {
    candidates.push_back({{"offload_k", candidate.offload_k}});
    nlohmann::json& row = candidates.back();
    if (candidate.fits()) {
      row["prefetch_layers"] = candidate.prefetch_layers;
      row["iteration_ns"] = candidate.iteration_ns;
      row["peak_bytes"] = candidate.peak_bytes;
      row["busiest"] = to_string(candidate.busiest);
      row["busy_share"] = candidate.busy_share;
    } else {
      row["why_not"] = candidate.why_not;
    }
    row["best"] = candidate.offload_k == choice.chosen().offload_k;
  }
  ScheduleConfig chosen = config;
  chosen.offload_k = choice.chosen().offload_k;
  chosen.prefetch_layers = choice.chosen().prefetch_layers;
  return {{"device_memory_bytes", step.device_memory_bytes},
          {"cotrain_offload_k", cotrain_offload_k(step)},
          {"candidates", std::move(candidates)},
          {"config", to_json(chosen)}};
}

}  // namespace hocket
