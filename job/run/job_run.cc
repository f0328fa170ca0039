#include "job/run/job_run.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/partitioning/step_partition.h"
#include "core/sim/simulator.h"
#include "job/run/job_profile.h"
#include "job/run/watching.h"
#include "job/training/offloading.h"
#include "job/training/step_measurement.h"
#include "profiler/metrics/activity_meter.h"
#include "profiler/metrics/iterations.h"
#include "store/open.h"

namespace hocket {
namespace {

constexpr const char* kNoStaticOrder =
    "order=static: steps of a job that is tuned while it trains have a ballot, which the order of "
    "partitioned ones does not know; the order is negotiated";

/// Records a whole run and, in a live phase, measures the activity of iterations. Of a device it
/// wants the tasks of some steps only.
class RunTrace final : public TraceSink {
 public:
  void record(const TraceEvent& event) override {
    recorder.record(event);
    if (measures_activity) meter.record(event);
  }
  TraceDetail detail(std::int64_t step) const override { return sampled_detail(step, warmup); }

  TraceRecorder recorder;
  ActivityMeter meter;
  bool measures_activity = false;
  std::int64_t warmup = 0;
};

/// Sends the values of the placement of `step` with reports, again after each change of the
/// configuration.
std::function<void(LiveJob&)> report_placement(StepDescription step) {
  return [step = std::move(step), said = std::optional<ScheduleConfig>()](LiveJob& job) mutable {
    if (said == job.config()) return;
    said = job.config();
    const auto values = placement_values(step, job.config());
    if (!values) return;
    for (const auto& [name, value] : kPlacementFields)
      job.measured(std::string(name), static_cast<double>((*values).*value));
  };
}

class Run {
 public:
  Run(const RunOptions& options, const RunStart& start, const Training& training,
      const RunMessages& messages)
      : options_(options),
        start_(start),
        training_(training),
        messages_(messages),
        is_first_(training.collective.rank() == 0),
        phase_{start.report.config, start.before.from_step, options.steps, {}, false} {
    finished_.config = start.report.config;
  }

  Result<FinishedRun> train();

 private:
  void open_link();
  void watch_requests();
  void watch_for_tuning();
  /// Returns the description of the step in the options' file, if rank 0 can use it.
  std::optional<StepDescription> known_step();

  Result<void> find_order();
  void record_trace();
  void log_iterations();
  void tune_while_training();
  Result<void> begin_profile();
  void profile_on_request();
  void save_profile();
  void say_why_task_by_task();

  /// Returns the time of the iteration of `step`, if it is known and counts.
  std::optional<std::int64_t> iteration_ns(std::int64_t step) const;

  const RunOptions& options_;
  const RunStart& start_;
  const Training& training_;
  const RunMessages& messages_;
  const bool is_first_;

  JobWatch watch_;
  LivePhase live_;
  RunTrace trace_;
  std::set<std::int64_t> before_pause_;  // traced steps whose iteration contains a pause
  std::optional<IterationLog> log_;
  std::unique_ptr<JobProfile> profile_;
  TrainingPhase phase_;
  FinishedRun finished_;
};

void Run::open_link() {
  if (!is_live(options_) || !is_first_) return;
  options_.watch ? watch_for_tuning() : watch_requests();
  if (!watch_.link && watch_.job.empty()) return;
  live_.link = watch_.link.get();
  live_.options.tuning.job = watch_.job;
  live_.options.tuning.say = messages_.say;
}

void Run::watch_requests() {
  const auto path = default_store_path();
  if (!path) return messages_.warn("requests for profiles are not seen: " + path.error().message);
  watch_ = watch_store(options_.program, start_.report, *path, messages_.warn);
}

std::optional<StepDescription> Run::known_step() {
  if (options_.step.empty()) return std::nullopt;
  auto step = read_fitting_step(training_, options_.step);
  if (step) return std::move(*step);
  messages_.warn("order=static is not tried: " + step.error().message);
  return std::nullopt;
}

void Run::watch_for_tuning() {
  const std::optional<StepDescription> step = known_step();
  if (step) {
    live_.options.static_order_of =
        [step = *step](const ScheduleConfig& config) -> Result<std::vector<std::uint32_t>> {
      if (is_partitioned(config)) return invalid(kNoStaticOrder);
      return static_order(step, config);
    };
  }
  JobKind kind = start_.kind;
  kind.is_watched = true;
  kind.has_step = step.has_value();
  watch_ = watch_daemon({.program = options_.program,
                         .explore = options_.explore,
                         .step = step,
                         .can_run = runnable_values(kind)},
                        start_.report, start_.fetched, messages_.warn);
  live_.options.tuning.version = start_.fetched.version;
  live_.options.tuning.explore = options_.explore;
}

Result<void> Run::find_order() {
  const ScheduleConfig& config = phase_.config;
  // Over servers each rank keeps an order of its own.
  if (config.order != CollectiveOrder::static_order ||
      config.communication == Communication::parameter_server)
    return {};
  if (is_live(options_) && is_partitioned(config)) {
    messages_.warn(kNoStaticOrder);
    return {};
  }
  auto order = find_static_order(training_, config, options_.step, start_.before, options_.warmup,
                                 messages_.warn);
  HOCKET_TRY(order);
  phase_.options.static_order = std::move(order->parts);
  phase_.first_step = order->from_step;
  return {};
}

void Run::record_trace() {
  // A new phase begins with nothing in flight.
  const std::int64_t left = phase_.end_step - phase_.first_step;
  const bool is_warm = phase_.first_step > 0;
  finished_.warmup = !is_warm ? options_.warmup : left > 2 ? 1 : 0;
  trace_.warmup = finished_.warmup;
  phase_.options.trace = &trace_;
}

std::optional<std::int64_t> Run::iteration_ns(std::int64_t step) const {
  const std::int64_t traced = step - phase_.first_step;  // each phase counts from 0
  const auto begin_ns = trace_.recorder.step_start_ns(traced);
  const auto end_ns = trace_.recorder.step_start_ns(traced + 1);
  if (traced < finished_.warmup || !begin_ns || !end_ns) return std::nullopt;
  if (before_pause_.contains(traced)) return std::nullopt;
  return *end_ns - *begin_ns;
}

void Run::tune_while_training() {
  if (!is_live(options_)) return;
  if (is_first_) live_.iteration_ns = [this](std::int64_t step) { return iteration_ns(step); };
  live_.activity = [this](std::int64_t step) {
    return trace_.meter.take(step - phase_.first_step);
  };
  trace_.measures_activity = true;
  if (auto& order = phase_.options.static_order)
    order = with_ballot(std::move(*order), training_.collective.world_size(), start_.report.config);
  // Recorded now, since the model cannot be recorded while it trains.
  if (training_.memory && is_first_) live_.measured = report_placement(described_step(training_));
  live_.done = [this](const LiveJob& job) {
    finished_.config = job.config();
    finished_.explored = job.explored();
  };
  phase_.live = &live_;
}

Result<void> Run::begin_profile() {
  const auto span = agree_on_span(
      training_.collective, is_first_ ? span_to_profile(options_, messages_.warn) : std::nullopt);
  HOCKET_TRY(span);
  if (!*span && !takes_requests(options_)) return {};
  profile_ = std::make_unique<JobProfile>(training_, messages_.warn);
  if (*span) {
    profile_->watch(phase_, **span);
  } else {
    profile_->watch(phase_);
  }
  return {};
}

void Run::profile_on_request() {
  if (!takes_requests(options_)) return;
  live_.options.on_profile = [this](std::int64_t first_step, std::int64_t steps) {
    profile_->request(first_step, steps);
  };
  live_.pauses = [this](std::int64_t step) {
    if (profile_->is_due(step)) before_pause_.insert(step - 1);
    return profile_->is_due(step);
  };
  live_.paused = [this] { save_profile(); };
}

void Run::save_profile() {
  if (profile_) profile_->save(start_.report, default_store_path(), messages_.say);
}

void Run::say_why_task_by_task() {
  const auto why = why_task_by_task(phase_, start_.on_device, training_.collective.world_size());
  if (why && is_first_) messages_.warn("step_issue=graph: " + *why + "; steps go task by task");
}

Result<FinishedRun> Run::train() {
  open_link();
  HOCKET_TRY(find_order());
  record_trace();
  Training watched = training_;
  if (is_first_) {
    log_.emplace();
    watched.step_done = [this](std::int64_t step) {
      training_.step_done(step);
      if (const auto ns = iteration_ns(step - 1)) log_->add(*ns);
    };
  }
  tune_while_training();
  HOCKET_TRY(begin_profile());
  profile_on_request();
  say_why_task_by_task();
  HOCKET_TRY(options_.record.empty()
                 ? run_phase(watched, phase_)
                 : run_recorded_phase(watched, phase_, options_.program, options_.record));
  save_profile();
  finished_.events = trace_.recorder.events();
  return std::move(finished_);
}

}  // namespace

Result<FinishedRun> train_job(const RunOptions& options, const RunStart& start,
                              const Training& training, const RunMessages& messages) {
  return Run(options, start, training, messages).train();
}

}  // namespace hocket
