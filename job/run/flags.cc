#include "job/run/flags.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "client/link/environment.h"
#include "core/base/text.h"

namespace hocket {
namespace {

/// Adds --profile-at and the options that need it.
void add_span_flags(CLI::App& app, RunOptions& options, CLI::Option* profile) {
  auto* const profile_at =
      app.add_option("--profile-at", options.profiled.first_step,
                     "Profile iterations from this step on, on all ranks, into the store (or "
                     "HOCKET_PROFILE=at=STEP,iterations=N,interleave=N)")
          ->check(CLI::Range(0, 1'000'000'000))
          ->excludes(profile);
  app.add_option("--profile-iterations", options.profiled.steps, "Iterations that are profiled")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, kMaxProfiledSteps))
      ->needs(profile_at);
  app.add_option("--profile-interleave", options.profiled.interleave,
                 "Profile this many in a row, with as many between that are not, and say what "
                 "profiling costs")
      ->check(CLI::Range(std::int64_t{1}, kMaxProfiledSteps))
      ->needs(profile_at);
}

/// Adds the options of a job that listens while it trains.
void add_live_flags(CLI::App& app, RunOptions& options, CLI::Option* profile) {
  auto* const on_request = app.add_flag(
      "--profile-on-request", options.profile_on_request,
      "Take requests of `hocket profile` out of the store; with --watch they come from the daemon");
  on_request->excludes(profile);
  auto* const watch = app.add_flag("--watch", options.watch,
                                   "Be tuned while training by the daemon that HOCKET_DAEMON names")
                          ->excludes(profile)
                          ->excludes(on_request);
  app.add_option_function<std::string>(
         "--explore",
         [&options](const std::string& text) {
           const auto share = parse_percent(text, 50);
           if (!share) throw CLI::ValidationError("--explore", share.error().message);
           options.explore = *share;
         },
         "Share of the training time that trying candidates may cost (3%)")
      ->needs(watch);
}

}  // namespace

void add_device_flags(CLI::App& app, DeviceOptions& options) {
  app.add_option("--device", options.device,
                 "Where to train: host, cuda, cuda:N, or emulated:SIZE[,link=RATE[,LATENCY]], a "
                 "device of so much memory beside the host")
      ->capture_default_str();
  app.add_option(
         "--offload-k", options.offload_k,
         "Layers that a device of limited memory keeps and updates: configured (offload_k of the "
         "configuration), auto (what first steps show to be best), or a number")
      ->capture_default_str();
}

void add_network_flags(CLI::App& app, NetworkOptions& options) {
  app.add_option("--link", options.link,
                 "Emulate this link of each rank: RATE[,LATENCY], like 500mbit,50us");
  app.add_option("--server-link", options.server_link,
                 "With --link: emulate this link of each parameter server; without it as --link");
  app.add_flag("--colocated-servers", options.colocated_servers,
               "With --link: parameter server s is on the host of rank s modulo the ranks, and "
               "shares its link");
  app.add_option("--timeout", options.timeout_seconds,
                 "Seconds after which a silent rank counts as gone")
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400));
}

void add_run_flags(CLI::App& app, RunOptions& options) {
  options.step = process_environment("HOCKET_STEP").value_or("");
  auto* const profile = app.add_option(
      "--profile", options.profile,
      "Train to profile a step, and write its description to this file; nothing else is printed");
  app.add_option("--step", options.step,
                 "Step description that order=static follows (or HOCKET_STEP); without one it "
                 "profiles the warm-up");
  app.add_option("--record", options.record,
                 "Write what the scheduler decides to this tape, on rank r > 0 to FILE.r")
      ->excludes(profile);
  add_span_flags(app, options, profile);
  app.add_option(
         "--profile-level", options.profile_level,
         "What profiles record of a device: L0 (kernels and copies), L1 (and what ties them "
         "to tasks) or L2 (and waits)")
      ->capture_default_str();
  add_live_flags(app, options, profile);
}

}  // namespace hocket
