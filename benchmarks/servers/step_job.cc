// Runs a step description as a real job: sums go over real parameter servers or all-reduces (Gloo),
// as the configuration in HOCKET_CONFIG says (by default all-reduces), and a computation only waits
// on the clock for as long as the description says. So a few cores are enough for the steps of
// large models.
//
//   build/release/bin/hocket run --ranks 2 --servers 2 -- build/release/bin/step_job
//       examples/steps/vgg16.json --bytes-scale 0.05 --time-scale 0.05 --steps 8
//
// Rank 0 prints {"iterations":[{"wall_ns":…},…]}: the times between the begins of two steps' first
// task, without warm-up. Every sum is checked where the next step reads it.
//
// --half-duplex lets a rank only push or only pull at any time. It takes away what a duplex link
// gives to a divided tensor: that one part is pulled while another is pushed, which a scheduler of
// parts uses (ByteScheduler, SOSP 2019). Parts, priorities and windows stay the same.
//
// --describe FILE writes the description as it is run, scaled, and runs nothing.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "client/link/environment.h"
#include "core/base/json.h"
#include "core/description/step_description.h"
#include "core/host/gloo_collective.h"
#include "core/host/host_executor.h"
#include "core/scheduler/scheduler.h"
#include "core/servers/tcp_servers.h"

namespace hocket {
namespace {

constexpr std::chrono::seconds kTimeout{60};

struct Options {
  std::string step, describe;
  double bytes_scale = 1, time_scale = 1;
  int steps = 8, warmup = 2;
  bool half_duplex = false;
};

/// Lets several threads through one way, but never both ways at once.
class Gate {
 public:
  Result<void> pass(bool is_pull, const std::function<Result<void>()>& body) {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return inside_ == 0 || is_pull == is_pull_; });
    is_pull_ = is_pull;
    ++inside_;
    lock.unlock();
    auto done = body();
    lock.lock();
    if (--inside_ == 0) freed_.notify_all();
    return done;
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  // Guarded by mutex_:
  int inside_ = 0;
  bool is_pull_ = false;
};

/// Servers that a rank does not push to and pull from at once.
class HalfDuplexServers final : public ParameterServers {
 public:
  explicit HalfDuplexServers(ParameterServers& servers) : all_(servers) {}
  int rank() const override { return all_.rank(); }
  int world_size() const override { return all_.world_size(); }
  int servers() const override { return all_.servers(); }
  using ParameterServers::push;
  Result<void> push(const ServedPart& part, std::span<const float> values,
                    const PartUpdate* update) override {
    return gate_.pass(false, [&] { return all_.push(part, values, update); });
  }
  Result<std::optional<ServedPart>> next_sum(int server) override { return all_.next_sum(server); }
  Result<void> pull(const ServedPart& part, std::span<float> values) override {
    return gate_.pass(true, [&] { return all_.pull(part, values); });
  }
  void end_waiting() override { all_.end_waiting(); }
  void begin_waiting() override { all_.begin_waiting(); }
  void abort() override { all_.abort(); }

 private:
  ParameterServers& all_;
  Gate gate_;
};

std::int64_t scaled(std::int64_t value, double factor) {
  return std::llround(static_cast<double>(value) * factor);
}

/// Reads the step in its general form, scaled, with sums of whole floats.
Result<StepDescription> read_scaled(const Options& options) {
  const auto text = read_file(options.step);
  HOCKET_TRY(text);
  const auto read = parse_step_description(*text);
  if (!read) return failure(read.error().in(options.step));
  StepDescription step = expand(*read);
  for (StepTask& task : step.tasks) {
    task.duration_ns = scaled(task.duration_ns, options.time_scale);
    if (!task.collective) continue;
    constexpr std::int64_t kFloat = sizeof(float);
    task.bytes =
        std::max<std::int64_t>(scaled(task.bytes, options.bytes_scale) / kFloat, 1) * kFloat;
    if (*task.collective == CollectiveKind::all_reduce && task.group == CollectiveGroup::world &&
        task.accesses.size() == 1)
      continue;
    return failure(ErrorCode::invalid_argument,
                   options.step + ": \"" + task.name +
                       "\" is no all-reduce of one piece of data over all ranks; the job runs "
                       "only these");
  }
  if (step.tasks.empty() || step.tasks.front().collective)
    return failure(ErrorCode::invalid_argument,
                   options.step + ": the first task must be a computation, whose begin is timed");
  return step;
}

/// The job of one rank.
class StepJob {
 public:
  StepJob(const StepDescription& step, Executor& executor, const Clock& clock)
      : step_(step), clock_(clock), rank_(executor.rank()), ranks_(executor.world_size()) {
    gradient_of_.resize(step.data.size());
    for (const StepTask& task : step.tasks) {
      if (!task.collective) continue;
      auto& gradient = gradient_of_[task.accesses.front().data.index];
      gradient.resize(static_cast<std::size_t>(task.bytes) / sizeof(float));
      gradient.front() = gradient.back() = sum_of_ranks();  // as a step before would have left it
    }
  }

  /// Runs the steps; returns when each has begun.
  Result<std::vector<std::int64_t>> run(const ScheduleConfig& config, Executor& executor,
                                        int steps) {
    Scheduler scheduler(config, executor);
    std::vector<DataId> data;
    for (std::size_t i = 0; i < step_.data.size(); ++i) data.push_back(scheduler.add_data());
    for (int step = 0; step < steps; ++step) {
      for (std::size_t i = 0; i < step_.tasks.size(); ++i) submit(scheduler, data, i);
      HOCKET_TRY(scheduler.end_step());
    }
    HOCKET_TRY(scheduler.synchronize());
    return begins_ns_;
  }

 private:
  /// Rank r's summand is r + 1.
  float sum_of_ranks() const { return static_cast<float>(ranks_ * (ranks_ + 1) / 2); }

  void submit(Scheduler& scheduler, const std::vector<DataId>& data, std::size_t index) {
    const StepTask& task = step_.tasks[index];
    const TaskOptions options{.name = task.name, .priority = task.priority};
    if (task.collective) {
      const std::uint32_t summed = task.accesses.front().data.index;
      scheduler.all_reduce(options, data[summed], gradient_of_[summed]);
      return;
    }
    std::vector<Access> accesses;
    for (const Access& access : task.accesses)
      accesses.push_back({data[access.data.index], access.mode});
    scheduler.compute(options, accesses, [this, index] { compute(index); });
  }

  void compute(std::size_t index) {
    const std::int64_t begin_ns = clock_.now_ns();
    if (index == 0) begins_ns_.push_back(begin_ns);
    const StepTask& task = step_.tasks[index];
    for (const Access& access : task.accesses) {
      std::vector<float>& gradient = gradient_of_[access.data.index];
      if (gradient.empty()) continue;
      // The ends stand for all values: filling large tensors would take the time of a computation.
      if (access.mode != AccessMode::read) {
        gradient.front() = gradient.back() = static_cast<float>(rank_ + 1);
      } else if (gradient.front() != sum_of_ranks() || gradient.back() != sum_of_ranks()) {
        throw std::runtime_error("the sum that it reads is wrong");
      }
    }
    clock_.sleep_until_ns(begin_ns + task.duration_ns);
  }

  const StepDescription& step_;
  const Clock& clock_;
  const int rank_, ranks_;
  std::vector<std::vector<float>> gradient_of_;  // by data; empty: not summed
  std::vector<std::int64_t> begins_ns_;
};

Result<void> run(const Options& options) {
  const auto step = read_scaled(options);
  HOCKET_TRY(step);
  if (!options.describe.empty()) {
    std::ofstream file(options.describe);
    file << to_json(*step).dump(2) << '\n';
    if (file.flush()) return {};
    return failure(ErrorCode::unavailable, "cannot write " + options.describe);
  }
  const auto text = process_environment("HOCKET_CONFIG");
  const auto config = text ? parse_schedule_config(*text) : Result<ScheduleConfig>();
  if (!config) return failure(config.error().in("HOCKET_CONFIG"));
  const auto ranks = read_rank_environment();
  HOCKET_TRY(ranks);
  const SteadyClock clock;
  const auto collective =
      connect_gloo({.ranks = *ranks,
                    .timeout = kTimeout,
                    .interface = process_environment("GLOO_SOCKET_IFNAME").value_or("")});
  HOCKET_TRY(collective);
  std::unique_ptr<ParameterServers> servers;
  if (!ranks->servers.empty()) {
    auto connected = connect_servers({.rank = ranks->rank,
                                      .ranks = ranks->world_size,
                                      .addresses = ranks->servers,
                                      .secret = ranks->secret,
                                      .timeout_ns = std::chrono::nanoseconds(kTimeout).count()});
    HOCKET_TRY(connected);
    servers = std::move(*connected);
  }
  std::unique_ptr<HalfDuplexServers> half;
  if (servers && options.half_duplex) half = std::make_unique<HalfDuplexServers>(*servers);
  HostExecutor executor(**collective, clock, half ? half.get() : servers.get());
  StepJob job(*step, executor, clock);
  const auto begins_ns = job.run(*config, executor, options.warmup + options.steps + 1);
  HOCKET_TRY(begins_ns);
  if (ranks->rank != 0) return {};
  nlohmann::json iterations = nlohmann::json::array();
  for (std::size_t i = static_cast<std::size_t>(options.warmup); i + 1 < begins_ns->size(); ++i)
    iterations.push_back({{"wall_ns", (*begins_ns)[i + 1] - (*begins_ns)[i]}});
  std::printf("%s\n", nlohmann::json{{"iterations", std::move(iterations)}}.dump().c_str());
  return {};
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::Options options;
  CLI::App app("Runs a step description as a real job whose computations only wait");
  app.add_option("step", options.step, "the description (docs/formats/step.md)")->required();
  app.add_option("--bytes-scale", options.bytes_scale, "factor on the bytes of sums")
      ->check(CLI::PositiveNumber);
  app.add_option("--time-scale", options.time_scale, "factor on the times of computations")
      ->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps, "iterations that are measured")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--warmup", options.warmup, "iterations before them")->check(CLI::Range(1, 100));
  app.add_flag("--half-duplex", options.half_duplex, "never push and pull at once on a rank");
  app.add_option("--describe", options.describe, "only write the scaled description to this file");
  CLI11_PARSE(app, argc, argv);
  const auto ok = hocket::run(options);
  if (!ok) std::fprintf(stderr, "step_job: %s\n", ok.error().message.c_str());
  return ok ? 0 : 1;
}
