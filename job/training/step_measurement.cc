#include "job/training/step_measurement.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/files/regular_file.h"
#include "core/partitioning/step_partition.h"
#include "core/placement/described_placement.h"
#include "job/step/step_recorder.h"
#include "job/training/measured_steps.h"
#include "profiler/metrics/profile_quality.h"
#include "profiler/session/host_use.h"

namespace hocket {
namespace {

/// The second size of parts in a profile.
constexpr std::int64_t kSmallPartBytes = 256 << 10;
/// Number of pieces of a divided computation in a profile, to measure the cost of dividing.
constexpr int kProfiledPieces = 4;

/// Judges the profile by the computation times of its steps and by how the host was used.
StepQuality quality_of(std::span<const ProfiledStep> profiled,
                       const std::optional<HostShares>& host) {
  std::vector<double> compute_ns;
  for (const ProfiledStep& step : profiled) {
    std::int64_t sum = 0;
    for (const ProfiledTask& task : step.tasks) sum += task.duration_ns;
    compute_ns.push_back(static_cast<double>(sum));
  }
  ProfileConditions conditions = conditions_of(compute_ns);
  // The steps are of several kinds in turn, which is no drift.
  conditions.drift = 0;
  if (host) {
    conditions.waiting_share = host->waiting;
    conditions.others_share = host->others;
  }
  return judge_profile(conditions);
}

/// Sets the least and the most layers with which the step fits.
Result<void> find_range(const StepDescription& step, ScheduleConfig& fewest, ScheduleConfig& most) {
  const std::int64_t layers = layers_of(step);
  const auto fits = [&](const ScheduleConfig& config) {
    return place_description(step, config).has_value();
  };
  for (fewest.offload_k = 0; fewest.offload_k < layers && !fits(fewest);) ++fewest.offload_k;
  if (!fits(fewest)) {
    fewest.offload_k = 0;
    return failure(place_description(step, fewest).error());
  }
  for (most.offload_k = layers; most.offload_k > fewest.offload_k && !fits(most);) --most.offload_k;
  return {};
}

/// Steps of one kind, which are trained one after the other.
struct Kind {
  bool serial = false;
  ScheduleConfig config;
  std::vector<ProfiledStep>& profiled;
};

/// Trains steps 0 to `steps`, as many of each kind. Returns how the host was used meanwhile.
Result<std::optional<HostShares>> run_kinds(const Training& training,
                                            const std::vector<Kind>& kinds, std::int64_t steps) {
  const auto before = read_host_use();
  std::int64_t step = 0;
  for (std::int64_t i = 0; i < std::ssize(kinds); ++i) {
    const Kind& kind = kinds[static_cast<std::size_t>(i)];
    const std::int64_t end_step = steps * (i + 1) / std::ssize(kinds);
    HOCKET_TRY(run_measured(training, TrainingPhase{kind.config, step, end_step, {}, kind.serial},
                            kind.profiled));
    step = end_step;
  }
  const auto after = read_host_use();
  if (!before || !after) return std::nullopt;
  return shares_between(*before, *after);
}

ScheduleConfig with_small_parts(ScheduleConfig config) {
  config.partition_bytes = kSmallPartBytes;
  return config;
}

/// Configurations whose steps are measured, and the measurements.
struct Kinds {
  Kinds(const Training& training, const ScheduleConfig& config) {
    // A partitioned step differs from the submitted one.
    whole = unpartitioned(config);
    whole.communication = Communication::all_reduce;
    divided = grouped = served = whole;
    divided.compute_parts = kProfiledPieces;
    const RankGrid grid = training.model.grid();
    grouped.group_ranks = grid.ranks_per_host;
    served.communication = Communication::parameter_server;
    divides = training.model.divides();
    has_groups = grid.ranks_per_host > 1 && grid.hosts() > 1;
    has_servers = training.servers > 0;
  }

  std::vector<Kind> to_run() {
    std::vector<Kind> kinds = {{true, whole, alone},
                               {true, with_small_parts(whole), alone},
                               {false, whole, alone},
                               {false, with_small_parts(whole), alone}};
    if (divides) kinds.push_back({true, divided, in_pieces});
    if (has_groups) {
      kinds.push_back({false, grouped, in_groups});
      kinds.push_back({false, with_small_parts(grouped), in_groups});
    }
    if (has_servers) {
      kinds.push_back({false, served, over_servers});
      kinds.push_back({false, with_small_parts(served), over_servers});
    }
    return kinds;
  }

  ScheduleConfig whole, divided, grouped, served;
  bool divides = false, has_groups = false, has_servers = false;
  std::vector<ProfiledStep> alone, in_pieces, in_groups, over_servers;
};

}  // namespace

Result<StepDescription> profile_step(const Training& training, const ScheduleConfig& config,
                                     std::int64_t steps) {
  if (training.memory) return profile_placed_step(training, config, steps);
  Kinds kinds(training, config);
  const auto host = run_kinds(training, kinds.to_run(), steps);
  HOCKET_TRY(host);
  auto step = described_step(training, kinds.alone);
  if (!step) return step;
  if (*host) step->quality = quality_of(kinds.alone, *host);
  if (kinds.has_groups) step = with_group_costs(std::move(*step), kinds.in_groups);
  if (step && kinds.has_servers)
    step = with_servers(std::move(*step), kinds.over_servers, training.servers);
  if (!step || !kinds.divides) return step;
  return with_piece_costs(std::move(*step), kinds.divided, kinds.in_pieces);
}

Result<StepDescription> profile_placed_step(const Training& training, const ScheduleConfig& config,
                                            std::int64_t steps) {
  ScheduleConfig fewest = unpartitioned(config), most = fewest;
  HOCKET_TRY(find_range(described_step(training), fewest, most));
  // Times can be compared within one placement only.
  std::vector<ProfiledStep> profiled, with_most;
  std::vector<Kind> kinds = {{false, fewest, profiled},
                             {false, with_small_parts(fewest), profiled}};
  if (most.offload_k != fewest.offload_k) kinds.push_back({false, most, with_most});
  const auto host = run_kinds(training, kinds, steps);
  HOCKET_TRY(host);
  const std::size_t of_fewest = profiled.size();
  std::ranges::move(with_most, std::back_inserter(profiled));
  auto step = described_step(training, profiled);
  if (step && *host) step->quality = quality_of(std::span(profiled).first(of_fewest), *host);
  return step;
}

StepDescription described_step(const Training& training) {
  StepDescription step = record_step(training.model);
  if (training.memory) step.device_memory_bytes = training.memory->device_memory_bytes();
  return step;
}

Result<void> write_step(const StepDescription& description, const std::string& path) {
  return replace_file(path, to_json(description).dump(2) + "\n");
}

}  // namespace hocket
