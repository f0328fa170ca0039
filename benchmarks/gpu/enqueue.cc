// Measures what the executor adds to the host's cost of a kernel launch: steps of tasks that each
// launch an empty kernel, and as many launches in a loop, in turn.
//
//   bin/gpu_enqueue                      a table
//   bin/gpu_enqueue --json               the same as JSON
//   bin/gpu_enqueue --trace              with the times of tasks, as in a job
//   bin/gpu_enqueue --graphs             the host's cost of launching a whole step as a graph
//
// A task's time runs from the moment when the executor's thread begins to issue a captured step to
// the moment when it has issued the last task, divided by the number of tasks; a launch's time is
// that of a loop. Both are host times as long as a step fits into the queue of launches, which
// holds about 1000. Also prints the time per task until the end of the last kernel. Exit status 1
// if there is no device.

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "benchmarks/gpu/empty_kernel.h"
#include "core/base/check.h"
#include "core/base/statistics.h"
#include "core/cuda/driver/cuda_driver.h"
#include "core/cuda/executor/device_executor.h"
#include "core/cuda/executor/device_task.h"
#include "core/host/local_collective.h"
#include "core/scheduler/scheduler.h"
#include "core/trace/task_marker.h"

namespace hocket {
namespace {

/// Rounds that are not measured. A whole step is captured in the second.
constexpr int kWarmup = 3;

struct Options {
  int tasks = 512, rounds = 101, streams = 1;
  bool graphs = false, trace = false, json = false;
};

struct Costs {
  std::vector<double> launch_ns, task_ns;
  std::vector<double> ended_ns;  ///< a task's share of the time to the end of the last
  std::vector<double> step_ns;   ///< whole steps: time of the submitter and of the launch
};

/// Time that the executor's thread spends on `tasks` tasks of a step. Read it only when nothing
/// runs.
class IssueTime final : public TaskMarker {
 public:
  IssueTime(const Clock& clock, int tasks) : clock_(clock), tasks_(tasks) {}

  bool begin_task(std::int64_t, TaskId) override {
    if (issued_ == 0) begin_ns_ = clock_.now_ns();
    return true;
  }
  void end_task() override {
    if (++issued_ < tasks_) return;
    last_ns_ = clock_.now_ns() - begin_ns_;
    issued_ = 0;
  }

  std::int64_t last_ns() const { return last_ns_; }

 private:
  const Clock& clock_;
  const int tasks_;
  int issued_ = 0;
  std::int64_t begin_ns_ = 0;
  std::atomic<std::int64_t> last_ns_ = 0;
};

class NoTrace final : public TraceSink {
 public:
  void record(const TraceEvent&) override {}
};

void require(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

/// Returns the time per launch in a loop of launches.
double time_launches(DeviceDriver& driver, DeviceStream stream, int launches, const Clock& clock) {
  const std::int64_t begin_ns = clock.now_ns();
  for (int i = 0; i < launches; ++i) require(launch_empty_kernel(stream));
  const std::int64_t all_ns = clock.now_ns() - begin_ns;
  require(driver.synchronize(stream));
  return static_cast<double>(all_ns) / launches;
}

Result<Costs> measure(const Options& options) {
  auto driver = open_cuda_device(0);
  HOCKET_TRY(driver);
  HOCKET_TRY((*driver)->use_device());
  const auto stream = (*driver)->create_stream(StreamPriority::normal);
  HOCKET_TRY(stream);
  const SteadyClock clock;
  SoleRankCollective collective;
  DeviceGroups groups(collective, {});
  LocalGroup group(1);
  const auto messages = group.join(0);
  DeviceMemory memory(**driver);
  IssueTime issue(clock, options.graphs ? 1 : options.tasks);
  DeviceExecutor executor(**driver, groups, memory, *messages, clock, {.marker = &issue});
  NoTrace trace;
  Scheduler scheduler({.streams = options.streams,
                       .step_issue = options.graphs ? StepIssue::graph : StepIssue::tasks},
                      executor, {.trace = options.trace ? &trace : nullptr});
  // As many chains as streams.
  std::vector<DataId> chains;
  for (int i = 0; i < options.streams; ++i) chains.push_back(scheduler.add_data());
  scheduler.begin_capture();
  for (int i = 0; i < options.tasks; ++i) {
    const DataId chain = chains[static_cast<std::size_t>(i) % chains.size()];
    scheduler.compute({.name = "nothing"}, std::array{update(chain)},
                      [] { require(launch_empty_kernel(this_device_task().stream)); });
  }
  const auto step = scheduler.end_capture();
  Costs costs;
  for (int round = 1; round <= kWarmup + options.rounds; ++round) {
    const double launch_ns = time_launches(**driver, *stream, options.tasks, clock);
    const std::int64_t begin_ns = clock.now_ns();
    HOCKET_TRY(scheduler.launch(step));
    const std::int64_t submitted_ns = clock.now_ns() - begin_ns;
    HOCKET_TRY(scheduler.synchronize());
    const std::int64_t all_ns = clock.now_ns() - begin_ns;
    if (round <= kWarmup) continue;
    costs.launch_ns.push_back(launch_ns);
    costs.task_ns.push_back(static_cast<double>(issue.last_ns()) / options.tasks);
    costs.ended_ns.push_back(static_cast<double>(all_ns) / options.tasks);
    costs.step_ns.push_back(static_cast<double>(submitted_ns + issue.last_ns()));
  }
  (*driver)->destroy_stream(*stream);
  return costs;
}

void print_steps(const Options& options, const Costs& costs) {
  if (options.json) {
    const nlohmann::json document{{"tasks", options.tasks},
                                  {"rounds", options.rounds},
                                  {"streams", options.streams},
                                  {"step_ns", median(costs.step_ns)},
                                  {"step_spread_ns", spread(costs.step_ns)}};
    std::printf("%s\n", document.dump().c_str());
    return;
  }
  std::printf("a step of %d tasks as a graph: %.1f us ± %.1f of the host\n", options.tasks,
              median(costs.step_ns) / 1e3, spread(costs.step_ns) / 1e3);
}

void print(const Options& options, const Costs& costs) {
  if (options.graphs) return print_steps(options, costs);
  std::vector<double> added_ns;
  for (std::size_t i = 0; i < costs.task_ns.size(); ++i)
    added_ns.push_back(costs.task_ns[i] - costs.launch_ns[i]);
  if (options.json) {
    const nlohmann::json document{{"tasks", options.tasks},
                                  {"rounds", options.rounds},
                                  {"streams", options.streams},
                                  {"launch_ns", median(costs.launch_ns)},
                                  {"task_ns", median(costs.task_ns)},
                                  {"added_ns", median(added_ns)},
                                  {"added_spread_ns", spread(added_ns)},
                                  {"ended_ns", median(costs.ended_ns)}};
    std::printf("%s\n", document.dump().c_str());
    return;
  }
  std::printf(
      "a launch %.0f ns ± %.0f, a task %.0f ns ± %.0f: %.0f ns ± %.0f more; %.0f ns to the end\n",
      median(costs.launch_ns), spread(costs.launch_ns), median(costs.task_ns),
      spread(costs.task_ns), median(added_ns), spread(added_ns), median(costs.ended_ns));
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::Options options;
  CLI::App app("What the device executor adds to a kernel's launch");
  app.add_option("--tasks", options.tasks, "Of a step")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  app.add_option("--rounds", options.rounds, "Measured")
      ->capture_default_str()
      ->check(CLI::Range(3, 10'000));
  app.add_option("--streams", options.streams, "Of the executor")
      ->capture_default_str()
      ->check(CLI::Range(1, 32));
  app.add_flag("--graphs", options.graphs, "Launch steps as graphs, and time the launches");
  app.add_flag("--trace", options.trace, "Ask when tasks ran");
  app.add_flag("--json", options.json, "Print JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  const auto costs = hocket::measure(options);
  if (!costs) {
    std::fprintf(stderr, "gpu_enqueue: %s\n", costs.error().message.c_str());
    return 1;
  }
  hocket::print(options, *costs);
  return 0;
}
