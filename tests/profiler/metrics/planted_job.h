#pragma once

// Traces of a data-parallel job in which a rank is late for a known cause. Each step has forward
// and backward tasks, and an all-reduce for each layer on one channel; the next forward task of a
// layer waits for it. One thread.

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"

namespace hocket {

/// A delay of a rank in a step.
struct PlantedDelay {
  double compute_scale = 1;
  double launch_ns = 0;    ///< the host is late by this, over the step's tasks together
  double data_ns = 0;      ///< the step's input is late by this
  double transfer_ns = 0;  ///< its all-reduces end later by this, over the step's together
};

struct PlantedJob {
  int ranks = 2, steps = 30, layers = 6;
  double task_ns = 1e6, transfer_ns = 0.5e6;  ///< of a backward task and of an all-reduce
  double noise = 0.01;                        ///< of each task's time
  double clock_error_ns = 0;                  ///< of the fits
  bool has_submissions = true;
  std::function<PlantedDelay(int step, int rank)> delay = [](int, int) { return PlantedDelay{}; };
};

inline PlantedJob random_planted_job(std::mt19937_64& random) {
  const auto between = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  PlantedJob job;
  job.ranks = between(2, 16);
  job.steps = between(20, 60);
  job.layers = between(2, 12);
  job.task_ns = 1e5 * std::pow(10.0, between(0, 2));
  job.transfer_ns = job.task_ns * between(1, 15) / 10.0;
  job.noise = between(0, 20) / 1000.0;
  job.has_submissions = between(0, 1) == 1;
  return job;
}

/// Returns the time of a step in which nobody is late.
inline double step_ns(const PlantedJob& job) {
  return job.layers * std::max(1.5 * job.task_ns, job.transfer_ns + 0.5 * job.task_ns);
}

struct PlantedTraces {
  std::vector<RankTrace> traces;
  std::vector<ClockFit> fits;
};

class PlantedRun {
 public:
  PlantedRun(const PlantedJob& job, std::mt19937_64& random)
      : job_(job), random_(random), ranks_(static_cast<std::size_t>(job.ranks)) {
    std::uniform_real_distribution<double> offset(-1e9, 1e9), error(-1, 1);
    for (int r = 0; r < job.ranks; ++r) {
      Rank& rank = ranks_[static_cast<std::size_t>(r)];
      rank.offset_ns = r == 0 ? 0 : std::round(offset(random));
      rank.time_ns = 5e9;
      rank.trace.rank = r;
      rank.trace.ranks = job.ranks;
      rank.trace.source = "simulator";
      rank.trace.names = {"forward", "backward", "all-reduce"};
      rank.reduced_ns.assign(static_cast<std::size_t>(job.layers), 0.0);
      ClockFit fit;
      fit.offset_ns = rank.offset_ns + (r == 0 ? 0 : error(random) * job.clock_error_ns);
      fit.residual_ns = r == 0 ? 0 : job.clock_error_ns;
      fit.method = r == 0 ? "own" : "exchange";
      result_.fits.push_back(fit);
    }
  }

  PlantedTraces run() {
    for (int step = 0; step <= job_.steps; ++step) run_step(step);
    for (Rank& rank : ranks_) {
      put_in_order(rank.trace);
      result_.traces.push_back(std::move(rank.trace));
    }
    return std::move(result_);
  }

 private:
  struct Rank {
    RankTrace trace;
    double offset_ns = 0;   // from the rank's clock to the true one
    double time_ns = 0;     // end of its last task
    double submit_ns = 0;   // its host submits nothing before
    double channel_ns = 0;  // end of its last all-reduce
    std::vector<double> reduced_ns;
    PlantedDelay delay;
  };

  void run_step(int step) {
    for (int r = 0; r < job_.ranks; ++r) {
      Rank& rank = ranks_[static_cast<std::size_t>(r)];
      rank.delay = job_.delay(step, r);
      rank.time_ns += rank.delay.data_ns;
      rank.submit_ns = rank.time_ns - 1e5;
      if (rank.delay.data_ns > 0) {
        // Its first task waits for the all-reduce before the input arrives.
        rank.time_ns = std::max(rank.time_ns, rank.reduced_ns[0] + rank.delay.data_ns);
      }
      for (int layer = 0; layer < job_.layers; ++layer) {
        compute(rank, step, layer, 0, job_.task_ns / 2,
                rank.reduced_ns[static_cast<std::size_t>(layer)]);
      }
    }
    for (int layer = job_.layers - 1; layer >= 0; --layer) reduce(step, layer);
  }

  void compute(Rank& rank, int step, int task, std::uint32_t name, double length_ns,
               double ready_ns) {
    std::normal_distribution<double> noise(0, 1);
    const double own_launch_ns = rank.delay.launch_ns / (2 * job_.layers);
    const double begin_ns = std::max(rank.time_ns, ready_ns) + own_launch_ns;
    const double submitted_ns = own_launch_ns > 0 ? begin_ns - 1e3 : rank.submit_ns;
    const double scale = rank.delay.compute_scale * std::exp(job_.noise * noise(random_));
    rank.time_ns = begin_ns + length_ns * scale;
    if (task == 0 && name == 0) rank.trace.step_starts.push_back({step, on_clock(rank, begin_ns)});
    TraceRecord record;
    record.name = name;
    record.begin_ns = on_clock(rank, begin_ns);
    record.end_ns = on_clock(rank, rank.time_ns);
    record.step = step;
    record.task = task;
    if (job_.has_submissions)
      record.submitted_ns = on_clock(rank, std::min(submitted_ns, begin_ns));
    rank.trace.records.push_back(record);
  }

  void reduce(int step, int layer) {
    std::vector<double> begins;
    for (Rank& rank : ranks_) {
      compute(rank, step, 2 * job_.layers - 1 - layer, 1, job_.task_ns, 0);
      begins.push_back(std::max(rank.time_ns, rank.channel_ns));
    }
    const double last_ns = *std::ranges::max_element(begins);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      rank.channel_ns = last_ns + job_.transfer_ns + rank.delay.transfer_ns / job_.layers;
      rank.reduced_ns[static_cast<std::size_t>(layer)] = rank.channel_ns;
      TraceRecord record;
      record.kind = TraceKind::communication;
      record.collective = CollectiveKind::all_reduce;
      record.name = 2;
      record.begin_ns = on_clock(rank, begins[r]);
      record.end_ns = on_clock(rank, rank.channel_ns);
      record.step = step;
      record.bytes = 1 << 20;
      record.sequence = step * job_.layers + job_.layers - 1 - layer;
      rank.trace.records.push_back(record);
    }
  }

  static std::int64_t on_clock(const Rank& rank, double true_ns) {
    return std::llround(true_ns - rank.offset_ns);
  }

  const PlantedJob& job_;
  std::mt19937_64& random_;
  std::vector<Rank> ranks_;
  PlantedTraces result_;
};

}  // namespace hocket
