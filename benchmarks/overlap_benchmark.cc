// Compares the whole job on a slow link in one run: FIFO without partitioning, the default, and
// tuned configurations, in turn within each round, with the bound T* of each round.
//
//   bin/overlap_benchmark [--link RATE] [--rounds N] [--config JSON]… [--json] [-- GPT2-ARGUMENTS…]
//
// The link is emulated (benchmarks/netns-overlap uses one that the kernel shapes). Prints a line
// for each configuration: the median iteration time and its spread over the rounds' medians, the
// speed relative to FIFO, T*/T, and the overlap efficiency; with --json the measurements of each
// round.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmarks/measured_table.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/statistics.h"
#include "core/protocol/job_report.h"
#include "core/step/schedule_config.h"
#include "tuner/trial/cancel.h"
#include "tuner/trial/process.h"

namespace hocket {
namespace {

struct Candidate {
  std::string name;
  ScheduleConfig config;
  std::vector<double> iteration_ns, bound_ns, efficiency, exposed_ns;
};

Result<void> measure(Candidate& candidate, const std::vector<std::string>& command) {
  const CancelToken cancel;
  const SteadyClock clock;
  ProcessOptions options;
  options.argv = command;
  options.environment["HOCKET_CONFIG"] = to_json(candidate.config).dump();
  options.time_limit_ns = 300'000'000'000;
  const auto process = run_process(options, clock, cancel);
  HOCKET_TRY(process);
  if (!process->succeeded()) {
    return failure(ErrorCode::unavailable, describe_end(*process) + ": " + process->stderr_text);
  }
  const auto report = parse_report(process->stdout_text);
  HOCKET_TRY(report);
  const auto document = parse_object(process->stdout_text, "report").value();
  std::vector<double> wall, exposed;
  for (const Iteration& iteration : report->iterations) {
    wall.push_back(static_cast<double>(iteration.wall_ns));
    exposed.push_back(static_cast<double>(iteration.exposed_ns));
  }
  candidate.iteration_ns.push_back(median(wall));
  candidate.exposed_ns.push_back(median(exposed));
  candidate.bound_ns.push_back(document.value("bound_ns", 0.0));
  candidate.efficiency.push_back(document.value("overlap_efficiency", 0.0));
  return {};
}

void print(const Candidate& c, const Candidate& fifo) {
  std::vector<double> speed_up, of_bound;
  for (std::size_t i = 0; i < c.iteration_ns.size(); ++i) {
    speed_up.push_back(fifo.iteration_ns[i] / c.iteration_ns[i]);
    of_bound.push_back(c.bound_ns[i] / c.iteration_ns[i]);
  }
  std::printf(
      "%-22s %8.1f ms ± %5.1f   exposed %7.1f ms   %5.2f× over FIFO ± %.2f   T* %7.1f ms, T*/T "
      "%.3f ± %.3f   η %.3f\n",
      c.name.c_str(), median(c.iteration_ns) / 1e6, spread(c.iteration_ns) / 1e6,
      median(c.exposed_ns) / 1e6, median(speed_up), spread(speed_up), median(c.bound_ns) / 1e6,
      median(of_bound), spread(of_bound), median(c.efficiency));
}

void print_json(const std::vector<Candidate>& candidates) {
  MeasuredTable table("overlap", {"configuration"},
                      MeasuredPeer{.label = candidates.front().name,
                                   .column = "iteration, ms",
                                   .title = "over FIFO",
                                   .is_speed = true});
  for (const Candidate& candidate : candidates) {
    std::vector<double> of_bound;
    for (std::size_t i = 0; i < candidate.iteration_ns.size(); ++i)
      of_bound.push_back(candidate.bound_ns[i] / candidate.iteration_ns[i]);
    const std::vector<std::string> row = {candidate.name};
    table.add(row, "iteration, ms", in_unit(candidate.iteration_ns, 1e6));
    table.add(row, "exposed communication, ms", in_unit(candidate.exposed_ns, 1e6));
    table.add(row, "T*/T", of_bound);
  }
  table.print();
}

std::string describe_bytes(std::int64_t bytes) {
  return bytes % (1 << 20) == 0 ? std::to_string(bytes >> 20) + " MiB"
                                : std::to_string(bytes >> 10) + " KiB";
}

/// Returns partition, credit, channels and order: the name of a row.
std::string describe(const ScheduleConfig& config) {
  return describe_bytes(config.partition_bytes) + ", " + describe_bytes(config.credit_bytes) +
         ", " + std::to_string(config.comm_channels) +
         (config.comm_channels == 1 ? " channel, " : " channels, ") +
         std::string(to_string(config.order));
}

struct Options {
  int rounds = 5;
  std::string link = "500mbit";
  std::vector<std::string> configs, arguments;
  bool json = false;
};

Result<void> run(const Options& options) {
  const auto& [rounds, link, configs, arguments, json] = options;
  const std::string here = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  std::vector<std::string> command = {here + "/hocket", "run",    "--ranks", "2", "--",
                                      here + "/gpt2",   "--json", "--link",  link};
  command.insert(command.end(), arguments.begin(), arguments.end());

  // Without partitioning, a part may be as large as any tensor, and all parts may be in flight.
  ScheduleConfig unpartitioned;
  unpartitioned.partition_bytes = 1 << 30;
  unpartitioned.credit_bytes = std::int64_t{16} << 30;
  std::vector<Candidate> candidates = {{"FIFO, unpartitioned", unpartitioned, {}, {}, {}, {}},
                                       {"default", {}, {}, {}, {}, {}}};
  for (const std::string& text : configs) {
    const auto tuned = parse_schedule_config(text);
    HOCKET_TRY(tuned);
    const std::string number =
        configs.size() == 1 ? "" : " " + std::to_string(candidates.size() - 1);
    const std::string name = json ? describe(*tuned) : "tuned" + number;
    candidates.push_back({name, *tuned, {}, {}, {}, {}});
  }
  for (int round = 0; round < rounds; ++round) {
    for (Candidate& candidate : candidates) {
      if (auto ok = measure(candidate, command); !ok) return ok;
    }
  }
  if (json) return print_json(candidates), Result<void>();
  std::printf("two ranks of gpt2 on an emulated link of %s, %d rounds\n", link.c_str(), rounds);
  for (std::size_t i = 2; i < candidates.size(); ++i) {
    std::printf("%s = %s\n", candidates[i].name.c_str(),
                to_json(candidates[i].config).dump().c_str());
  }
  for (const Candidate& candidate : candidates) print(candidate, candidates.front());
  return {};
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::Options options;
  hocket::ScheduleConfig usual;
  usual.partition_bytes = 1 << 20;
  usual.credit_bytes = 4 << 20;
  usual.comm_channels = 2;
  usual.order = hocket::CollectiveOrder::static_order;
  options.configs = {hocket::to_json(usual).dump()};
  CLI::App app("The GPT-2 job under FIFO, the default and tuned configurations, against the bound");
  app.add_option("--rounds", options.rounds)->capture_default_str()->check(CLI::Range(1, 1000));
  app.add_option("--link", options.link, "Emulated link: RATE[,LATENCY]")->capture_default_str();
  app.add_flag("--json", options.json, "Print measurements for benchmarks/table");
  app.add_option("--config", options.configs, "Tuned configuration as JSON; repeat it for several")
      ->allow_extra_args(false)
      ->capture_default_str();
  app.add_option("arguments", options.arguments, "Passed on to gpt2");
  CLI11_PARSE(app, argc, argv);
  const auto ok = hocket::run(options);
  if (!ok) std::fprintf(stderr, "overlap_benchmark: %s\n", ok.error().message.c_str());
  return ok ? 0 : 1;
}
