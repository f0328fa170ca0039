#include "cli/explanation_source.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/store_access.h"
#include "core/json.h"
#include "tuner/archive/open_study.h"
#include "tuner/gaussian_surrogate.h"
#include "tuner/printable.h"
#include "tuner/retrace.h"
#include "tuner/search.h"
#include "tuner/step_calibration.h"
#include "tuner/study_definition.h"

namespace hocket {
namespace {

constexpr std::int64_t kMaxTableBytes = std::int64_t{1} << 30;
constexpr std::size_t kMaxTrials = 100'000;
constexpr std::size_t kTitleLimitBytes = 100;

/// `space` must outlive what is returned. A Gaussian process even where the search simulates: it
/// believes of every point alike, while the simulator settles for bounds away from the best.
std::function<std::unique_ptr<Surrogate>()> maker_of(const Space& space) {
  return [&space] { return std::make_unique<GaussianSurrogate>(space, Warp::none); };
}

Result<std::vector<SearchTrial>> search_trials(Store& store, const StudyRow& study) {
  const auto rows = store.trials(study.id, TrialDetail::with_measurements);
  if (!rows) return failure(rows.error());
  std::vector<SearchTrial> trials;
  for (const auto& row : *rows) {
    if (row.phase != TrialPhase::search || row.state == TrialState::running) continue;
    auto trial = finished_trial(row);
    if (!trial) return failure(trial.error());
    SearchTrial found;
    found.number = row.number;
    found.evaluation = evaluation_of(*trial);
    found.message = row.message;
    if (found.message.empty() && !found.evaluation.value) found.message = to_string(row.state);
    trials.push_back(std::move(found));
  }
  return trials;
}

Result<Explained> explain_study(Store& store, const std::string& name) {
  const auto study = store.study(name);
  if (!study) return failure(study.error());
  const std::string title = "study " + study->name;
  auto definition = study_definition_from_json(study->definition);
  if (!definition) return failure(definition.error().in(title));
  auto trials = search_trials(store, *study);
  if (!trials) return failure(trials.error().in(title));

  const auto seed = static_cast<std::uint64_t>(definition->seed);
  const SearchOptions options = search_options(study_options(*definition));
  const auto search = make_search(definition->space, options);
  if (!search) return failure(search.error().in(title));
  auto retraced = retrace(**search, *trials, static_cast<std::size_t>(definition->trials));
  if (!retraced) return failure(retraced.error().in(title));

  auto explanation = explain(definition->space, *trials,
                             {.make_surrogate = maker_of(definition->space),
                              .seed = seed,
                              .recommendation = std::move(retraced->recommendation)});
  if (!explanation) return failure(explanation.error().in(title));
  std::optional<StepCalibration> simulator;
  if (options.method == SearchMethod::model && options.simulate && options.objectives == 1)
    simulator = calibrate_step(definition->space, std::move(definition->step), *trials);
  return Explained{title,
                   to_text(definition->objective),
                   unit_of(definition->objective),
                   std::move(definition->other_objectives),
                   std::move(definition->space),
                   std::move(*trials),
                   std::move(retraced->reasons),
                   std::move(*explanation),
                   std::move(simulator)};
}

Result<Explained> explain_table(const std::string& path, const RecordedTableOptions& columns) {
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
      explain(table->space(), trials, {.make_surrogate = maker_of(table->space()), .seed = 0});
  if (!explanation) return failure(explanation.error().in(path));
  const bool is_time = columns.objective_column.ends_with("_ns");
  return Explained{printable(path, kTitleLimitBytes),
                   columns.objective_column,
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
  if (!source.table.empty()) return explain_table(source.table, source.columns);
  const auto store = open_for_reading(source.store);
  if (!store) return failure(store.error());
  return explain_study(**store, source.study);
}

}  // namespace hocket
