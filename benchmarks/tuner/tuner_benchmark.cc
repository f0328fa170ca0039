// Compares the search methods on recorded sweeps: the true regret of their recommendations after 5,
// 8, 10, 15, 20, 30 and 60 trials.
//
//   bin/tuner_benchmark [TABLE.csv …] [--functions] [--methods model,tpe,random] [--seeds 24]
//       [--trials 30] [--objective-column NAME] [--default a=1,b=2] [--json]
//   bin/tuner_benchmark --ask-times [--seeds 24] [--json]
//
// The truth of TABLE.csv is TABLE.truth.csv beside it, if it exists, and otherwise the mean of the
// measurements. If there is a step description TABLE.step.json beside it, the method model runs a
// second time, as model+step, with that description as its prior; the method model+step alone runs
// only so. Each cell is the mean over the seeds of truth / least truth − 1 in percent, its standard
// error, and the share of the seeds within 2 % of the least. Of several tables the means follow.
// --ask-times measures the time of an ask after 40 and 400 trials.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/measured_table.h"
#include "benchmarks/tuner/ask_times.h"
#include "benchmarks/tuner/functions.h"
#include "benchmarks/tuner/problem.h"
#include "core/base/json.h"
#include "core/base/statistics.h"

namespace hocket {
namespace {

struct Options {
  std::vector<std::string> tables;
  std::vector<std::string> methods = {"model", "tpe", "random", "sobol", "grid"};
  std::size_t seeds = 24, trials = 30;
  std::string step_suffix = ".step.json", truth_suffix = ".truth.csv";
  RecordedTableOptions columns;
  bool functions = false, ask_times = false, json = false;
};

struct Line {
  std::string problem, method;
  std::vector<Checkpoint> checkpoints;
};

constexpr std::int64_t kMaxTableBytes = std::int64_t{1} << 30;

Result<RecordedTable> read_table(const std::string& path, const RecordedTableOptions& columns) {
  const auto text = read_file(path, kMaxTableBytes);
  HOCKET_TRY(text);
  auto table = RecordedTable::parse(*text, columns);
  if (!table) return failure(table.error().in(path));
  return table;
}

Result<Problem> read_problem(const std::string& path, const Options& options) {
  auto table = read_table(path, options.columns);
  HOCKET_TRY(table);
  const std::string stem = std::filesystem::path(path).replace_extension().string();
  std::optional<RecordedTable> truth;
  if (std::filesystem::exists(stem + options.truth_suffix)) {
    auto read = read_table(stem + options.truth_suffix, options.columns);
    HOCKET_TRY(read);
    truth = std::move(*read);
  }
  const auto name = std::filesystem::path(stem).filename().string();
  auto problem = make_problem(name, std::move(*table), truth);
  if (!problem || !std::filesystem::exists(stem + options.step_suffix)) return problem;
  const auto text = read_file(stem + options.step_suffix);
  HOCKET_TRY(text);
  auto step = parse_step_description(*text);
  if (!step) return failure(step.error().in(stem + options.step_suffix));
  problem->step = std::move(*step);
  return problem;
}

void print_heading(const Options& options) {
  std::printf("%-16s %-11s", "table", "method");
  for (const std::size_t count : kCheckpoints) {
    if (count <= options.trials) std::printf("  after %-2zu             ", count);
  }
  std::printf("\n");
}

void print_line(const Line& line) {
  std::printf("%-16s %-11s", line.problem.c_str(), line.method.c_str());
  for (const Checkpoint& at : line.checkpoints) {
    std::printf("  %6.2f ± %-5.2f %3.0f %%   ", 100 * at.mean_regret, 100 * at.standard_error,
                100 * at.within_2_percent);
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// Below, a regret counts as this much in a geometric mean.
constexpr double kLeastRegret = 1e-4;

/// Prints for each method the means of its tables' mean regrets, and the share of close searches.
void print_overall(const std::vector<Line>& lines) {
  std::printf("\nall tables: the mean, the geometric mean, the share within 2 %%\n");
  std::vector<std::string> methods;
  for (const Line& line : lines)
    if (!std::ranges::count(methods, line.method)) methods.push_back(line.method);
  for (const std::string& method : methods) {
    std::vector<std::vector<double>> regrets, logarithms, shares;
    for (const Line& line : lines) {
      if (line.method != method) continue;
      for (auto* each : {&regrets, &logarithms, &shares}) each->resize(line.checkpoints.size());
      for (std::size_t i = 0; i < line.checkpoints.size(); ++i) {
        const Checkpoint& at = line.checkpoints[i];
        regrets[i].push_back(at.mean_regret);
        logarithms[i].push_back(std::log(std::max(at.mean_regret, kLeastRegret)));
        shares[i].push_back(at.within_2_percent);
      }
    }
    std::printf("%-16s %-11s", "all", method.c_str());
    for (std::size_t i = 0; i < regrets.size(); ++i) {
      std::printf("  %6.2f  %6.2f %3.0f %%  ", 100 * mean(regrets[i]),
                  100 * std::exp(mean(logarithms[i])), 100 * mean(shares[i]));
    }
    std::printf("\n");
  }
}

nlohmann::json line_json(const Line& line) {
  auto checkpoints = nlohmann::json::array();
  for (const Checkpoint& at : line.checkpoints) {
    checkpoints.push_back({{"trials", at.trials},
                           {"mean_regret", at.mean_regret},
                           {"standard_error", at.standard_error},
                           {"within_2_percent", at.within_2_percent}});
  }
  return {{"table", line.problem}, {"method", line.method}, {"regret", std::move(checkpoints)}};
}

constexpr std::string_view kWithStep = "model+step";

/// Parses a method of `--methods`: a search method, "process", the model without the simulator, or
/// "model+step", the model with a step description.
Result<SearchOptions> search_options(const std::string& name) {
  if (name == "process") return SearchOptions{.simulate = false};
  if (name == kWithStep) return SearchOptions{};
  const auto method = parse_search_method(name);
  if (!method) return failure(method.error().in("--methods"));
  return SearchOptions{.method = *method};
}

Result<void> compare(const Options& options, const Problem& problem, std::vector<Line>& lines) {
  for (const auto& name : options.methods) {
    auto search = search_options(name);
    HOCKET_TRY(search);
    for (const bool with_step : {false, true}) {
      if (with_step && (!problem.step || (name != "model" && name != kWithStep))) continue;
      if (!with_step && name == kWithStep) continue;
      if (with_step) search->step = problem.step;
      auto checkpoints = measure(problem, *search, options.seeds, options.trials);
      HOCKET_TRY(checkpoints);
      lines.push_back(
          {problem.name, with_step ? std::string(kWithStep) : name, std::move(*checkpoints)});
      if (!options.json) print_line(lines.back());
    }
  }
  return {};
}

void print_ask_times_json(const Options& options) {
  MeasuredTable table("ask-times", {"space", "previous trials"});
  for (const auto& [space, trials, asks, median_ms, p99_ms] : measure_asks(options.seeds)) {
    const std::vector<std::string> row = {space, std::to_string(trials)};
    table.add(row, "median, ms", {median_ms});
    table.add(row, "p99, ms", {p99_ms});
  }
  table.print();
}

void print_ask_times(const Options& options) {
  if (options.json) return print_ask_times_json(options);
  std::printf("%-10s %7s %6s %11s %9s\n", "space", "trials", "asks", "median ms", "p99 ms");
  for (const auto& [space, trials, asks, median_ms, p99_ms] : measure_asks(options.seeds))
    std::printf("%-10s %7zu %6zu %11.2f %9.2f\n", space.c_str(), trials, asks, median_ms, p99_ms);
}

Result<void> run(const Options& options) {
  for (const auto& name : options.methods) {
    HOCKET_TRY(search_options(name));
  }
  std::vector<Problem> problems;
  for (const auto& path : options.tables) {
    auto problem = read_problem(path, options);
    HOCKET_TRY(problem);
    problems.push_back(std::move(*problem));
  }
  if (options.functions) {
    auto functions = function_problems();
    HOCKET_TRY(functions);
    for (auto& problem : *functions) problems.push_back(std::move(problem));
  }
  if (options.ask_times) {
    print_ask_times(options);
    if (problems.empty()) return {};
  }
  if (problems.empty()) {
    return failure(ErrorCode::invalid_argument, "name a table, or give --functions or --ask-times");
  }
  std::vector<Line> lines;
  if (!options.json) print_heading(options);
  for (const Problem& problem : problems) {
    if (auto ok = compare(options, problem, lines); !ok) return ok;
  }
  if (options.json) {
    auto document = nlohmann::json::array();
    for (const Line& line : lines) document.push_back(line_json(line));
    std::printf("%s\n", document.dump().c_str());
  } else if (problems.size() > 1) {
    print_overall(lines);
  }
  return {};
}

int benchmark_main(int argc, char** argv) {
  Options options;
  options.columns.objective_column = "iteration_ns";
  CLI::App program("the search methods against one another on recorded sweeps");
  program.add_option("TABLE", options.tables, "recorded sweeps (docs/formats/table.md)");
  program.add_flag("--functions", options.functions, "test functions of the literature, too");
  program.add_flag("--ask-times", options.ask_times, "how long the model takes to ask");
  program
      .add_option(
          "--methods", options.methods,
          "model, model+step (only with a step description), process (without the simulator), "
          "random, sobol, tpe, grid")
      ->delimiter(',')
      ->capture_default_str();
  program.add_option("--seeds", options.seeds, "searches of each table and method")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  program.add_option("--trials", options.trials, "of each search")
      ->check(CLI::Range(5, 10'000))
      ->capture_default_str();
  program.add_option("--step-suffix", options.step_suffix, "in place of .csv")
      ->capture_default_str();
  program.add_option("--truth-suffix", options.truth_suffix, "in place of .csv")
      ->capture_default_str();
  program.add_option("--objective-column", options.columns.objective_column, "of the tables")
      ->capture_default_str();
  program.add_option("--default", options.columns.default_setting, "COLUMN=VALUE,… of the tables");
  program.add_flag("--json", options.json, "print JSON");
  CLI11_PARSE(program, argc, argv);
  const auto ok = run(options);
  if (ok) return 0;
  std::fprintf(stderr, "tuner_benchmark: %s\n", ok.error().message.c_str());
  return 2;
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  return hocket::benchmark_main(argc, argv);
}
