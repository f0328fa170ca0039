// Measures what `hocket tune --workers N` gains: the time until a search has found a setting within
// 20, 10 and 5 % of the optimum, and the time of the whole search, by one and by several workers,
// and by `hocket tune` without workers.
//
//   bin/parallel_workers [--seeds 10] [--trials 24] [--workers 1,2,4] [--store URI] [--json]
//
// Each search is a process `hocket` with a store of its own, and each trial a process that sleeps
// for the time that it reports (benchmarks/tuner/sleeping_job.h). Every seed has an optimum of its
// own; with it each way of running is measured, in an order that rotates from seed to seed. Times
// are read from the store and count from the study's creation. Ratios are to one worker with the
// same seed; the time to a goal that a search did not reach is infinite. Percentages are of the
// bound that remains for trials of these lengths when no worker ever waits: the default, which
// runs alone, and the other trials divided by the workers. With --store URI all studies are in one
// store.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/tuner/sleeping_job.h"
#include "core/base/clock.h"
#include "core/files/scratch_folder.h"
#include "store/open.h"
#include "tuner/trial/cancel.h"
#include "tuner/trial/process.h"

namespace hocket {
namespace {

constexpr std::array<double, 3> kRegrets = {0.2, 0.1, 0.05};
constexpr std::int64_t kTimeLimitNs = 600'000'000'000;

struct Options {
  std::uint64_t seeds = 10, seed = 1;
  std::int64_t trials = 24;
  std::vector<std::int64_t> workers = {1, 2, 4};
  double fastest_s = 0.3, slowest_s = 1.2;
  std::string store;
  bool no_plain = false, json = false;
};

/// When a search came so close to the optimum.
struct Reached {
  double time_s = 0;
  double trials = 0;  ///< that had ended by then
};

struct Run {
  std::array<std::optional<Reached>, kRegrets.size()> reached;
  double search_s = 0;
  double bound_s = 0;  ///< of the same trials when no worker ever waits
};

/// A way of running a study.
struct Way {
  std::optional<std::int64_t> workers;  ///< nothing: `hocket tune` without --workers
  std::vector<Run> runs = {};           ///< by seed

  std::string name() const {
    if (!workers) return "no --workers";
    return std::to_string(*workers) + (*workers == 1 ? " worker" : " workers");
  }
};

std::string own_path() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

std::vector<std::string> tune_command(const Options& options, const Way& way, std::uint64_t seed,
                                      const std::string& study, const std::string& store) {
  const std::string program = std::filesystem::path(own_path()).parent_path() / "hocket";
  std::vector<std::string> argv = {program,
                                   "tune",
                                   "--store",
                                   store,
                                   "--study",
                                   study,
                                   "--seed",
                                   std::to_string(seed),
                                   "--trials",
                                   std::to_string(options.trials),
                                   "--confirm",
                                   "0",
                                   "--all-trials",
                                   "--full-trials",
                                   "--no-transfer",
                                   "--objective",
                                   "regex:time_s=([0-9.]+)"};
  const auto add = [&](const char* option, const std::string& value) {
    argv.insert(argv.end(), {option, value});
  };
  for (const auto& param : SleepingJob::params()) add("--param", param);
  for (const auto& value : SleepingJob::defaults()) add("--default", value);
  if (way.workers) add("--workers", std::to_string(*way.workers));
  argv.insert(argv.end(), {"--", own_path(), "job"});
  add("--seed", std::to_string(seed));
  add("--fastest-s", std::to_string(options.fastest_s));
  add("--slowest-s", std::to_string(options.slowest_s));
  argv.insert(argv.end(), {"{batch}", "{threads}", "{depth}"});
  return argv;
}

Result<void> tune(const std::vector<std::string>& argv) {
  const CancelToken cancel;
  const SteadyClock clock;
  ProcessOptions options;
  options.argv = argv;
  options.time_limit_ns = kTimeLimitNs;
  const auto process = run_process(options, clock, cancel);
  HOCKET_TRY(process);
  // 3: the default stays, since nothing was confirmed.
  if (process->succeeded() || (process->signal == 0 && process->exit_status == 3)) return {};
  return failure(ErrorCode::unavailable,
                 "hocket tune: " + describe_end(*process) + ": " + process->stderr_text);
}

Result<Run> read_run(const Options& options, const Way& way, const std::string& study,
                     const std::string& store_name) {
  const auto store = open_store(store_name, {.read_only = true});
  HOCKET_TRY(store);
  const auto row = (*store)->study(study);
  HOCKET_TRY(row);
  auto trials = (*store)->trials(row->id, TrialDetail::summary);
  HOCKET_TRY(trials);
  Run run;
  double others_s = 0;
  for (const TrialRow& trial : *trials) {
    if (!trial.value || !trial.finished_at_ns)
      return failure(ErrorCode::unavailable, "trial " + std::to_string(trial.number) + " failed");
    (trial.number == 1 ? run.bound_s : others_s) += *trial.value;
  }
  run.bound_s += others_s / static_cast<double>(way.workers.value_or(1));
  std::ranges::sort(*trials, {}, [](const TrialRow& trial) { return *trial.finished_at_ns; });
  double ended = 0;
  for (const TrialRow& trial : *trials) {
    ++ended;
    run.search_s = static_cast<double>(*trial.finished_at_ns - row->created_at_ns) / 1e9;
    for (std::size_t i = 0; i < kRegrets.size(); ++i) {
      // The job prints nine digits.
      if (!run.reached[i] && *trial.value <= options.fastest_s * (1 + kRegrets[i]) + 1e-9)
        run.reached[i] = Reached{run.search_s, ended};
    }
  }
  return run;
}

Result<Run> measure(const Options& options, const Way& way, std::uint64_t seed) {
  const auto folder = ScratchFolder::make();
  HOCKET_TRY(folder);
  const std::string store = options.store.empty() ? folder->path() + "/hocket.db" : options.store;
  const std::string study = "parallel-" + std::to_string(getpid()) + "-" + std::to_string(seed) +
                            "-" + (way.workers ? std::to_string(*way.workers) : "plain");
  HOCKET_TRY(tune(tune_command(options, way, seed, study, store)));
  auto run = read_run(options, way, study, store);
  if (!run) return failure(run.error().in("study " + study));
  return run;
}

/// Returns "MEDIAN UNIT (LEAST to MOST)"; an infinite value is "inf".
std::string summary(std::vector<double> values, const char* unit) {
  if (values.empty()) return "-";
  std::ranges::sort(values);
  const auto text = [](double value, const char* suffix) {
    char number[32];
    std::snprintf(number, sizeof number, "%.2f%s", value, suffix);
    return std::string(number);
  };
  // The mean of two middle values, one of which may be infinite.
  const double middle = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
  return text(middle, unit) + " (" + text(values.front(), "") + " to " + text(values.back(), "") +
         ")";
}

/// Returns what `value` makes of each run of `way`, when it reached a goal, or for the last goal at
/// its end; infinity where it did not.
template <typename Value>
std::vector<double> values_of(const Way& way, std::size_t goal, const Value& value) {
  std::vector<double> values;
  for (const Run& run : way.runs) {
    const auto reached = goal == kRegrets.size() ? Reached{run.search_s, 0} : run.reached[goal];
    values.push_back(reached ? value(*reached) : std::numeric_limits<double>::infinity());
  }
  return values;
}

/// Returns how many times faster `way` was than `base` with each seed: 0 where only `base` reached
/// the goal. Seeds with which neither did are left out.
std::vector<double> ratios(const std::vector<double>& base, const std::vector<double>& way) {
  std::vector<double> found;
  for (std::size_t i = 0; i < way.size(); ++i) {
    if (std::isfinite(base[i]) || std::isfinite(way[i])) found.push_back(base[i] / way[i]);
  }
  return found;
}

double bound_of_equal_trials(const Options& options, std::int64_t workers) {
  const auto trials = static_cast<double>(options.trials);
  return trials / (1 + (trials - 1) / static_cast<double>(workers));
}

/// Returns the shares of the bound that the runs of `way` attained.
std::vector<double> shares_of_bound(const Way& way) {
  std::vector<double> shares;
  for (const Run& run : way.runs) shares.push_back(100 * run.bound_s / run.search_s);
  return shares;
}

void print_heading(const char* title, bool has_search) {
  std::printf("\n%-18s", title);
  for (const double regret : kRegrets) std::printf(" %19s%2.0f %%", "", 100 * regret);
  std::printf(has_search ? " %23s\n" : "%s\n", has_search ? "whole search" : "");
}

template <typename Cell>
void print_rows(const std::vector<Way>& ways, std::size_t goals, const Cell& cell) {
  for (const Way& way : ways) {
    std::printf("%-18s", way.name().c_str());
    for (std::size_t goal = 0; goal < goals; ++goal) std::printf(" %23s", cell(way, goal).c_str());
    std::printf("\n");
  }
}

void print_tables(const Options& options, const std::vector<Way>& ways) {
  const auto time = [](const Reached& reached) { return reached.time_s; };
  const auto trials = [](const Reached& reached) { return reached.trials; };
  std::printf("%llu seeds, %lld trials of %.2f s (optimum) to %.2f s; medians (least to most)\n",
              static_cast<unsigned long long>(options.seeds),
              static_cast<long long>(options.trials), options.fastest_s, options.slowest_s);
  print_heading("time to", true);
  print_rows(ways, kRegrets.size() + 1, [&](const Way& way, std::size_t goal) {
    return summary(values_of(way, goal, time), " s");
  });
  print_heading("trials to", false);
  print_rows(ways, kRegrets.size(), [&](const Way& way, std::size_t goal) {
    return summary(values_of(way, goal, trials), "");
  });
  print_heading("seeds that got to", false);
  print_rows(ways, kRegrets.size(), [&](const Way& way, std::size_t goal) {
    const auto times = values_of(way, goal, time);
    return std::to_string(std::ranges::count_if(times, [](double t) { return std::isfinite(t); }));
  });
  const auto one = std::ranges::find(ways, std::optional<std::int64_t>(1), &Way::workers);
  if (one != ways.end()) {
    print_heading("faster than 1", true);
    print_rows(ways, kRegrets.size() + 1, [&](const Way& way, std::size_t goal) {
      return summary(ratios(values_of(*one, goal, time), values_of(way, goal, time)), "x");
    });
  }
  std::printf("\n%-18s %20s %30s\n", "", "bound (equal trials)", "attained of the trials' bound");
  for (const Way& way : ways) {
    std::printf("%-18s %19.2fx %30s\n", way.name().c_str(),
                bound_of_equal_trials(options, way.workers.value_or(1)),
                summary(shares_of_bound(way), " %").c_str());
  }
}

void print_json(const Options& options, const std::vector<Way>& ways) {
  nlohmann::json document = {{"seeds", options.seeds},
                             {"trials", options.trials},
                             {"fastest_s", options.fastest_s},
                             {"slowest_s", options.slowest_s}};
  for (const Way& way : ways) {
    nlohmann::json runs = nlohmann::json::array();
    for (const Run& run : way.runs) {
      nlohmann::json reached = nlohmann::json::array();
      for (std::size_t i = 0; i < kRegrets.size(); ++i) {
        if (!run.reached[i]) continue;
        reached.push_back({{"regret", kRegrets[i]},
                           {"time_s", run.reached[i]->time_s},
                           {"trials", run.reached[i]->trials}});
      }
      runs.push_back({{"search_s", run.search_s}, {"bound_s", run.bound_s}, {"reached", reached}});
    }
    document["ways"].push_back({{"name", way.name()}, {"runs", runs}});
  }
  std::printf("%s\n", document.dump().c_str());
}

Result<void> compare(const Options& options) {
  std::vector<Way> ways;
  if (!options.no_plain) ways.push_back({});
  for (const std::int64_t count : options.workers) ways.push_back({count});
  for (std::uint64_t i = 0; i < options.seeds; ++i) {
    for (std::size_t place = 0; place < ways.size(); ++place) {
      Way& way = ways[(place + i) % ways.size()];
      auto run = measure(options, way, options.seed + i);
      HOCKET_TRY(run);
      std::fprintf(stderr, "seed %llu, %s: %.2f s\n",
                   static_cast<unsigned long long>(options.seed + i), way.name().c_str(),
                   run->search_s);
      way.runs.push_back(std::move(*run));
    }
  }
  options.json ? print_json(options, ways) : print_tables(options, ways);
  return {};
}

void run_job(const Options& options, const SleepingJob::Setting& setting) {
  const SleepingJob job({options.fastest_s, options.slowest_s, options.seed});
  const double seconds = job.seconds(setting);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  std::printf("time_s=%.9f\n", seconds);
}

void add_job_options(CLI::App& app, Options& options) {
  app.add_option("--seed", options.seed, "Of the optimum and the search")->capture_default_str();
  app.add_option("--fastest-s", options.fastest_s, "Seconds at the optimum")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--slowest-s", options.slowest_s, "Seconds at the worst setting")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::Options options;
  hocket::SleepingJob::Setting setting = {};
  CLI::App app("Measures what several workers of a study gain");
  app.add_option("--seeds", options.seeds, "How many, from --seed on")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--trials", options.trials, "Of a search")
      ->capture_default_str()
      ->check(CLI::Range(2, 10'000));
  app.add_option("--workers", options.workers, "Numbers of workers")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::Range(1, 1000));
  app.add_option("--store", options.store,
                 "A file or a URI for all studies (default: a file each)");
  app.add_flag("--no-plain", options.no_plain, "Leave out hocket tune without --workers");
  app.add_flag("--json", options.json, "Print one JSON object");
  hocket::add_job_options(app, options);
  auto* job = app.add_subcommand("job", "Runs one trial");
  job->add_option("batch", setting[0])->required();
  job->add_option("threads", setting[1])->required();
  job->add_option("depth", setting[2])->required();
  hocket::add_job_options(*job, options);
  CLI11_PARSE(app, argc, argv);
  if (job->parsed()) {
    hocket::run_job(options, setting);
    return 0;
  }
  const auto ok = hocket::compare(options);
  if (!ok) std::fprintf(stderr, "parallel_workers: %s\n", ok.error().message.c_str());
  return ok ? 0 : 1;
}
