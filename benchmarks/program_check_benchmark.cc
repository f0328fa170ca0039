// Compares Scheduler::check() of a job's programs with a step of the same job, in one run.
//
//   bin/program_check_benchmark [--rounds N] [--communications N] [--bytes N]
//
// Eight ranks, two stages of two times two, are threads of this process, in memory and over Gloo on
// the loopback interface. In turn they sum in a group and send from stage to stage. Tasks have the
// same names on all ranks of a stage, so that there are two programs, or names with the rank, so
// that there are eight. A round checks the captured step, then runs it. Prints the medians and the
// median ± half the interquartile range of each round's ratio, on rank 0.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/base/statistics.h"
#include "core/files/scratch_folder.h"
#include "core/host/gloo_collective.h"
#include "core/host/host_executor.h"
#include "core/host/local_collective.h"
#include "core/scheduler/scheduler.h"

namespace hocket {
namespace {

constexpr int kRanks = 8, kWarmupRounds = 3;
constexpr std::uint64_t kBarrierIndex = 0xfff0'0000;

struct CheckOptions {
  int rounds = 60;
  int communications = 1000;
  int bytes = 4096;
  bool are_names_own = false;
};

std::vector<MeshAxis> axes() {
  return {{"pipeline", 2}, {"data", 2}, {"tensor", 2}};
}

/// The times of the rounds.
struct CheckTimes {
  std::vector<double> check_ns, step_ns, ratios;
};

Result<CheckTimes> measure(Collective& collective, const CheckOptions& options) {
  const SteadyClock clock;
  HostExecutor executor(collective, clock);
  Scheduler scheduler({.comm_channels = 2, .order = CollectiveOrder::fifo}, executor);
  const DataId data = scheduler.add_data();
  std::vector<float> values(static_cast<std::size_t>(options.bytes) / sizeof(float));
  const std::size_t stage = static_cast<std::size_t>(collective.rank()) / 4;
  const CollectiveGroup pipeline{AxisSet::of(0)}, tensor{AxisSet::of(2)};
  std::vector<std::string> names;
  for (int i = 0; i < options.communications; ++i) {
    names.push_back("communication " + std::to_string(i));
    if (options.are_names_own) names.back() += " of rank " + std::to_string(collective.rank());
  }
  scheduler.begin_capture();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const TaskOptions task{.name = names[i]};
    if (i % 2 == 0) {
      scheduler.all_reduce(task, data, values, tensor);
    } else if (i / 2 % 2 == stage) {
      scheduler.send(task, data, values, pipeline, 1 - stage);
    } else {
      scheduler.receive(task, data, values, pipeline, 1 - stage);
    }
  }
  const auto step = scheduler.end_capture();
  CheckTimes times;
  float together = 0;
  for (int round = 0; round < kWarmupRounds + options.rounds; ++round) {
    HOCKET_TRY(collective.all_reduce({&together, 1}, kBarrierIndex));
    const std::int64_t begin_ns = clock.now_ns();
    HOCKET_TRY(scheduler.check(step));
    const std::int64_t checked_ns = clock.now_ns();
    HOCKET_TRY(collective.all_reduce({&together, 1}, kBarrierIndex));
    const std::int64_t ready_ns = clock.now_ns();
    HOCKET_TRY(scheduler.launch(step));
    HOCKET_TRY(scheduler.synchronize());
    const std::int64_t end_ns = clock.now_ns();
    if (round < kWarmupRounds) continue;
    times.check_ns.push_back(static_cast<double>(checked_ns - begin_ns));
    times.step_ns.push_back(static_cast<double>(end_ns - ready_ns));
    times.ratios.push_back(times.check_ns.back() / times.step_ns.back());
  }
  return times;
}

using Connect = std::function<Result<std::unique_ptr<Collective>>(int rank)>;

bool measure_ranks(const char* where, const Connect& connect, const CheckOptions& options) {
  std::vector<Result<CheckTimes>> found(kRanks);
  {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < kRanks; ++rank) {
      ranks.emplace_back([&, rank] {
        auto& own = found[static_cast<std::size_t>(rank)];
        const auto collective = connect(rank);
        own = collective ? measure(**collective, options) : failure(collective.error());
      });
    }
  }
  for (const auto& own : found) {
    if (own) continue;
    std::fprintf(stderr, "program_check_benchmark: %s\n", own.error().message.c_str());
    return false;
  }
  const CheckTimes& times = *found[0];
  std::printf(
      "%-9s %d programs  check %7.2f ± %.2f ms   step %7.2f ± %.2f ms   ratio %.3f ± %.3f\n", where,
      options.are_names_own ? kRanks : 2, median(times.check_ns) / 1e6,
      spread(times.check_ns) / 1e6, median(times.step_ns) / 1e6, spread(times.step_ns) / 1e6,
      median(times.ratios), spread(times.ratios));
  std::fflush(stdout);
  return true;
}

int run(CheckOptions options) {
  for (const bool are_names_own : {false, true}) {
    options.are_names_own = are_names_own;
    LocalGroup group(Mesh::make(axes(), {kRanks, kRanks}).value(), 60'000'000'000);
    const auto folder = ScratchFolder::make();
    if (!folder) {
      std::fprintf(stderr, "program_check_benchmark: %s\n", folder.error().message.c_str());
      return 1;
    }
    const auto join = [&](int rank) -> Result<std::unique_ptr<Collective>> {
      return group.join(rank);
    };
    const auto connect = [&](int rank) {
      return connect_gloo({.ranks = {.rank = rank,
                                     .world_size = kRanks,
                                     .rendezvous = "file:" + folder->path(),
                                     .local_rank = rank,
                                     .ranks_per_host = kRanks},
                           .axes = axes()});
    };
    if (!measure_ranks("in memory", join, options)) return 1;
    if (!measure_ranks("Gloo", connect, options)) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::CheckOptions options;
  CLI::App app("The check of a job's programs against a step of it");
  app.add_option("--rounds", options.rounds)->capture_default_str()->check(CLI::Range(1, 100'000));
  app.add_option("--communications", options.communications)
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  app.add_option("--bytes", options.bytes)->capture_default_str()->check(CLI::Range(4, 1 << 24));
  CLI11_PARSE(app, argc, argv);
  return hocket::run(options);
}
