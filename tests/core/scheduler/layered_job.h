#pragma once

// A training job of a few layers for tests of the scheduler.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "core/host/host_executor.h"
#include "core/scheduler/scheduler.h"

namespace hocket {

inline void spin(std::uint64_t turns) {
  for (std::atomic<std::uint64_t> i = 0; i < turns; ++i) {
  }
}

/// A simulated training job: each layer's gradient is computed from its parameters, summed over the
/// ranks, and added to the parameters. Returns the parameters after the last step.
struct LayeredJob {
  int layers = 6, steps = 5;
  std::size_t values = 3000;
  std::uint64_t timing_seed = 0;
  /// Order of collectives; used for order=static only.
  std::optional<std::vector<std::uint32_t>> static_order = {};
  /// Captures the step once and launches it.
  bool captures = false;
  /// Longest delay, as a sleep, so that other threads run meanwhile; 0: short spins.
  std::int64_t sleep_us = 0;
  /// Parameter servers for the executor; may be null.
  ParameterServers* servers = nullptr;
  /// If not null, the configuration of the odd steps, and of the even ones `config`.
  const ScheduleConfig* odd = nullptr;

  std::vector<std::vector<float>> run(const ScheduleConfig& config, Collective& collective,
                                      Result<void>* outcome = nullptr) const {
    SteadyClock clock;
    const auto n = static_cast<std::size_t>(layers);
    std::vector<std::vector<float>> parameters(n, std::vector<float>(values, 1)),
        gradients = parameters;
    HostExecutor executor(collective, clock, servers);
    std::atomic<std::uint64_t> timing = timing_seed;
    // Delays by a different time at every call and on every rank.
    const auto dawdle = [&timing, sleep_us = sleep_us] {
      const std::uint64_t drawn = std::mt19937_64(timing++)();
      if (sleep_us == 0) return spin(drawn % 20'000);
      std::this_thread::sleep_for(
          std::chrono::microseconds(drawn % static_cast<std::uint64_t>(sleep_us)));
    };
    Scheduler scheduler(config, executor,
                        {.trace = nullptr, .observer = nullptr, .static_order = static_order});
    std::vector<DataId> p(n), g(n);
    for (std::size_t i = 0; i < n; ++i) p[i] = scheduler.add_data(), g[i] = scheduler.add_data();
    const DataId activation = scheduler.add_data();
    const auto submit_step = [&] {
      for (std::size_t i = 0; i < n; ++i) {
        scheduler.compute({.name = "forward", .priority = static_cast<std::uint32_t>(i)},
                          {read(p[i]), update(activation)}, dawdle);
      }
      for (std::size_t i = n; i-- > 0;) {
        const auto priority = static_cast<std::uint32_t>(i);
        scheduler.compute({.name = "backward"}, {read(p[i]), update(activation), write(g[i])},
                          [&, i] {
                            dawdle();
                            for (std::size_t v = 0; v < values; ++v)
                              gradients[i][v] = parameters[i][v] * 0.25f + static_cast<float>(i);
                          });
        scheduler.all_reduce({.name = "gradient", .priority = priority}, g[i], gradients[i]);
        scheduler.compute({.name = "update", .priority = priority}, {read(g[i]), update(p[i])},
                          [&, i] {
                            for (std::size_t v = 0; v < values; ++v)
                              parameters[i][v] += gradients[i][v] * 0.125f;
                          });
      }
    };
    Result<void> ok;
    if (captures) {
      scheduler.begin_capture();
      submit_step();
      const auto captured = scheduler.end_capture();
      for (int step = 0; step < steps && ok; ++step) {
        if (odd) ok = scheduler.reconfigure(step % 2 ? *odd : config);
        if (ok) ok = scheduler.launch(captured);
      }
    } else {
      for (int step = 0; step < steps && ok; ++step) {
        if (odd) ok = scheduler.reconfigure(step % 2 ? *odd : config);
        if (!ok) break;
        submit_step();
        ok = scheduler.end_step();
      }
    }
    if (ok) ok = scheduler.synchronize();
    if (outcome) *outcome = ok;
    return parameters;
  }
};

}  // namespace hocket
