#include "benchmarks/tuner/ask_times.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "core/base/check.h"
#include "tuner/search/search.h"

namespace hocket {
namespace {

constexpr std::size_t kAsksPerSeed = 20;

Levels powers(int lowest, int highest) {
  Levels levels;
  for (int power = lowest; power <= highest; ++power)
    levels.values.emplace_back(std::int64_t{1} << power);
  return levels;
}

/// Returns the lattice of 1,144 settings used by recorded sweeps of the scheduler's knobs.
Space lattice(bool knobs) {
  const auto name = [&](const char* knob) { return knobs ? knob : std::string("x_") + knob; };
  return Space::make({{name("partition_bytes"), powers(16, 26), std::int64_t{1} << 22},
                      {name("credit_bytes"), powers(16, 28), std::int64_t{1} << 24},
                      {name("order"), Choices{{"fifo", "priority"}}, std::string("fifo")},
                      {name("channels"), powers(0, 3), std::int64_t{1}}})
      .value();
}

Space ranges() {
  std::vector<Parameter> parameters;
  for (const char* name : {"a", "b", "c", "d"})
    parameters.push_back({name, RealRange{0, 1, false}, 0.5});
  return Space::make(std::move(parameters)).value();
}

double value_at(const UnitPoint& point, std::mt19937_64& random) {
  double sum = 1;
  for (std::size_t i = 0; i < point.size(); ++i) {
    const double off = point[i] - 0.3 - 0.1 * static_cast<double>(i);
    sum += off * off * static_cast<double>(i + 1);
  }
  return 1e8 * sum * std::exp(std::normal_distribution<double>(0, 0.03)(random));
}

void measure_seed(const Space& space, std::size_t trials, std::uint64_t seed,
                  std::vector<double>& times_ms) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  const auto search = make_search(space, {.seed = seed, .step = {}});
  HOCKET_CHECK(search.has_value(), "a space of many points");
  const auto tell = [&](const Params& params) {
    const auto ok =
        (*search)->tell({.params = params, .value = value_at(space.encode(params), random)});
    HOCKET_CHECK(ok.has_value(), "a point of the space and a finite value");
  };
  tell(space.defaults());
  for (std::size_t i = 1; i < trials; ++i) {
    UnitPoint point(space.parameters().size());
    for (double& coordinate : point) coordinate = uniform(random);
    tell(space.decode(point));
  }
  for (std::size_t i = 0; i < kAsksPerSeed; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto suggestion = (*search)->ask();
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - begin;
    if (!suggestion) break;
    // The first ask does not count: it also learns from all trials told before it.
    if (i > 0) times_ms.push_back(passed.count());
    tell(suggestion->params);
  }
}

AskTimes measure_space(const std::string& name, const Space& space, std::size_t trials,
                       std::size_t seeds) {
  std::vector<double> times_ms;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) measure_seed(space, trials, seed, times_ms);
  std::ranges::sort(times_ms);
  const auto at = [&](double share) {
    return times_ms[static_cast<std::size_t>(share * static_cast<double>(times_ms.size() - 1))];
  };
  return {name, trials, times_ms.size(), at(0.5), at(0.99)};
}

}  // namespace

std::vector<AskTimes> measure_asks(std::size_t seeds) {
  std::vector<AskTimes> all;
  for (const std::size_t trials : {std::size_t{40}, std::size_t{400}}) {
    all.push_back(measure_space("lattice", lattice(false), trials, seeds));
    all.push_back(measure_space("ranges", ranges(), trials, seeds));
  }
  all.push_back(measure_space("knobs", lattice(true), 40, seeds));
  return all;
}

}  // namespace hocket
