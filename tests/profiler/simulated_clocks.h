#pragma once

// Simulates ranks with known clocks: each has an offset and a drift against true time, from which
// its records of exchanges and collectives follow. One thread.

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/trace/rank_trace.h"
#include "profiler/clocks/clock_fit.h"

namespace hocket {

class SimulatedClocks {
 public:
  SimulatedClocks(std::uint64_t seed, std::size_t ranks, double most_drift = 400e-6)
      : random_(seed), clocks_(ranks) {
    for (SimulatedClock& clock : clocks_) {
      clock.offset_ns = uniform(1e12, 1e15);
      clock.drift = uniform(-most_drift, most_drift) / 2;
    }
  }

  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  std::int64_t read(std::size_t rank, double true_ns) const {
    return std::llround(clocks_[rank].offset_ns + true_ns * (1 + clocks_[rank].drift));
  }

  /// Returns the error of `fit` at time `clock_ns` on `rank`'s clock.
  double error_ns(const ClockFit& fit, std::size_t rank, std::int64_t clock_ns) const {
    const SimulatedClock &own = clocks_[rank], &first = clocks_[0];
    const double true_ns = (static_cast<double>(clock_ns) - own.offset_ns) / (1 + own.drift);
    return std::abs(fit.to_reference_ns(clock_ns) -
                    (first.offset_ns + true_ns * (1 + first.drift)));
  }

  /// Simulates exchange rounds from `begin_ns` on: ranks begin within `apart_ns`, none ends before
  /// all have begun, and each ends after a delay of its own.
  std::vector<std::vector<ClockRound>> exchange(double begin_ns, int rounds, double every_ns,
                                                double apart_ns = 2e4) {
    std::vector<double> delays;
    for (std::size_t i = 0; i < clocks_.size(); ++i) delays.push_back(uniform(1e3, 3e4));
    std::vector<std::vector<ClockRound>> all(clocks_.size());
    for (int round = 0; round < rounds; ++round) {
      const std::vector<double> begins = some_begins(begin_ns + round * every_ns, apart_ns);
      const double last_ns = *std::max_element(begins.begin(), begins.end());
      for (std::size_t i = 0; i < clocks_.size(); ++i) {
        const double end_ns = last_ns + delays[i] * uniform(0.5, 3);
        all[i].push_back({read(i, begins[i]), read(i, end_ns)});
      }
    }
    return all;
  }

  /// Traces with one all-reduce every `every_ns`. Its ends are `noise_ns` apart; on the last rank
  /// they are `late_ns` later in a tenth of the cases and `bias_ns` later always.
  struct Job {
    int collectives = 100;
    double begin_ns = 1e9, every_ns = 1e7, noise_ns = 2e3, late_ns = 0, bias_ns = 0;
  };
  std::vector<RankTrace> traces(const Job& job) {
    std::vector<RankTrace> traces = bare_traces();
    for (int i = 0; i < job.collectives; ++i) {
      const std::vector<double> begins = some_begins(job.begin_ns + i * job.every_ns, 1e5);
      const double end_ns = *std::max_element(begins.begin(), begins.end()) + uniform(1e5, 2e5);
      for (std::size_t rank = 0; rank < clocks_.size(); ++rank) {
        const bool is_last = rank + 1 == clocks_.size();
        const double late_ns = is_last ? job.bias_ns + (i % 10 == 3 ? job.late_ns : 0) : 0;
        traces[rank].records.push_back(
            all_reduce(i, read(rank, begins[rank]),
                       read(rank, end_ns + late_ns + uniform(0, 2 * job.noise_ns))));
      }
    }
    return traces;
  }

  std::vector<RankTrace> bare_traces() const {
    std::vector<RankTrace> traces(clocks_.size());
    for (std::size_t i = 0; i < traces.size(); ++i) {
      traces[i].rank = static_cast<std::int64_t>(i);
      traces[i].ranks = static_cast<std::int64_t>(traces.size());
      traces[i].host = "host" + std::to_string(i);
      traces[i].source = "host";
      traces[i].names = {"sum"};
    }
    return traces;
  }

  static TraceRecord all_reduce(std::int64_t sequence, std::int64_t begin_ns, std::int64_t end_ns) {
    TraceRecord record;
    record.kind = TraceKind::communication;
    record.collective = CollectiveKind::all_reduce;
    record.sequence = sequence;
    record.bytes = 1 << 20;
    record.begin_ns = begin_ns;
    record.end_ns = end_ns;
    return record;
  }

 private:
  struct SimulatedClock {
    double offset_ns = 0, drift = 0;
  };

  std::vector<double> some_begins(double from_ns, double within_ns) {
    std::vector<double> begins;
    for (std::size_t i = 0; i < clocks_.size(); ++i)
      begins.push_back(from_ns + uniform(0, within_ns));
    return begins;
  }

  std::mt19937_64 random_;
  std::vector<SimulatedClock> clocks_;
};

}  // namespace hocket
