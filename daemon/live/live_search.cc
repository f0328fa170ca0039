#include "daemon/live/live_search.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/studies/told_trial.h"
#include "core/base/statistics.h"
#include "core/step/declared_knob.h"
#include "core/step/knob.h"
#include "core/step/knob_value.h"
#include "daemon/live/drift.h"
#include "daemon/live/live_dependencies.h"
#include "tuner/space/schedule_space.h"

namespace hocket {
namespace {

/// Returns `domain` with `value` in it, if it is one of levels or choices.
Domain including(Domain domain, const ParameterValue& value) {
  if (auto* choices = std::get_if<Choices>(&domain)) {
    const auto& word = std::get<std::string>(value);
    if (std::ranges::count(choices->names, word) == 0) choices->names.push_back(word);
    return domain;
  }
  auto* levels = std::get_if<Levels>(&domain);
  if (!levels || std::ranges::find(levels->values, value) != levels->values.end()) return domain;
  levels->values.insert(std::ranges::upper_bound(levels->values, value), value);
  return domain;
}

/// Returns `domain` with the integers up to `value`, if it is a range of integers.
Domain reaching(Domain domain, const ParameterValue& value) {
  auto* range = std::get_if<IntegerRange>(&domain);
  const auto* number = std::get_if<std::int64_t>(&value);
  if (!range || !number) return domain;
  range->low = std::min(range->low, *number);
  range->high = std::max(range->high, *number);
  return domain;
}

/// Returns the knob called `name`, of the scheduler or of the job's own; valid while `job` is.
std::optional<Knob> knob_of(const JobDescription& job, const std::string& name) {
  if (const Knob* const knob = find_knob(name)) return *knob;
  const DeclaredKnob* const declared = find_declared(job.workload.knobs, name);
  return declared ? std::optional(as_knob(*declared)) : std::nullopt;
}

/// Returns the values of the knob `name` to which the job can change. A job that does not say, and
/// has no description of its step, has no order to run order=static with.
std::optional<KnobValues> values_of(const JobDescription& job, const std::string& name) {
  auto values = running_values(job.can_run, job.knobs, name);
  if (!values || job.can_run.says_running() || job.step || name != "order") return values;
  for (const std::string_view word : find_knob(name)->choices) {
    if (word != to_string(CollectiveOrder::static_order)) values->words.emplace_back(word);
  }
  return values;
}

/// Returns the values of `domain`, which is of the knob `knob`, that are in `values`.
Domain within(Domain domain, const Knob& knob, const KnobValues& values) {
  if (auto* choices = std::get_if<Choices>(&domain)) {
    std::erase_if(choices->names,
                  [&](const std::string& word) { return !values.contains({.word = word}); });
    return domain;
  }
  if (!values.numbers.empty()) {
    Levels levels;
    for (const std::int64_t number : std::set(values.numbers.begin(), values.numbers.end())) {
      levels.values.emplace_back(number);
    }
    return levels;
  }
  const std::int64_t low = values.low.value_or(knob.low), high = values.high.value_or(knob.high);
  if (auto* levels = std::get_if<Levels>(&domain)) {
    std::erase_if(levels->values, [&](const ParameterValue& value) {
      return !values.contains({.number = std::get<std::int64_t>(value)});
    });
    if (levels->values.size() < 2) return IntegerRange{low, high, low > 0};
    return domain;
  }
  auto& range = std::get<IntegerRange>(domain);
  if (range.high < low || range.low > high) return IntegerRange{low, high, range.log};
  range.low = std::max(range.low, low);
  range.high = std::min(range.high, high);
  return domain;
}

/// Returns the default with each of the job's own knobs of two words set to the other one, in turn.
std::vector<Params> with_switches_turned(const Space& space) {
  std::vector<Params> turned;
  for (const Parameter& parameter : space.parameters()) {
    const auto* choices = std::get_if<Choices>(&parameter.domain);
    if (choices == nullptr || choices->names.size() != 2 || !is_job_knob(parameter.name)) continue;
    for (const std::string& word : choices->names) {
      if (ParameterValue(word) == parameter.default_value) continue;
      Params params = space.defaults();
      params[parameter.name] = word;
      turned.push_back(std::move(params));
    }
  }
  return turned;
}

bool has_choice(const Knob& knob, const KnobValues& values) {
  if (!knob.choices.empty()) return values.words.empty() || values.words.size() > 1;
  if (!values.numbers.empty()) return values.numbers.size() > 1;
  return values.low.value_or(knob.low) < values.high.value_or(knob.high);
}

}  // namespace

std::vector<std::string> searched_knobs(const JobDescription& job) {
  std::vector<std::string> names;
  for (const std::string& name : job.knobs) {
    const auto values = values_of(job, name);
    const auto knob = knob_of(job, name);
    // A name that does not exist is for schedule_parameters() to refuse.
    if (!knob || (values && has_choice(*knob, *values))) names.push_back(name);
  }
  return names;
}

Result<StudyDefinition> live_definition(const JobDescription& job) {
  const auto knobs = searched_knobs(job);
  if (knobs.empty()) {
    return failure(ErrorCode::invalid_argument, "the job can change no knob while it runs");
  }
  auto parameters = schedule_parameters(knobs, job.workload.knobs);
  HOCKET_TRY(parameters);
  const nlohmann::json config = to_json(with_declared_defaults(job.config, job.workload.knobs));
  for (Parameter& parameter : *parameters) {
    const auto value = read_knob(config, parameter.name);
    HOCKET_TRY(value);
    parameter.default_value =
        value->word.empty() ? ParameterValue(value->number) : ParameterValue(value->word);
    parameter.domain = within(std::move(parameter.domain), *knob_of(job, parameter.name),
                              *values_of(job, parameter.name));
    parameter.domain = reaching(including(std::move(parameter.domain), parameter.default_value),
                                parameter.default_value);
  }
  auto space = Space::make(std::move(*parameters));
  HOCKET_TRY(space);
  const auto objective = parse_objective("report");
  HOCKET_TRY(objective);
  StudyDefinition definition{.space = std::move(*space), .objective = *objective};
  definition.trials = kLiveTrials;
  definition.stop_early = true;
  const auto is_own = [](const std::string& knob) { return find_knob(knob) == nullptr; };
  if (std::ranges::all_of(knobs, is_own)) definition.least_trials = kLeastLiveTrials;
  definition.step = job.step;
  definition.working_directory = "/";
  HOCKET_TRY(validate(definition));
  return definition;
}

std::optional<Donor> predicted_donor(const JobDescription& job, const Space& space) {
  Donor donor{.study = "what the job predicts"};
  for (const PredictedTime& prediction : job.predictions) {
    const auto params =
        params_of(with_declared_defaults(prediction.config, job.workload.knobs), space);
    if (!params || !space.admit(*params)) continue;
    donor.evaluations.push_back(
        {.params = *params, .value = static_cast<double>(prediction.iteration_ns)});
  }
  if (donor.evaluations.empty()) return std::nullopt;
  return donor;
}

Result<StudySession> live_session(const StudyDefinition& definition,
                                  std::span<const TrialRow> trials,
                                  std::optional<std::int64_t> offered) {
  std::vector<Trial> past;
  for (const TrialRow& row : trials) {
    if (row.state == TrialState::running && row.id != offered) continue;
    auto trial = trial_of(row);
    if (!trial || !definition.space.admit(trial->params)) continue;
    trial->is_given = row.worker.empty();
    past.push_back(std::move(*trial));
  }
  auto session = StudySession::make(session_options(definition), past);
  if (session) session->prefer(with_switches_turned(definition.space));
  return session;
}

namespace {

/// Errors by which a setting may be faster than measured.
constexpr double kHopedErrorsOfWeak = 2;

/// A search out of the store.
struct RecordedSearch {
  std::vector<Trial> trials = {};         ///< those that were measured, in order
  std::vector<nlohmann::json> kept = {};  ///< the configurations that it has promoted
};

Result<RecordedSearch> read_search(Store& store, const StudyRow& study) {
  RecordedSearch search;
  const auto trials = store.trials(study.id, TrialDetail::with_measurements);
  HOCKET_TRY(trials);
  for (const TrialRow& row : *trials) {
    auto trial = trial_of(row);
    if (!trial || !is_complete(*trial) || !trial->outcome.value) continue;
    trial->is_given = row.worker.empty();
    search.trials.push_back(std::move(*trial));
  }
  const auto promotions = store.promotions({.study_id = study.id});
  HOCKET_TRY(promotions);
  for (const PromotionRow& row : *promotions) search.kept.push_back(row.config);
  return search;
}

/// Says whether nothing was kept, and a setting may still be faster by a share worth having.
bool is_weak(const RecordedSearch& search) {
  if (!search.kept.empty()) return false;
  double current = 0;
  for (const Trial& trial : search.trials) {
    if (trial.is_given) current = *trial.outcome.value;
    if (trial.is_given || current == 0) continue;
    const Evaluation told = evaluation_of(trial.params, trial.outcome);
    const double least = *told.value - kHopedErrorsOfWeak * told.standard_error;
    if (told.standard_error > 0 && least < (1 - kWorthwhileGain) * current) return true;
  }
  return false;
}

/// Returns the latest iterations under `config`, as the trials measured them: as candidates, and in
/// turn with other candidates while the job had it.
std::vector<double> iterations_under(const RecordedSearch& search, const ScheduleConfig& config) {
  std::vector<double> times;
  bool is_current = false;
  for (const Trial& trial : search.trials) {
    const auto tried = with_params(config, trial.params);
    if (!tried) continue;
    const bool had = trial.is_given || std::ranges::count(search.kept, to_json(*tried)) > 0;
    if (*tried == config) {
      times = trial.outcome.samples;
      is_current = had;
    } else if (had) {
      is_current = false;
    } else if (const auto found = trial.outcome.metrics.find(kReferenceMetric);
               is_current && found != trial.outcome.metrics.end()) {
      times.insert(times.end(), found->second.begin(), found->second.end());
    }
  }
  if (times.size() > kDriftWindow) times.erase(times.begin(), times.end() - kDriftWindow);
  return times;
}

}  // namespace

Result<std::vector<StudyRow>> live_studies(Store& store, std::int64_t topology_id,
                                           std::int64_t workload_id) {
  UnreadRows unread;
  auto studies = store.studies_of_key(topology_id, workload_id, &unread);
  HOCKET_TRY(studies);
  std::erase_if(*studies, [](const StudyRow& study) { return study.owner != kDaemonActor; });
  std::ranges::reverse(*studies);
  return std::move(*studies);
}

Result<EndedSearch> read_ended_search(Store& store, const std::vector<StudyRow>& studies,
                                      std::size_t index, const ScheduleConfig* config) {
  const StudyRow& study = studies[index];
  const auto search = read_search(store, study);
  HOCKET_TRY(search);
  EndedSearch ended{.study = study.name, .ended_at_ns = study.updated_at_ns};
  ended.kept = static_cast<int>(search->kept.size());
  for (const Trial& trial : search->trials) ended.tried += trial.is_given ? 0 : 1;
  if (is_weak(*search)) ended.weak_in_a_row = 1;
  for (std::size_t i = index + 1;
       i < studies.size() && ended.weak_in_a_row > 0 && ended.weak_in_a_row < kMostWeakSearches;
       ++i) {
    const auto earlier = read_search(store, studies[i]);
    HOCKET_TRY(earlier);
    if (!is_weak(*earlier)) break;
    ++ended.weak_in_a_row;
  }
  if (config == nullptr) return ended;
  const auto times = iterations_under(*search, *config);
  if (times.size() < 2) return ended;
  ended.recorded_ns = quantile(times, kDriftQuantile);
  if (ended.recorded_ns > 0) {
    ended.recorded_error_share =
        median_standard_error(spread(times), times.size()) / ended.recorded_ns;
  }
  return ended;
}

Result<std::optional<EndedSearch>> newest_ended_search(Store& store, std::int64_t topology_id,
                                                       std::int64_t workload_id) {
  const auto studies = live_studies(store, topology_id, workload_id);
  HOCKET_TRY(studies);
  if (studies->empty() || studies->front().state != StudyState::finished) return std::nullopt;
  auto ended = read_ended_search(store, *studies, 0);
  HOCKET_TRY(ended);
  return std::optional(std::move(*ended));
}

}  // namespace hocket
