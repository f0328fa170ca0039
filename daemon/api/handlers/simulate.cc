// Predictions for somebody who moves a configuration's knobs.

#include <nlohmann/json.hpp>

#include "archive/profiles/predicted_timeline.h"
#include "archive/profiles/prediction.h"
#include "archive/profiles/step_changes.h"
#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/description/step_programs.h"
#include "daemon/api/handlers/call.h"
#include "profiler/metrics/iterations.h"

namespace hocket {
namespace {

/// Keeps one prediction within about a second.
constexpr std::int64_t kMostSimulatedParts = 100'000;
constexpr std::int64_t kMostJitteredRanks = 64;

struct SimulationRequest {
  std::string profile;
  nlohmann::json step, config = nlohmann::json::object();
  StepChanges changes;
  std::int64_t rank = 0;
};

/// The step, where it comes from, and the configuration that changes are made to.
struct SimulatedSubject {
  StepDescription step;
  std::shared_ptr<const MeasuredJob> job = {};
  ScheduleConfig base = {};
  std::string base_name = "hocket's defaults";
};

Result<SimulationRequest> request_of(const nlohmann::json& body) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  SimulationRequest request;
  JsonReader reader(body);
  reader.text("profile", request.profile, "");
  reader.value(
      "step", [&](const JsonValue& found) { request.step = found.json(); }, kOptional);
  reader.value(
      "config", [&](const JsonValue& found) { request.config = found.json(); }, kOptional);
  reader.integer("ranks", request.changes.ranks, 1, kMost);
  reader.integer("ranks_per_host", request.changes.ranks_per_host, 1, kMost);
  for (const char* tier : {"host", "network"}) {
    std::string link;
    reader.text(std::string(tier) + "_link", link, "");
    if (!link.empty()) request.changes.links.push_back(std::string(tier) + "=" + link);
  }
  reader.number("compute_scale", request.changes.compute_scale);
  reader.number("bandwidth_scale", request.changes.bandwidth_scale);
  reader.integer("rank", request.rank, 0, kMost, 0);
  HOCKET_TRY(reader.done());
  if (request.profile.empty() == request.step.is_null()) {
    return failure(ErrorCode::invalid_argument,
                   "expected either the field \"profile\" or the field \"step\"");
  }
  if (!request.config.is_object()) {
    return failure(ErrorCode::invalid_argument, "field \"config\": expected an object of knobs");
  }
  return request;
}

Result<SimulatedSubject> subject_of(const RouteCall& call, const SimulationRequest& request) {
  if (request.profile.empty()) {
    auto step = parse_step_description(request.step.dump());
    if (!step) return failure(step.error().in("field \"step\""));
    HOCKET_TRY(change_step(*step, request.changes));
    return SimulatedSubject{std::move(*step)};
  }
  auto job = call.parts.computed.measured_job(request.profile);
  HOCKET_TRY(job);
  auto step = change_measured_step((*job)->profile.calibration, request.changes);
  HOCKET_TRY(step);
  SimulatedSubject subject{std::move(*step), *job, (*job)->profile.config};
  subject.base_name = "what profile " + (*job)->name + " ran with";
  return subject;
}

/// Returns `base` with the knobs of `changes`.
Result<ScheduleConfig> changed_config(const ScheduleConfig& base, const nlohmann::json& changes) {
  auto document = to_json(base);
  document.merge_patch(changes);
  auto config = read_json<ScheduleConfig>(document, read_schedule_config);
  if (!config) return failure(config.error().in("field \"config\""));
  return config;
}

std::int64_t parts_of(std::int64_t bytes, const ScheduleConfig& config) {
  return bytes / std::max<std::int64_t>(config.partition_bytes, 1) + 1;
}

/// Refuses what would take long.
Result<void> check_size(const StepDescription& step, const ScheduleConfig& config) {
  std::int64_t parts = 0;
  for (const StepLayer& layer : step.layers) parts += parts_of(layer.parameter_bytes, config);
  const auto parts_in = [&](const std::vector<StepTask>& tasks) {
    std::int64_t sum = 0;
    for (const StepTask& task : tasks) sum += task.collective ? parts_of(task.bytes, config) : 1;
    return sum;
  };
  if (takes_part_by_rank(step)) {
    // None of the ranks may be alike.
    const auto programs = programs_of_ranks(step);
    HOCKET_TRY(programs);
    std::vector<std::int64_t> parts_of_program;
    for (const StepDescription& program : program_steps(step))
      parts_of_program.push_back(parts_in(program.tasks));
    for (const std::uint32_t program : *programs) parts += parts_of_program[program];
  } else {
    parts += parts_in(step.tasks);
  }
  if (parts > kMostSimulatedParts) {
    return failure(ErrorCode::invalid_argument,
                   "the step would have more than " + std::to_string(kMostSimulatedParts) +
                       " parts, which takes too long here; choose a larger partition_bytes, or use "
                       "`hocket simulate`");
  }
  const bool varies = step.jitter.kind != JitterKind::none || !step.rank_compute_scale.empty();
  if (varies && step.ranks > kMostJitteredRanks) {
    return failure(ErrorCode::invalid_argument,
                   "ranks of which each differs are simulated one by one, here at most " +
                       std::to_string(kMostJitteredRanks) + "; use `hocket simulate` for more");
  }
  return {};
}

/// Simulates what speed-ups are against: the base, or what is asked about where programs of ranks
/// have no order under the base.
Result<PredictionBaseline> baseline_of(const SimulatedSubject& subject,
                                       const ScheduleConfig& asked) {
  SimulationOptions options;
  options.config = subject.base;
  auto simulation = simulate(subject.step, options);
  if (!simulation && takes_part_by_rank(subject.step)) {
    options.config = asked;
    simulation = simulate(subject.step, options);
    HOCKET_TRY(simulation);
    return PredictionBaseline{"the configuration asked about", asked, simulation->iteration_ns};
  }
  if (!simulation) return failure(simulation.error().in("with " + subject.base_name));
  return PredictionBaseline{subject.base_name, subject.base, simulation->iteration_ns};
}

nlohmann::json notes_of(const SimulatedSubject& subject, const Prediction& prediction,
                        const PredictedTimeline& timeline) {
  auto notes = nlohmann::json::array();
  for (const HiddenKnob& hidden : hidden_in(subject.step, prediction)) notes.push_back(hidden.text);
  for (auto& doubt : doubts_on(subject.job.get(), prediction.config))
    notes.push_back(std::move(doubt));
  if (subject.job)
    for (const auto& note : subject.job->profile.notes) notes.push_back(note);
  if (timeline.left_out > 0) {
    notes.push_back(std::to_string(timeline.left_out) +
                    " records at the end of the iteration are not drawn");
  }
  return notes;
}

void add_error_bar(const MeasuredJob& job, const Prediction& prediction, nlohmann::json& document) {
  const ErrorBar bar = error_bar(job, prediction.simulation.iteration_ns);
  document["low_ns"] = bar.low_ns;
  document["high_ns"] = bar.high_ns;
  document["error_text"] = bar.basis;
  document["error"] = to_json(job.check);
}

Result<ServiceReply> simulate_step(const RouteCall& call) {
  const auto body = call.body();
  HOCKET_TRY(body);
  const auto request = request_of(*body);
  HOCKET_TRY(request);
  const auto subject = subject_of(call, *request);
  HOCKET_TRY(subject);
  const auto config = changed_config(subject->base, request->config);
  HOCKET_TRY(config);
  HOCKET_TRY(check_comparable(
      subject->step, subject->job && request->changes.is_empty() && *config == subject->base));
  HOCKET_TRY(check_size(subject->step, *config));
  HOCKET_TRY(check_size(subject->step, subject->base));
  const auto baseline = baseline_of(*subject, *config);
  HOCKET_TRY(baseline);
  if (request->rank >= subject->step.ranks) {
    return failure(ErrorCode::invalid_argument, "field \"rank\": expected a number from 0 to " +
                                                    std::to_string(subject->step.ranks - 1));
  }
  TraceRecorder recorder;
  SimulationOptions options;
  options.config = *config;
  options.trace = &recorder;
  options.watched_rank = request->rank;
  auto simulation = simulate(subject->step, options);
  HOCKET_TRY(simulation);
  const Prediction prediction{*config, std::move(*simulation)};
  const auto timeline = last_iteration(recorder, request->rank);
  auto document = prediction_json(subject->step, prediction, *baseline);
  document["ranks_per_host"] = subject->step.ranks_per_host;
  document["config"] = knob_values(*config);
  document["low_ns"] = document["high_ns"] = document["error"] = nullptr;
  document["error_text"] =
      "Nothing was measured of this step, so the error of the prediction is not known.";
  if (subject->job) add_error_bar(*subject->job, prediction, document);
  document["notes"] = notes_of(*subject, prediction, timeline);
  document["timeline"] = to_json(timeline);
  return json_response(document);
}

}  // namespace

std::span<const ApiRoute> simulation_routes() {
  static constexpr ApiRoute kRoutes[] = {
      {"POST", "/v1/simulate", AccessRole::read, simulate_step, RequestLabour::browse},
  };
  return kRoutes;
}

}  // namespace hocket
