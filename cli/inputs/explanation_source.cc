#include "cli/inputs/explanation_source.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/inputs/store_access.h"
#include "core/base/json.h"
#include "core/base/printable_text.h"
#include "tuner/archive/told_trial.h"
#include "tuner/explain/retrace.h"
#include "tuner/explain/step_calibration.h"
#include "tuner/study/study_definition.h"
#include "tuner/surrogate/gaussian_surrogate.h"

namespace hocket {
namespace {

constexpr std::int64_t kMaxTableBytes = std::int64_t{1} << 30;
constexpr std::size_t kMaxTrials = 100'000;
constexpr std::size_t kTitleLimitBytes = 100;

/// Returns a maker of surrogates; `space` must outlive it. A Gaussian process even where the search
/// simulates: its beliefs are alike for all points, while the simulator settles for bounds away
/// from the best.
std::function<std::unique_ptr<Surrogate>()> maker_of(const Space& space) {
  return [&space] { return std::make_unique<GaussianSurrogate>(space, Warp::none); };
}

/// The trials of a study's search, as the search went through them and as they are explained.
struct SearchHistory {
  std::vector<SessionTrial> past;
  std::vector<SearchTrial> ended;
};

Result<SearchHistory> search_history(Store& store, const StudyRow& study) {
  const auto rows = store.trials(study.id, TrialDetail::with_measurements);
  HOCKET_TRY(rows);
  SearchHistory history;
  for (const auto& row : *rows) {
    if (row.phase != TrialPhase::search) continue;
    auto trial = session_trial(row);
    HOCKET_TRY(trial);
    if (row.state != TrialState::running) {
      SearchTrial ended{row.number, evaluation_of(trial->params, trial->outcome), row.message};
      if (ended.message.empty() && !ended.evaluation.value) ended.message = to_string(row.state);
      history.ended.push_back(std::move(ended));
    }
    history.past.push_back(std::move(*trial));
  }
  return history;
}

Result<Explained> explain_study(Store& store, const std::string& name) {
  const auto study = store.study(name);
  HOCKET_TRY(study);
  const std::string title = "study " + study->name;
  auto definition = study_definition_from_json(study->definition);
  if (!definition) return failure(definition.error().in(title));
  auto history = search_history(store, *study);
  if (!history) return failure(history.error().in(title));
  auto& trials = history->ended;

  const SessionOptions options = session_options(*definition);
  auto retraced = retrace(options, history->past);
  if (!retraced) return failure(retraced.error().in(title));

  auto explanation = explain(definition->space, trials,
                             {.make_surrogate = maker_of(definition->space),
                              .seed = options.search.seed,
                              .direction = definition->objective.direction,
                              .recommendation = std::move(retraced->recommendation)});
  if (!explanation) return failure(explanation.error().in(title));
  std::optional<StepCalibration> simulator;
  if (options.search.method == SearchMethod::model && options.search.simulate)
    simulator = calibrate_step(definition->space, std::move(definition->step), trials);
  return Explained{title,
                   to_text(definition->objective),
                   label_of(definition->objective),
                   definition->objective.direction,
                   unit_of(definition->objective),
                   std::move(definition->other_objectives),
                   std::move(definition->space),
                   std::move(trials),
                   std::move(retraced->reasons),
                   std::move(*explanation),
                   std::move(simulator)};
}

Result<Explained> explain_table(const std::string& path, const RecordedTableOptions& columns,
                                Direction direction) {
  const auto text = read_file(path, kMaxTableBytes);
  if (!text) return invalid(text.error().message);
  const auto table = RecordedTable::parse(*text, columns);
  if (!table) return failure(table.error().in(path));
  std::vector<SearchTrial> trials;
  table->for_each([&](const Params& params, const RecordedTable::Measurements& measurements) {
    for (const auto& value : measurements) {
      SearchTrial trial;
      trial.number = static_cast<std::int64_t>(trials.size()) + 1;
      trial.evaluation.params = params;
      trial.evaluation.value = value;
      if (!value) trial.message = "no value was recorded";
      trials.push_back(std::move(trial));
    }
  });
  if (trials.size() > kMaxTrials) {
    return invalid(path + ": expected at most " + std::to_string(kMaxTrials) +
                   " rows to explain, found " + std::to_string(trials.size()));
  }
  auto explanation =
      explain(table->space(), trials,
              {.make_surrogate = maker_of(table->space()), .seed = 0, .direction = direction});
  if (!explanation) return failure(explanation.error().in(path));
  const bool is_time = columns.objective_column.ends_with("_ns");
  return Explained{printable(path, kTitleLimitBytes),
                   columns.objective_column,
                   columns.objective_column,
                   direction,
                   is_time ? Unit::nanoseconds : Unit::none,
                   {},
                   table->space(),
                   std::move(trials),
                   {},
                   std::move(*explanation)};
}

}  // namespace

void add_source(CLI::App& verb, ExplanationSource& source, const std::string& study_help) {
  verb.add_option("STUDY", source.study, study_help);
  verb.add_option("--store", source.store, "the store's file");
  verb.add_option("--table", source.table, "a recorded sweep instead of a study");
  verb.add_option("--objective-column", source.columns.objective_column,
                  "the column of the table that was minimised")
      ->capture_default_str();
  verb.add_flag("--maximize", source.maximize, "the column of the table was maximised");
  verb.add_option("--ignore-column", source.columns.ignored_columns,
                  "a column that is no parameter; repeat it")
      ->allow_extra_args(false);
}

Result<Explained> explain_source(const ExplanationSource& source, const std::string& verb) {
  if (source.study.empty() == source.table.empty()) {
    return invalid(verb +
                   ": expected either a study or --table TABLE; `hocket studies` lists the "
                   "studies");
  }
  if (!source.table.empty()) {
    return explain_table(source.table, source.columns,
                         source.maximize ? Direction::maximise : Direction::minimise);
  }
  if (source.maximize) return invalid("--maximize is of a table; a study says what it maximised");
  const auto store = open_for_reading(source.store);
  HOCKET_TRY(store);
  return explain_study(**store, source.study);
}

}  // namespace hocket
