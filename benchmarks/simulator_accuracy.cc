// Compares the host executor with the simulator: iteration times of the GPT-2 example on an
// emulated link, measured with many configurations in turn within each round, and predicted from
// one profile recorded first.
//
//   bin/simulator_accuracy [--link RATE] [--rounds N] [--json] [-- GPT2-ARGUMENTS…]
//
// Prints for each configuration the median iteration time with the spread over the rounds' medians,
// the prediction and its error; then the median absolute error and Kendall's τ-b between
// measurements and predictions.

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/statistics.h"
#include "core/description/step_description.h"
#include "core/protocol/job_report.h"
#include "core/sim/simulator.h"
#include "core/step/schedule_config.h"
#include "tuner/trial/cancel.h"
#include "tuner/trial/process.h"

namespace hocket {
namespace {

struct Options {
  int rounds = 3;
  int steps = 12;
  int profile_steps = 48;
  std::string link = "500mbit,500us";
  std::string step = "simulator_accuracy-step.json";
  bool json = false;
  std::vector<std::string> arguments;
};

struct Case {
  ScheduleConfig config;
  std::vector<double> measured_ns;  ///< median iteration time of each round
  double predicted_ns = 0;

  double error() const { return predicted_ns / median(measured_ns) - 1; }
};

/// Returns the configurations: part sizes from those that are mostly overhead to uncut gradients
/// (the model's largest have 2 MiB), and credit from one part per channel to half a step; each
/// under every order and number of channels.
std::vector<Case> cases() {
  struct Size {
    std::int64_t partition_bytes, credit_bytes_a_channel;
  };
  constexpr Size kSizes[] = {
      {256 << 10, 256 << 10}, {512 << 10, 4 << 20}, {1 << 20, 1 << 20}, {16 << 20, 2 << 20}};
  constexpr CollectiveOrder kOrders[] = {CollectiveOrder::fifo, CollectiveOrder::static_order,
                                         CollectiveOrder::negotiated};
  std::vector<Case> cases;
  for (const Size& size : kSizes) {
    for (const CollectiveOrder order : kOrders) {
      for (const int channels : {1, 2}) {
        Case& added = cases.emplace_back();
        added.config.partition_bytes = size.partition_bytes;
        added.config.credit_bytes = size.credit_bytes_a_channel * channels;
        added.config.comm_channels = channels;
        added.config.order = order;
      }
    }
  }
  return cases;
}

/// Runs two ranks of gpt2 and returns their output.
Result<std::string> run_job(const Options& options, const std::vector<std::string>& arguments,
                            const std::map<std::string, std::string>& environment) {
  const std::string here = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  const CancelToken cancel;
  const SteadyClock clock;
  ProcessOptions process_options;
  process_options.argv = {here + "/hocket", "run",    "--ranks", "2",         "--",
                          here + "/gpt2",   "--json", "--link",  options.link};
  for (const auto* added : {&arguments, &options.arguments})
    process_options.argv.insert(process_options.argv.end(), added->begin(), added->end());
  process_options.environment = environment;
  process_options.time_limit_ns = 300'000'000'000;
  auto process = run_process(process_options, clock, cancel);
  HOCKET_TRY(process);
  if (process->succeeded()) return std::move(process->stdout_text);
  return failure(ErrorCode::unavailable, describe_end(*process) + ": " + process->stderr_text);
}

std::map<std::string, std::string> environment(const Options& options,
                                               const ScheduleConfig& config) {
  return {{"HOCKET_CONFIG", to_json(config).dump()}, {"HOCKET_STEP", options.step}};
}

Result<StepDescription> profile(const Options& options) {
  HOCKET_TRY(run_job(options,
                     {"--steps", std::to_string(options.profile_steps), "--profile", options.step},
                     environment(options, {})));
  const auto text = read_file(options.step);
  HOCKET_TRY(text);
  return parse_step_description(*text);
}

Result<void> measure(const Options& options, Case& measured) {
  const auto output = run_job(options, {"--steps", std::to_string(options.steps)},
                              environment(options, measured.config));
  HOCKET_TRY(output);
  const auto report = parse_report(*output);
  HOCKET_TRY(report);
  std::vector<double> wall_ns;
  for (const Iteration& iteration : report->iterations)
    wall_ns.push_back(static_cast<double>(iteration.wall_ns));
  measured.measured_ns.push_back(median(wall_ns));
  return {};
}

struct Agreement {
  double median_error = 0;
  double tau = 0;
};

Agreement agreement(const std::vector<Case>& cases) {
  std::vector<double> measured, predicted, errors;
  for (const Case& c : cases) {
    measured.push_back(median(c.measured_ns));
    predicted.push_back(c.predicted_ns);
    errors.push_back(std::abs(c.error()));
  }
  return {median(errors), kendall_tau_b(measured, predicted)};
}

void print_json(const Options& options, const std::vector<Case>& cases) {
  const Agreement all = agreement(cases);
  nlohmann::json document = {{"link", options.link},
                             {"rounds", options.rounds},
                             {"median_error", all.median_error},
                             {"kendall_tau_b", all.tau}};
  for (const Case& c : cases) {
    document["configurations"].push_back({{"config", to_json(c.config)},
                                          {"measured_ns", c.measured_ns},
                                          {"predicted_ns", c.predicted_ns},
                                          {"error", c.error()}});
  }
  std::printf("%s\n", document.dump().c_str());
}

void print_table(const Options& options, const std::vector<Case>& cases) {
  std::printf("two ranks of gpt2 on an emulated link of %s, %d rounds\n", options.link.c_str(),
              options.rounds);
  std::printf("%12s %12s %8s %-10s %20s %12s %8s\n", "partition", "credit", "channels", "order",
              "measured", "predicted", "error");
  for (const Case& c : cases) {
    std::printf("%8lld KiB %8lld KiB %8d %-10s %9.1f ms ± %4.1f %9.1f ms %+6.1f %%\n",
                static_cast<long long>(c.config.partition_bytes >> 10),
                static_cast<long long>(c.config.credit_bytes >> 10), c.config.comm_channels,
                std::string(to_string(c.config.order)).c_str(), median(c.measured_ns) / 1e6,
                spread(c.measured_ns) / 1e6, c.predicted_ns / 1e6, 100 * c.error());
  }
  const Agreement all = agreement(cases);
  std::printf("median absolute error %.1f %%, Kendall's τ-b %.2f over %zu configurations\n",
              100 * all.median_error, all.tau, cases.size());
}

Result<void> run(const Options& options) {
  const auto step = profile(options);
  HOCKET_TRY(step);
  std::vector<Case> all = cases();
  for (Case& c : all) {
    const auto predicted = simulate(*step, {.config = c.config});
    HOCKET_TRY(predicted);
    c.predicted_ns = static_cast<double>(predicted->iteration_ns);
  }
  for (int round = 0; round < options.rounds; ++round) {
    for (Case& c : all) {
      if (auto ok = measure(options, c); !ok) return ok;
    }
  }
  options.json ? print_json(options, all) : print_table(options, all);
  return {};
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::Options options;
  CLI::App app("Iteration times of the GPT-2 job: measured, and predicted from one profile");
  app.add_option("--rounds", options.rounds)->capture_default_str()->check(CLI::Range(1, 1000));
  app.add_option("--steps", options.steps, "Training steps of a measured run")
      ->capture_default_str();
  app.add_option("--profile-steps", options.profile_steps, "Training steps of the profile")
      ->capture_default_str();
  app.add_option("--link", options.link, "Emulated link: RATE[,LATENCY]")->capture_default_str();
  app.add_option("--step", options.step, "Where the step description is written")
      ->capture_default_str();
  app.add_flag("--json", options.json, "Print one JSON object");
  app.add_option("arguments", options.arguments, "Passed on to gpt2");
  CLI11_PARSE(app, argc, argv);
  const auto ok = hocket::run(options);
  if (!ok) std::fprintf(stderr, "simulator_accuracy: %s\n", ok.error().message.c_str());
  return ok ? 0 : 1;
}
