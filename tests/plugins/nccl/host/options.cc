#include "tests/plugins/nccl/host/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace hocket::nccl_host {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Workload load_workload(const std::string& name, int ranks) {
  std::string text = built_in_workload(name, ranks);
  if (text.empty()) {
    std::ifstream file(name);
    if (!file) throw std::invalid_argument("no built-in workload and no file: " + name);
    std::ostringstream all;
    all << file.rdbuf();
    text = all.str();
  }
  return parse_workload(text);
}

/// Returns whether `name` is ALGORITHM or ALGORITHM/PROTOCOL for the two.
bool matches(const std::string& name, int algorithm, int protocol) {
  const std::string whole = algorithm_name(algorithm);
  return name == whole || name == whole + "/" + protocol_name(protocol);
}

void set_allowed(ModelOptions& model, const std::string& name, bool allowed) {
  bool found = false;
  for (int a = 0; a < kAlgorithms; ++a) {
    for (int p = 0; p < kProtocols; ++p) {
      if (!matches(name, a, p)) continue;
      model.allowed[a][p] = allowed;
      found = true;
    }
  }
  if (!found) throw std::invalid_argument("no algorithm or algorithm/protocol: " + name);
}

/// Decisions of one rank in a whole run, to spread faults over; groups count as their collectives.
std::uint64_t decisions(const Options& options) {
  std::uint64_t each = 0;
  for (const Step& step : options.workload.iteration) each += step.kind == StepKind::collective;
  return each * options.iterations;
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& status) {
  Options options;
  options.tuner = environment("NCCL_TUNER_PLUGIN");
  options.profiler = environment("NCCL_PROFILER_PLUGIN");
  std::vector<std::string> allow, forbid, kills, stops, extra_calls, no_plugins, unevens;
  std::string late, truth = "hidden", fault_kinds = "stop,extra-call";
  int fault_count = 0;
  std::uint64_t model_seed = options.model.seed;

  CLI::App app("Drives NCCL tuner and profiler plugins as NCCL does, without a GPU");
  app.add_option("--ranks", options.ranks)->check(CLI::Range(1, 1024));
  app.add_option("--nodes", options.nodes)->check(CLI::Range(1, 1024));
  app.add_option("--tuner", options.tuner, "value of NCCL_TUNER_PLUGIN");
  app.add_option("--profiler", options.profiler, "value of NCCL_PROFILER_PLUGIN");
  app.add_option("--tuner-version", options.tuner_version)->check(CLI::Range(4, 6));
  app.add_option("--profiler-version", options.profiler_version)->check(CLI::Range(4, 6));
  app.add_option("--workload", options.workload_name,
                 "ddp, fsdp, small, two-comms, edge or a file");
  app.add_option("--iterations", options.iterations)->check(CLI::NonNegativeNumber);
  app.add_option("--seed", options.seed, "of noise and random faults");
  app.add_option("--model-seed", model_seed, "of the difference between prediction and truth");
  app.add_option("--truth", truth)->check(CLI::IsMember({"hidden", "predicted"}));
  app.add_option("--channels", options.model.max_channels)->check(CLI::Range(1, 64));
  app.add_option("--allow", allow, "ALGORITHM[/PROTOCOL] that is off by default")->delimiter(',');
  app.add_option("--forbid", forbid, "ALGORITHM[/PROTOCOL]")->delimiter(',');
  app.add_option("--slowdown", options.model.slowdown, "of computation for each busy channel");
  app.add_option("--noise", options.noise);
  app.add_option("--late", late, "RANK:US by which a rank is late");
  app.add_option("--scale", options.scale, "real by modelled time; 0: no pauses")
      ->check(CLI::NonNegativeNumber)
      ->take_last();
  app.add_option("--run-ahead", options.run_ahead)->check(CLI::NonNegativeNumber);
  app.add_option("--proxy-lag", options.proxy_lag)->check(CLI::Range(0, 60));
  app.add_option("--connect-us", options.connect_us)->check(CLI::NonNegativeNumber);
  app.add_option("--event-us", options.event_us, "cost of an event of a collective")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--registered", options.registered);
  app.add_option("--kill", kills, "RANK@CALL");
  app.add_option("--stop", stops, "RANK@CALL:MS");
  app.add_option("--extra-call", extra_calls, "RANK@CALL");
  app.add_option("--no-plugin", no_plugins, "RANK");
  app.add_option("--uneven", unevens, "RANK");
  app.add_option("--faults", fault_count, "number of random faults");
  app.add_option("--fault-kinds", fault_kinds, "of random faults");
  app.add_option("--limit", options.limit_s, "seconds");
  app.add_option("--abort-ms", options.abort_ms);
  app.add_option("--json", options.json_path, "file for the result");
  app.add_flag("!--no-details", options.details);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? 0 : 2;
    return std::nullopt;
  }

  try {
    options.model.seed = model_seed;
    options.model.truth_is_hidden = truth == "hidden";
    if (options.nodes > options.ranks) throw std::invalid_argument("more nodes than ranks");
    for (const auto& name : allow) set_allowed(options.model, name, true);
    for (const auto& name : forbid) set_allowed(options.model, name, false);
    const auto& ring = options.model.allowed[kRing];
    if (std::count(std::begin(ring), std::end(ring), true) == 0) {
      throw std::invalid_argument("RING must be allowed with a protocol");
    }
    options.workload = load_workload(options.workload_name, options.ranks);
    if (fault_count > 0) {
      options.faults =
          random_faults(fault_kinds, fault_count, options.seed, options.ranks, decisions(options));
    }
    const auto add = [&](FaultKind kind, const std::vector<std::string>& texts) {
      for (const auto& text : texts) options.faults.push_back(parse_fault(kind, text));
    };
    add(FaultKind::kill, kills);
    add(FaultKind::stop, stops);
    add(FaultKind::extra_call, extra_calls);
    add(FaultKind::no_plugin, no_plugins);
    add(FaultKind::uneven, unevens);
    for (const Fault& fault : options.faults) {
      if (fault.rank >= options.ranks)
        throw std::invalid_argument("no rank for " + to_string(fault));
    }
    if (!late.empty()) {
      std::istringstream in(late);
      char colon = 0;
      if (!(in >> options.late_rank >> colon >> options.late_us) || colon != ':') {
        throw std::invalid_argument("--late is RANK:US");
      }
    }
  } catch (const std::invalid_argument& error) {
    std::cerr << "nccl_host: " << error.what() << "\n";
    status = 2;
    return std::nullopt;
  }
  return options;
}

}  // namespace hocket::nccl_host
