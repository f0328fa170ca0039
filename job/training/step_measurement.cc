#include "job/training/step_measurement.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "core/base/check.h"
#include "core/base/json.h"
#include "core/partitioning/step_partition.h"
#include "core/placement/described_placement.h"
#include "core/sim/simulator.h"
#include "job/step/step_recorder.h"
#include "job/training/rank_zero.h"
#include "profiler/calibration/step_profile.h"
#include "profiler/metrics/profile_quality.h"
#include "profiler/session/host_use.h"

namespace hocket {
namespace {

/// The second size of parts in a profile.
constexpr std::int64_t kSmallPartBytes = 256 << 10;
/// Number of pieces of a divided computation in a profile, to measure the cost of dividing.
constexpr int kProfiledPieces = 4;

/// Returns whether the tasks of both steps have the same kinds, sizes and numbers of accesses.
bool same_tasks(const StepDescription& a, const StepDescription& b) {
  return std::ranges::equal(a.tasks, b.tasks, [](const StepTask& x, const StepTask& y) {
    return x.collective.has_value() == y.collective.has_value() && x.bytes == y.bytes &&
           x.priority == y.priority && x.accesses.size() == y.accesses.size();
  });
}

/// Returns `measured`, whose tasks are those of `submitted`, with the properties that a measurement
/// does not show: regions, micro-batches, dimensions, kinds of collectives and places of data.
StepDescription with_places(StepDescription measured, const StepDescription& submitted) {
  std::vector<StepTask> tasks = submitted.tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].duration_ns = measured.tasks[i].duration_ns;
    tasks[i].host_duration_ns = measured.tasks[i].host_duration_ns;
    for (Dimension& dimension : tasks[i].place.dimensions) {
      for (const Dimension& known : measured.tasks[i].place.dimensions)
        if (known.name == dimension.name) dimension.piece_ns = known.piece_ns;
    }
  }
  measured.tasks = std::move(tasks);
  measured.data = submitted.data;
  measured.data_places = submitted.data_places;
  measured.device_memory_bytes = submitted.device_memory_bytes;
  measured.ranks = submitted.ranks;
  measured.ranks_per_host = submitted.ranks_per_host;
  measured.micro_batch_bytes = submitted.micro_batch_bytes;
  measured.memory_limit_bytes = submitted.memory_limit_bytes;
  return measured;
}

/// Returns the description of the job's step from `profiled` steps.
Result<StepDescription> describe(const Training& training,
                                 const std::vector<ProfiledStep>& profiled) {
  auto measured = describe_step(profiled);
  if (!measured) return measured;
  const StepDescription submitted = described_step(training);
  HOCKET_CHECK(same_tasks(*measured, submitted), "a profile is of what the model submits");
  auto step = with_places(std::move(*measured), submitted);
  step.channel_split = 0;  // All TCP connections share one link.
  return step;
}

std::vector<std::int64_t> collective_bytes(const StepDescription& step) {
  std::vector<std::int64_t> bytes;
  for (const StepTask& task : step.tasks) {
    if (task.collective) bytes.push_back(task.bytes);
  }
  return bytes;
}

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

/// Runs `phase` and appends its steps to `profiled`, except the first, from which a scheduler that
/// divides computations learns. One channel carries all parts, so that parts do not slow each
/// other.
Result<void> run_profiled(const Training& training, Phase phase,
                          std::vector<ProfiledStep>& profiled) {
  StepProfile profile;
  phase.config.comm_channels = 1;
  phase.options.trace = &profile;
  phase.options.observer = &profile;
  if (auto ok = run_phase(training, phase); !ok) return ok;
  std::ranges::move(profile.steps(1), std::back_inserter(profiled));
  return {};
}

Result<StepDescription> read_step(const std::string& path) {
  const auto text = read_file(path);
  HOCKET_TRY(text);
  auto step = parse_step_description(*text);
  if (!step) return failure(step.error().in(path));
  return step;
}

/// Returns `description` with the job's places, if it describes the job's step.
Result<StepDescription> fit(const Training& training, const StepDescription& description) {
  const StepDescription submitted = described_step(training);
  const StepDescription general = expand(description);
  const auto described = collective_bytes(general), of_job = collective_bytes(submitted);
  if (described == of_job) {
    // A description that was not measured on the job keeps only its own places.
    return same_tasks(general, submitted) ? with_places(general, submitted) : description;
  }
  return failure(ErrorCode::invalid_argument,
                 "the description is of another step: its " + std::to_string(described.size()) +
                     " collectives are not the job's " + std::to_string(of_job.size()) +
                     ", or not of the same sizes; profile this job");
}

Result<std::vector<std::uint32_t>> compute_order(const Training& training,
                                                 const ScheduleConfig& config,
                                                 const Result<StepDescription>& description) {
  HOCKET_TRY(description);
  const auto step = fit(training, *description);
  HOCKET_TRY(step);
  auto order = static_order(*step, config);
  if (order && nlohmann::json(*order).dump().size() > std::size_t{kMaxMessageBytes}) {
    return failure(ErrorCode::invalid_argument,
                   "an order of " + std::to_string(order->size()) +
                       " parts is too long to tell the other ranks; raise partition_bytes");
  }
  return order;
}

constexpr const char* kOrder = "order of collectives";

/// Profiles the first `steps` steps while they are trained.
Result<std::vector<ProfiledStep>> profile_warmup(const Training& training,
                                                 const ScheduleConfig& config, std::int64_t steps) {
  Phase phase{unpartitioned(config), 0, steps, {}, false};
  phase.config.order = CollectiveOrder::negotiated;
  std::vector<ProfiledStep> profiled;
  HOCKET_TRY(run_profiled(training, phase, profiled));
  return profiled;
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

}  // namespace

Result<StepDescription> profile_step(const Training& training, const ScheduleConfig& config,
                                     std::int64_t steps) {
  if (training.memory) return profile_placed_step(training, config, steps);
  // Uses the unpartitioned configuration, since a partitioned step differs from the submitted one.
  ScheduleConfig whole = unpartitioned(config);
  whole.communication = Communication::all_reduce;
  ScheduleConfig small_parts = whole, divided = whole, grouped = whole, served = whole;
  small_parts.partition_bytes = kSmallPartBytes;
  served.communication = Communication::parameter_server;
  ScheduleConfig small_served = served;
  small_served.partition_bytes = kSmallPartBytes;
  divided.compute_parts = kProfiledPieces;
  const RankGrid grid = training.model.grid();
  grouped.group_ranks = grid.ranks_per_host;
  ScheduleConfig small_grouped = grouped;
  small_grouped.partition_bytes = kSmallPartBytes;
  std::vector<ProfiledStep> profiled, profiled_in_pieces, profiled_in_groups, profiled_over_servers;
  struct Kind {
    bool serial;
    const ScheduleConfig& config;
    std::vector<ProfiledStep>& profiled;
  };
  std::vector<Kind> kinds = {{true, whole, profiled},
                             {true, small_parts, profiled},
                             {false, whole, profiled},
                             {false, small_parts, profiled}};
  const bool divides = training.model.divides();
  if (divides) kinds.push_back({true, divided, profiled_in_pieces});
  const bool has_groups = grid.ranks_per_host > 1 && grid.hosts() > 1;
  if (has_groups) {
    kinds.push_back({false, grouped, profiled_in_groups});
    kinds.push_back({false, small_grouped, profiled_in_groups});
  }
  const bool has_servers = training.servers > 0;
  if (has_servers) {
    kinds.push_back({false, served, profiled_over_servers});
    kinds.push_back({false, small_served, profiled_over_servers});
  }
  const auto use_before = read_host_use();
  std::int64_t step = 0;
  for (std::int64_t i = 0; i < std::ssize(kinds); ++i) {
    const std::int64_t end_step = steps * (i + 1) / std::ssize(kinds);
    const Phase phase{kinds[i].config, step, end_step, {}, kinds[i].serial};
    HOCKET_TRY(run_profiled(training, phase, kinds[i].profiled));
    step = end_step;
  }
  const auto use_after = read_host_use();
  auto description = describe(training, profiled);
  if (description && use_before && use_after)
    description->quality = quality_of(profiled, shares_between(*use_before, *use_after));
  if (description && has_groups)
    description = with_group_costs(std::move(*description), profiled_in_groups);
  if (description && has_servers)
    description = with_servers(std::move(*description), profiled_over_servers, training.servers);
  if (!description || !divides) return description;
  return with_piece_costs(std::move(*description), divided, profiled_in_pieces);
}

Result<StepDescription> profile_placed_step(const Training& training, const ScheduleConfig& config,
                                            std::int64_t steps) {
  ScheduleConfig fewest = unpartitioned(config), most = fewest;
  HOCKET_TRY(find_range(described_step(training), fewest, most));
  ScheduleConfig small_parts = fewest;
  small_parts.partition_bytes = kSmallPartBytes;
  std::vector<ScheduleConfig> kinds = {fewest, small_parts};
  if (most.offload_k != fewest.offload_k) kinds.push_back(most);
  std::vector<ProfiledStep> profiled;
  // The steps of one placement, whose times can be compared.
  std::size_t of_fewest = 0;
  const auto use_before = read_host_use();
  std::int64_t step = 0;
  for (std::int64_t i = 0; i < std::ssize(kinds); ++i) {
    const std::int64_t end_step = steps * (i + 1) / std::ssize(kinds);
    const ScheduleConfig& kind = kinds[static_cast<std::size_t>(i)];
    HOCKET_TRY(run_profiled(training, Phase{kind, step, end_step, {}, false}, profiled));
    if (kind.offload_k == fewest.offload_k) of_fewest = profiled.size();
    step = end_step;
  }
  const auto use_after = read_host_use();
  auto description = describe(training, profiled);
  if (description && use_before && use_after)
    description->quality =
        quality_of(std::span(profiled).first(of_fewest), shares_between(*use_before, *use_after));
  return description;
}

StepDescription described_step(const Training& training) {
  StepDescription step = record_step(training.model);
  if (training.memory) step.device_memory_bytes = training.memory->device_memory_bytes();
  return step;
}

Result<StepDescription> read_fitting_step(const Training& training, const std::string& path) {
  const auto step = read_step(path);
  if (!step) return step;
  auto fitting = fit(training, *step);
  if (!fitting) return failure(fitting.error().in(path));
  return fitting;
}

Result<void> write_step(const StepDescription& description, const std::string& path) {
  const std::string unfinished = path + ".part";
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file << to_json(description).dump(2) << '\n';
  file.close();
  if (!file) return failure(ErrorCode::unavailable, "cannot write " + unfinished);
  std::error_code error;
  std::filesystem::rename(unfinished, path, error);
  if (!error) return {};
  return failure(ErrorCode::unavailable, "cannot write " + path + ": " + error.message());
}

Result<StaticOrder> find_static_order(const Training& training, const ScheduleConfig& config,
                                      const std::string& step_path, const MeasuredStep& measured,
                                      std::int64_t warmup,
                                      const std::function<void(const std::string&)>& warn) {
  Collective& collective = training.collective;
  // Only rank 0 may look at its options, so it tells the others what to do.
  const auto profiles = broadcast(collective, step_path.empty() && measured.from_step == 0, kOrder);
  HOCKET_TRY(profiles);
  StaticOrder result{.parts = {}, .from_step = measured.from_step};
  std::vector<ProfiledStep> profiled;
  if (*profiles == true) {
    auto of_warmup = profile_warmup(training, config, warmup);
    HOCKET_TRY(of_warmup);
    profiled = std::move(*of_warmup);
    result.from_step = warmup;
  }
  if (collective.rank() == 0) {
    const auto description = [&]() -> Result<StepDescription> {
      if (!step_path.empty()) return read_step(step_path);
      if (measured.description) return *measured.description;
      return describe(training, profiled);
    };
    auto order = compute_order(training, config, description());
    if (order) {
      result.parts = std::move(*order);
    } else {
      warn("order=static: " + order.error().message + "; the order is negotiated");
    }
  }
  const auto order = broadcast(collective, result.parts, kOrder);
  HOCKET_TRY(order);
  result.parts = order->get<std::vector<std::uint32_t>>();
  return result;
}

}  // namespace hocket
