#include "job/training/static_order.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/json.h"
#include "core/description/step_programs.h"
#include "core/partitioning/step_partition.h"
#include "core/sim/simulator.h"
#include "job/training/measured_steps.h"
#include "job/training/rank_zero.h"
#include "job/training/step_measurement.h"

namespace hocket {
namespace {

constexpr const char* kOrder = "order of collectives";

std::vector<std::int64_t> collective_bytes(const StepDescription& step) {
  std::vector<std::int64_t> bytes;
  for (const StepTask& task : step.tasks) {
    if (task.collective) bytes.push_back(task.bytes);
  }
  return bytes;
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
  HOCKET_TRY(check_same_on_all_ranks(description, "a job"));
  const StepDescription submitted = described_step(training);
  const StepDescription general = expand(description);
  const auto described = collective_bytes(general), of_job = collective_bytes(submitted);
  if (described == of_job) {
    // A description that was not measured on the job keeps only its own places.
    return have_same_tasks(general, submitted) ? with_places(general, submitted) : description;
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

/// Profiles the first `steps` steps while they are trained.
Result<std::vector<ProfiledStep>> profile_warmup(const Training& training,
                                                 const ScheduleConfig& config, std::int64_t steps) {
  TrainingPhase phase{unpartitioned(config), 0, steps, {}, false};
  phase.config.order = CollectiveOrder::negotiated;
  std::vector<ProfiledStep> profiled;
  HOCKET_TRY(run_measured(training, phase, profiled));
  return profiled;
}

/// Rank 0: returns the order under `config`, from the first description that there is.
Result<std::vector<std::uint32_t>> order_of(const Training& training, const ScheduleConfig& config,
                                            const std::string& step_path,
                                            const MeasuredStep& measured,
                                            const std::vector<ProfiledStep>& profiled) {
  if (!step_path.empty()) return compute_order(training, config, read_step(step_path));
  if (measured.description) return compute_order(training, config, *measured.description);
  return compute_order(training, config, described_step(training, profiled));
}

}  // namespace

Result<StepDescription> read_fitting_step(const Training& training, const std::string& path) {
  const auto step = read_step(path);
  if (!step) return step;
  auto fitting = fit(training, *step);
  if (!fitting) return failure(fitting.error().in(path));
  return fitting;
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
    auto order = order_of(training, config, step_path, measured, profiled);
    if (order) {
      result.parts = std::move(*order);
    } else {
      warn("order=static: " + order.error().message + "; the order is negotiated");
    }
  }
  const nlohmann::json found = result.parts ? nlohmann::json(*result.parts) : nlohmann::json();
  const auto order = broadcast(collective, found, kOrder);
  HOCKET_TRY(order);
  result.parts.reset();
  if (!order->is_null()) result.parts = order->get<std::vector<std::uint32_t>>();
  return result;
}

}  // namespace hocket
