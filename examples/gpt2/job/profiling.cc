#include "examples/gpt2/job/profiling.h"

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
#include "core/sim/simulator.h"
#include "examples/gpt2/job/step_recorder.h"
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
/// does not show: regions, micro-batches, dimensions and kinds of collectives.
StepDescription with_places(StepDescription measured, const StepDescription& submitted) {
  std::vector<StepTask> tasks = submitted.tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].duration_ns = measured.tasks[i].duration_ns;
    for (Dimension& dimension : tasks[i].place.dimensions) {
      for (const Dimension& known : measured.tasks[i].place.dimensions)
        if (known.name == dimension.name) dimension.piece_ns = known.piece_ns;
    }
  }
  measured.tasks = std::move(tasks);
  measured.data = submitted.data;
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
  const StepDescription submitted = record_step(training.model);
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
  const StepDescription submitted = record_step(training.model);
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

/// Returns rank 0's `message` on every rank.
Result<nlohmann::json> broadcast(Collective& collective, nlohmann::json message) {
  if (collective.rank() == 0) {
    HOCKET_TRY(collective.tell(message.dump()));
    return message;
  }
  const auto heard = collective.hear();
  if (!heard) return failure(heard.error().in("waiting for rank 0's order of collectives"));
  return nlohmann::json::parse(*heard);
}

}  // namespace

Result<StepDescription> profile_step(const Training& training, const ScheduleConfig& config,
                                     std::int64_t steps) {
  // Uses the unpartitioned configuration, since a partitioned step differs from the submitted one.
  const ScheduleConfig whole = unpartitioned(config);
  ScheduleConfig small_parts = whole, divided = whole, grouped = whole;
  small_parts.partition_bytes = kSmallPartBytes;
  divided.compute_parts = kProfiledPieces;
  const RankGrid grid = training.model.options().grid();
  grouped.group_ranks = grid.ranks_per_host;
  ScheduleConfig small_grouped = grouped;
  small_grouped.partition_bytes = kSmallPartBytes;
  std::vector<ProfiledStep> profiled, profiled_in_pieces, profiled_in_groups;
  struct Kind {
    bool serial;
    const ScheduleConfig& config;
    std::vector<ProfiledStep>& profiled;
  };
  std::vector<Kind> kinds = {{true, whole, profiled},
                             {true, small_parts, profiled},
                             {false, whole, profiled},
                             {false, small_parts, profiled}};
  const bool divides = training.model.backend().divides();
  if (divides) kinds.push_back({true, divided, profiled_in_pieces});
  const bool has_groups = grid.ranks_per_host > 1 && grid.hosts() > 1;
  if (has_groups) {
    kinds.push_back({false, grouped, profiled_in_groups});
    kinds.push_back({false, small_grouped, profiled_in_groups});
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
  if (!description || !divides) return description;
  return with_piece_costs(std::move(*description), divided, profiled_in_pieces);
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
                                      const std::string& step_path, std::int64_t warmup,
                                      const std::function<void(const std::string&)>& warn) {
  Collective& collective = training.collective;
  // Only rank 0 may look at its options, so it tells the others what to do.
  const auto profiles = broadcast(collective, step_path.empty());
  HOCKET_TRY(profiles);
  StaticOrder result;
  std::vector<ProfiledStep> profiled;
  if (*profiles == true) {
    Phase phase{unpartitioned(config), 0, warmup, {}, false};
    phase.config.order = CollectiveOrder::negotiated;
    HOCKET_TRY(run_profiled(training, phase, profiled));
    result.from_step = warmup;
  }
  if (collective.rank() == 0) {
    auto order = compute_order(
        training, config, step_path.empty() ? describe(training, profiled) : read_step(step_path));
    if (order) {
      result.parts = std::move(*order);
    } else {
      warn("order=static: " + order.error().message + "; the order is negotiated");
    }
  }
  const auto order = broadcast(collective, result.parts);
  HOCKET_TRY(order);
  result.parts = order->get<std::vector<std::uint32_t>>();
  return result;
}

}  // namespace hocket
