#include "cli/verbs/explanation/explanation_source.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/inputs/access/store_access.h"
#include "core/base/json.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::int64_t kMaxTableBytes = std::int64_t{1} << 30;
constexpr std::size_t kMaxTrials = 100'000;
constexpr std::size_t kTitleLimitBytes = 100;

Result<StudyExplanation> explain_table(const std::string& path, const RecordedTableOptions& columns,
                                       Direction direction) {
  const auto text = read_file(path, kMaxTableBytes);
  if (!text) return invalid(text.error().message);
  const auto table = RecordedTable::parse(*text, columns);
  if (!table) return failure(table.error().in(path));
  std::vector<Trial> trials;
  table->for_each([&](const Params& params, const RecordedTable::Measurements& measurements) {
    for (const auto& value : measurements) {
      Trial& trial = trials.emplace_back();
      trial.number = std::ssize(trials) - 1;
      trial.params = params;
      trial.outcome.state = value ? TrialState::complete : TrialState::failed;
      trial.outcome.value = value;
      if (!value) trial.outcome.message = "no value was recorded";
    }
  });
  if (trials.size() > kMaxTrials) {
    return invalid(path + ": expected at most " + std::to_string(kMaxTrials) +
                   " rows to explain, found " + std::to_string(trials.size()));
  }
  auto explanation = explain_search(table->space(), trials, {.direction = direction});
  if (!explanation) return failure(explanation.error().in(path));
  const bool is_time = columns.objective_column.ends_with("_ns");
  return StudyExplanation{printable(path, kTitleLimitBytes),
                          columns.objective_column,
                          columns.objective_column,
                          direction,
                          is_time ? ObjectiveUnit::nanoseconds : ObjectiveUnit::none,
                          {},
                          table->space(),
                          std::move(trials),
                          {},
                          std::move(*explanation)};
}

}  // namespace

void add_source(CLI::App& verb, ExplanationSource& source, const std::string& study_help) {
  verb.add_option("STUDY", source.study, study_help);
  add_store_option(verb, source.store);
  verb.add_option("--table", source.table, "a recorded sweep instead of a study")
      ->type_name("FILE");
  verb.add_option("--objective-column", source.columns.objective_column,
                  "the column of the table that was minimised")
      ->capture_default_str();
  verb.add_flag("--maximize", source.maximize, "the column of the table was maximised");
  verb.add_option("--ignore-column", source.columns.ignored_columns,
                  "a column that is no parameter; repeat it")
      ->allow_extra_args(false);
}

Result<StudyExplanation> explain_source(const ExplanationSource& source, const std::string& verb) {
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
