#include "benchmarks/tuner/sleeping_job.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace hocket {
namespace {

struct Parameter {
  const char* name;
  std::int64_t high;  ///< the range begins at 1
  bool is_log;

  double place(std::int64_t value) const {
    const auto v = static_cast<double>(value), h = static_cast<double>(high);
    return is_log ? std::log(v) / std::log(h) : (v - 1) / (h - 1);
  }
  std::int64_t value(double place) const {
    const auto h = static_cast<double>(high);
    return std::llround(is_log ? std::pow(h, place) : 1 + place * (h - 1));
  }
};

constexpr std::array<Parameter, 3> kParameters = {
    {{"batch", 256, true}, {"threads", 32, false}, {"depth", 12, false}}};

}  // namespace

SleepingJob::SleepingJob(const SleepingJobOptions& options) : options_(options) {
  std::mt19937_64 random(options.seed);
  for (std::size_t i = 0; i < optimum_.size(); ++i) {
    const double place = 0.1 + 0.2 * std::generate_canonical<double, 53>(random);
    optimum_[i] = kParameters[i].value(random() % 2 == 0 ? place : 1 - place);
  }
  // The rise is convex, so that it is highest in a corner.
  double highest = 0;
  for (unsigned corner = 0; corner < 8; ++corner) {
    Setting setting;
    for (std::size_t i = 0; i < setting.size(); ++i)
      setting[i] = (corner >> i & 1) != 0 ? kParameters[i].high : 1;
    highest = std::max(highest, rise(setting));
  }
  highest_rise_ = highest;
}

std::vector<std::string> SleepingJob::params() {
  std::vector<std::string> texts;
  for (const Parameter& parameter : kParameters) {
    texts.push_back(std::string(parameter.name) + "=int:1.." + std::to_string(parameter.high) +
                    (parameter.is_log ? ":log" : ""));
  }
  return texts;
}

std::vector<std::string> SleepingJob::defaults() {
  std::vector<std::string> texts;
  for (const Parameter& parameter : kParameters)
    texts.push_back(std::string(parameter.name) + "=" + std::to_string(parameter.value(0.5)));
  return texts;
}

double SleepingJob::rise(const Setting& setting) const {
  std::array<double, 3> d;
  for (std::size_t i = 0; i < d.size(); ++i)
    d[i] = kParameters[i].place(setting[i]) - kParameters[i].place(optimum_[i]);
  return std::pow(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[0] * d[1], 0.75);
}

double SleepingJob::seconds(const Setting& setting) const {
  return options_.fastest_s +
         (options_.slowest_s - options_.fastest_s) * rise(setting) / highest_rise_;
}

}  // namespace hocket
