#pragma once

// Creates profiles of simulated jobs, for tests of code that reads profiles. One thread.

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "archive/profiles/save_profile.h"
#include "core/sim/simulator.h"
#include "store/open.h"
#include "tests/profiler/simulated_trace.h"
#include "tests/store/fixtures.h"

namespace hocket {

/// A step of two ranks on one host.
inline StepDescription small_step() {
  StepDescription step;
  step.layers = {{"in", 2'500'000, 1'000'000, 2'000'000}, {"out", 8 << 20, 1'500'000, 3'000'000}};
  step.collective = {40'000, 0.5, 0};
  step.channel_split = 0;
  step.ranks = 2;
  step.ranks_per_host = 2;
  return step;
}

inline SimulationOptions small_options(std::int64_t iterations = 8) {
  SimulationOptions options;
  options.config.partition_bytes = 1 << 20;
  options.config.order = CollectiveOrder::negotiated;
  options.iterations = iterations;
  return options;
}

/// A folder with a store and profiles.
struct ProfiledJob {
  TemporaryFolder folder;
  std::string path = folder.file("store.db");
  std::unique_ptr<Store> store = must(open_store(path));

  /// Returns the traces of all ranks; rank r's clock is ahead by r times `offset_ns`.
  static std::vector<SimulatedTrace> traces(const StepDescription& step = small_step(),
                                            const SimulationOptions& options = small_options(),
                                            std::int64_t offset_ns = 0) {
    std::vector<SimulatedTrace> all;
    for (std::int64_t rank = 0; rank < step.ranks; ++rank) {
      all.push_back(simulated_trace(step, options, rank));
      RankTrace& trace = all.back().trace;
      trace.host = "b7";
      for (TraceRecord& record : trace.records) {
        record.begin_ns += rank * offset_ns;
        record.end_ns += rank * offset_ns;
      }
      for (StepStart& start : trace.step_starts) start.begin_ns += rank * offset_ns;
    }
    return all;
  }

  /// Returns traces whose iterations have a pause of 50 ms between their tasks, for which no task
  /// of the structure accounts, so that what is predicted of them is far too short.
  static std::vector<SimulatedTrace> paused_traces() {
    constexpr std::int64_t kPauseNs = 50'000'000;
    auto all = traces();
    for (SimulatedTrace& each : all) {
      for (TraceRecord& record : each.trace.records) {
        record.begin_ns += record.step * kPauseNs;
        record.end_ns += record.step * kPauseNs;
      }
      for (StepStart& start : each.trace.step_starts) start.begin_ns += start.step * kPauseNs;
    }
    return all;
  }

  ProfileRow add(const StepDescription& step = small_step(),
                 const SimulationOptions& options = small_options(), std::int64_t offset_ns = 0) {
    return add_traces(traces(step, options, offset_ns), to_json(options.config));
  }

  ProfileRow add_traces(const std::vector<SimulatedTrace>& traces,
                        const nlohmann::json& config = nlohmann::json::object()) {
    ProfileToSave save{.folder = must(create_profile_folder(*store, path, "job")), .ranks = {}};
    save.structure = traces.front().structure;
    save.config = config;
    for (const SimulatedTrace& simulated : traces) save.ranks.push_back({simulated.trace});
    return must(save_profile(*store, path, std::move(save)));
  }
};

}  // namespace hocket
