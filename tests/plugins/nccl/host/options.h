#pragma once

// The program's options. One thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/plugins/nccl/host/faults.h"
#include "tests/plugins/nccl/host/model/cost_model.h"
#include "tests/plugins/nccl/host/model/workload.h"

namespace hocket::nccl_host {

struct Options {
  int ranks = 2, nodes = 1;
  std::string tuner, profiler;
  int tuner_version = 5, profiler_version = 5;
  std::string workload_name = "ddp";
  int iterations = 100;
  std::uint64_t seed = 1;

  ModelOptions model = {};
  double noise = 0;  ///< standard deviation of the logarithm of each duration
  int late_rank = -1;
  double late_us = 0;        ///< how much later `late_rank` starts each collective
  double scale = 1;          ///< real time by modelled time; 0: as fast as possible
  int run_ahead = 64;        ///< steps that a rank enqueues before they run; 0: none
  int proxy_lag = 2;         ///< collectives by which events of kernels are late
  double connect_us = 2000;  ///< duration of the first use of an algorithm
  double event_us = 0;       ///< what each event of a collective costs the thread that calls
  bool registered = false;   ///< buffers are registered

  std::vector<Fault> faults = {};
  double limit_s = 120;
  int abort_ms = 500;  ///< after a rank's death, until the others give up
  std::string json_path;
  bool details = true;  ///< the settings of each collective in the result

  Workload workload = {};  ///< follows from the name
};

/// Returns the options, or nothing after printing help or an error, with `status` to exit with.
std::optional<Options> parse_options(int argc, char** argv, int& status);

}  // namespace hocket::nccl_host
