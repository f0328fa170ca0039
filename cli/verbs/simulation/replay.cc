// hocket replay: runs a search on a recorded sweep instead of a running job.

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/inputs/step/step_source.h"
#include "cli/output/table.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/description/step_programs.h"
#include "tuner/search/search.h"
#include "tuner/search/transfer.h"
#include "tuner/table/recorded_table.h"
#include "tuner/table/table_replay.h"

namespace hocket {
namespace {

struct ReplayOptions {
  std::string table;
  RecordedTableOptions columns;
  std::int64_t trials = 20, seed = 0;
  std::string step, method = "model", transfer;
  bool maximize = false, json = false;

  Direction direction() const { return maximize ? Direction::maximise : Direction::minimise; }
};

constexpr std::int64_t kMaxReplayTrials = 10'000;
constexpr std::int64_t kMaxReplayTableBytes = std::int64_t{1} << 30;
constexpr std::size_t kReplayReasonLimitBytes = 100;

constexpr const char* kReplayFooter =
    "TABLE has a line of column names, then a line a measurement (docs/formats/table.md).\n"
    "Examples:\n"
    "  hocket replay sweep.csv --objective-column iteration_ns --trials 15\n"
    "  hocket replay sweep.csv --objective-column iteration_ns --method tpe --seed 7 \\\n"
    "      --default partition_bytes=4M,order=fifo --json\n"
    "  hocket trials gpt2-1 --csv > gpt2-1.csv && hocket replay gpt2-1.csv\n";

Result<SearchOptions> search_options(const ReplayOptions& options) {
  if (options.trials < 1 || options.trials > kMaxReplayTrials) {
    return invalid("--trials: expected a number from 1 to " + std::to_string(kMaxReplayTrials) +
                   ", found " + std::to_string(options.trials));
  }
  if (options.seed < 0) {
    return invalid("--seed: expected a number of at least 0, found " +
                   std::to_string(options.seed));
  }
  SearchOptions search;
  search.direction = options.direction();
  search.simulate = !options.maximize;
  search.seed = static_cast<std::uint64_t>(options.seed);
  const auto method = parse_search_method(options.method);
  if (!method) return failure(method.error().in("--method"));
  search.method = *method;
  if (search.method != SearchMethod::model && !options.transfer.empty())
    return invalid("--transfer: only the method model starts from another table");
  if (!options.step.empty()) {
    auto step = read_step(options.step);
    if (!step) return failure(step.error().in("--step"));
    if (const auto ok = check_same_on_all_ranks(*step, "a search"); !ok)
      return failure(ok.error().in("--step"));
    search.step = std::move(*step);
  }
  return search;
}

Result<RecordedTable> read_table(const ReplayOptions& options) {
  const auto text = read_file(options.table, kMaxReplayTableBytes);
  if (!text) return invalid(text.error().message);
  auto table = RecordedTable::parse(*text, options.columns);
  if (!table) return failure(table.error().in(options.table));
  return table;
}

/// Reads another table with the same columns as the donor of the search.
Result<Donor> read_donor(const ReplayOptions& options, const RecordedTable& table) {
  ReplayOptions other = options;
  other.table = options.transfer;
  other.columns.default_setting.clear();
  const auto recorded = read_table(other);
  HOCKET_TRY(recorded);
  std::map<std::string, std::string> own_names;
  for (std::size_t i = 0; i < table.columns().size(); ++i)
    own_names[table.columns()[i]] = table.space().parameters()[i].name;
  for (const auto& column : recorded->columns()) {
    if (own_names.contains(column) && recorded->columns().size() == own_names.size()) continue;
    return invalid(options.transfer + ": expected the columns of " + options.table);
  }
  Donor donor{.study = options.transfer};
  recorded->for_each([&](const Params& params, const RecordedTable::Measurements& measurements) {
    Params own;
    for (std::size_t i = 0; i < recorded->columns().size(); ++i) {
      own[own_names.at(recorded->columns()[i])] = params.at(recorded->space().parameters()[i].name);
    }
    auto value = mean_value(measurements);
    if (value) value = cost(*value, options.direction());
    donor.evaluations.push_back({std::move(own), value, 0});
  });
  donor = adapted_donor(donor, table.space());
  if (donor.evaluations.empty())
    return invalid(options.transfer + ": no setting in it has values that " + options.table +
                   " has, too");
  return donor;
}

/// Returns `params` under the table's column names.
nlohmann::json params_json(const RecordedTable& table, const Params& params) {
  auto document = nlohmann::json::object();
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const auto& parameter = table.space().parameters()[i];
    document[table.columns()[i]] = to_json(params.at(parameter.name));
  }
  return document;
}

nlohmann::json replay_json(const ReplayOptions& options, const RecordedTable& table,
                           const std::vector<ReplayedTrial>& replayed) {
  auto trials = nlohmann::json::array();
  for (const auto& trial : replayed) {
    trials.push_back({{"params", params_json(table, trial.params)},
                      {"value", trial.value ? nlohmann::json(*trial.value) : nlohmann::json()},
                      {"recommended", params_json(table, trial.recommended)},
                      {"reason", trial.reason},
                      {"why_recommended", trial.why_recommended}});
  }
  return {{"trials", std::move(trials)}, {"method", options.method}, {"seed", options.seed}};
}

void print_replay(std::ostream& out, const ReplayOptions& options, const RecordedTable& table,
                  const std::vector<ReplayedTrial>& replayed) {
  const bool is_time = options.columns.objective_column.ends_with("_ns");
  const ObjectiveUnit unit = is_time ? ObjectiveUnit::nanoseconds : ObjectiveUnit::none;
  std::vector<std::string> headings = {"trial"};
  for (const auto& column : table.columns()) headings.push_back(printable(column, 40));
  headings.insert(headings.end(), {"value", "recommended so far", "why"});
  TextTable lines(std::move(headings));
  for (std::size_t i = 0; i < replayed.size(); ++i) {
    const ReplayedTrial& trial = replayed[i];
    std::vector<std::string> cells = {std::to_string(i + 1)};
    for (const auto& parameter : table.space().parameters()) {
      cells.push_back(printable(to_text(trial.params.at(parameter.name)), 40));
    }
    cells.push_back(trial.value ? value_text(*trial.value, unit) : "failed");
    const bool stays = i > 0 && trial.recommended == replayed[i - 1].recommended;
    cells.push_back(stays ? ""
                    : trial.recommended == trial.params
                        ? "this one"
                        : printable(params_text(trial.recommended), 200));
    cells.push_back(printable(trial.reason, kReplayReasonLimitBytes));
    lines.add(std::move(cells));
  }
  lines.print(out);
  if (replayed.empty()) return;
  const ReplayedTrial& last = replayed.back();
  out << "recommended: " << printable(params_text(last.recommended), 1000) << " ("
      << last.why_recommended << ")\n";
}

Result<int> replay_verb(const ReplayOptions& options, VerbContext& context) {
  auto search_of = search_options(options);
  HOCKET_TRY(search_of);
  const auto table = read_table(options);
  HOCKET_TRY(table);
  if (!options.transfer.empty()) {
    auto donor = read_donor(options, *table);
    if (!donor) return failure(donor.error().in("--transfer"));
    search_of->donor = std::move(*donor);
  }
  const auto search = make_search(table->space(), *search_of);
  if (!search) return failure(search.error().in(options.table));
  const auto trials = static_cast<std::size_t>(options.trials);
  const auto replayed =
      replay_table(*table, **search, trials, search_of->seed, options.direction());
  if (!replayed) return failure(replayed.error().in(options.table));
  if (replayed->size() < trials) {
    context.err << "hocket: the table has no more settings than " << replayed->size()
                << ", all of which were tried" << std::endl;
  }
  if (options.json) {
    context.out << json_text(replay_json(options, *table, *replayed)) << '\n';
  } else {
    print_replay(context.out, options, *table, *replayed);
  }
  return kDone;
}

}  // namespace

void add_replay(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<ReplayOptions>();
  options->columns.objective_column = "value";
  auto* verb = program.add_subcommand("replay", "search a recorded sweep instead of running a job");
  verb->add_option("TABLE", options->table, "the table: comma-separated values")
      ->type_name("FILE")
      ->required();
  verb->add_option("--objective-column", options->columns.objective_column,
                   "the column to minimise")
      ->capture_default_str();
  verb->add_flag("--maximize", options->maximize, "maximise the column");
  verb->add_option("--ignore-column", options->columns.ignored_columns,
                   "a column that is no parameter; repeat it")
      ->allow_extra_args(false);
  verb->add_option("--default", options->columns.default_setting,
                   "COLUMN=VALUE,…: the first trial (default: the middle of each column)");
  verb->add_option("--trials", options->trials, "how many to try")->capture_default_str();
  verb->add_option("--seed", options->seed, "of the search and of the draws")
      ->capture_default_str();
  verb->add_option("--step", options->step,
                   "the step description that a profile of the default gave, for the method model")
      ->type_name("FILE");
  verb->add_option("--method", options->method, "model, random, sobol, tpe or grid")
      ->type_name("model|random|sobol|tpe|grid")
      ->capture_default_str();
  verb->add_option("--transfer", options->transfer,
                   "another recorded sweep of the same columns, to start from")
      ->type_name("FILE");
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(kReplayFooter);
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return replay_verb(*options, c); };
  });
}

}  // namespace hocket
