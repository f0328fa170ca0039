// Prints how often the decisions of live tuning err under the noise of hosts
// (benchmarks/host_noise.h), in virtual time, with fixed seeds: A/B windows of equal, faster and
// slower candidates, and drift.
//
//   build/release/bin/live_verdicts_benchmark [ROUNDS]

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

#include "benchmarks/host_noise.h"
#include "client/live/ab_window.h"
#include "daemon/live/drift.h"

namespace hocket {
namespace {

constexpr double kUsualNs = 1e8;
/// Steps until a selection takes effect, as in a loop that waits for each of its ballots.
constexpr int kStepsToSwitch = 2;
/// Steps before the first window.
constexpr int kCalm = 24;

struct WindowRate {
  int windows = 0, kept = 0, slower = 0;
  double steps = 0;
};

/// Measures candidates that take `factor` of the usual time, one after the other, in one job.
void measure_windows(NoiseKind kind, double factor, std::uint64_t job, int windows,
                     WindowRate& rate) {
  HostNoise noise(kind, job);
  std::deque<std::int64_t> recent;
  std::vector<std::int64_t> calm;
  for (int i = 0; i < kCalm; ++i) calm.push_back(static_cast<std::int64_t>(kUsualNs * noise()));
  std::vector<double> known = AbWindow::noise_of(calm, AbWindowOptions().block_iterations);
  for (int i = 0; i < windows; ++i) {
    for (std::size_t k = 0; k < AbWindow::kMostRecent; ++k) {
      recent.push_back(static_cast<std::int64_t>(kUsualNs * noise()));
      if (recent.size() > AbWindow::kMostRecent) recent.pop_front();
    }
    AbWindow window({.noise = known, .seed = job * 1000 + static_cast<std::uint64_t>(i)},
                    std::vector<std::int64_t>(recent.begin(), recent.end()));
    std::deque<AbSide> ahead(kStepsToSwitch, AbSide::current);
    while (!window.verdict()) {
      ahead.push_back(window.next());
      const AbSide side = ahead.front();
      ahead.pop_front();
      const double time = kUsualNs * noise() * (side == AbSide::candidate ? factor : 1);
      window.add(side, static_cast<std::int64_t>(time), kStepsToSwitch);
      ++rate.steps;
    }
    known = window.noise();
    ++rate.windows;
    rate.kept += window.verdict()->keep;
    rate.slower += window.verdict()->slower;
  }
}

void print_windows(int rounds) {
  std::puts("candidate's time    noise         kept     slower   steps of a window");
  for (const double factor : {1.0, 0.95, 0.9, 1.05, 1.3, 2.0}) {
    for (const NoiseKind kind : kHostNoise) {
      WindowRate rate;
      for (int job = 0; job < rounds; ++job) {
        measure_windows(kind, factor, static_cast<std::uint64_t>(job), 30, rate);
      }
      std::printf("%.2f                %-12s %5.2f %%   %5.2f %%   %.0f\n", factor,
                  to_string(kind).c_str(), 100.0 * rate.kept / rate.windows,
                  100.0 * rate.slower / rate.windows, rate.steps / rate.windows);
    }
  }
}

/// Returns the number of steps after which a change by `factor` at `step` is noticed; 0 if it is
/// not within `most`.
int steps_until_noticed(NoiseKind kind, std::uint64_t job, double factor, int step, int most) {
  HostNoise noise(kind, job);
  DriftDetector detector;
  for (int i = 0; i < step; ++i) detector.add(kUsualNs * noise());
  for (int i = 1; i <= most; ++i) {
    if (detector.add(kUsualNs * factor * noise())) return i;
  }
  return 0;
}

void print_drift(int rounds) {
  constexpr int kSteps = 10'000, kSoon = 200;
  std::puts(
      "noise         drifts seen in 10,000 steps without   30 % longer from step 1000, from "
      "5000: noticed within 200");
  for (const NoiseKind kind : kHostNoise) {
    int wrong = 0, early = 0, late = 0;
    for (int job = 0; job < rounds; ++job) {
      HostNoise noise(kind, static_cast<std::uint64_t>(job));
      DriftDetector detector;
      for (int i = 0; i < kSteps; ++i) wrong += detector.add(kUsualNs * noise());
      const auto other = static_cast<std::uint64_t>(rounds + job);
      early += steps_until_noticed(kind, other, 1.3, 1000 + job % 20, kSoon) > 0;
      late += steps_until_noticed(kind, other, 1.3, 5000 + job % 20, kSoon) > 0;
    }
    std::printf("%-12s  %-40.3f  %.0f %%, %.0f %%\n", to_string(kind).c_str(),
                static_cast<double>(wrong) / rounds, 100.0 * early / rounds, 100.0 * late / rounds);
  }
}

}  // namespace
}  // namespace hocket

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::max(1, std::atoi(arguments[1])) : 100;
  hocket::print_windows(rounds);
  hocket::print_drift(rounds);
}
