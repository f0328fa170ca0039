#pragma once

// Times of single calls that take nanoseconds, for the benchmarks of this folder. One thread.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace hocket::nccl {

using Clock = std::chrono::steady_clock;

inline double since_ns(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// Returns what reading the clock twice takes: the median.
inline double clock_ns() {
  std::vector<double> costs;
  for (int i = 0; i < 10'000; ++i) costs.push_back(since_ns(Clock::now()));
  std::nth_element(costs.begin(), costs.begin() + 5000, costs.end());
  return costs[5000];
}

/// Prints the percentiles of single calls, with the cost of reading the clock taken off. `between`
/// runs after each call and is not timed.
template <class Call, class Between>
void report_singles(const std::string& name, int calls, const Call& call, const Between& between) {
  const double overhead_ns = clock_ns();
  std::vector<double> singles;
  singles.reserve(static_cast<std::size_t>(calls));
  for (int i = 0; i < calls; ++i) {
    const auto start = Clock::now();
    call(i);
    singles.push_back(std::max(0.0, since_ns(start) - overhead_ns));
    between(i);
  }
  std::sort(singles.begin(), singles.end());
  const auto permille = [&](std::size_t of) { return singles[singles.size() * of / 1000]; };
  std::printf("%-28s p50 %6.1f ns, p99 %6.1f ns, p99.9 %7.1f ns\n", name.c_str(), permille(500),
              permille(990), permille(999));
}

/// Prints the mean of calls in a loop, after a tenth as many that are not timed.
template <class Call>
void report_mean(const std::string& name, int calls, const Call& call) {
  for (int i = 0; i < calls / 10; ++i) call(i);
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) call(i);
  std::printf("%-28s mean %6.1f ns\n", name.c_str(), since_ns(start) / calls);
}

}  // namespace hocket::nccl
