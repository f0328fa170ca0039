#pragma once

// A job whose time is a known function of three parameters, and which spends that time asleep, so
// that several of them on one machine do not disturb one another. Pure.
//
// With d the distances of the parameters from the optimum in the unit cube, `batch` by its
// logarithm, the time rises from the optimum with (d1² + d2² + d3² + d1 d2)^0.75: a valley that is
// slanted, because the best `threads` depends on `batch`, and sharper than a parabola. The optimum
// is drawn from a seed, each coordinate from [0.1, 0.3] or [0.7, 0.9], so that the middle of the
// space is never close to it.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace hocket {

struct SleepingJobOptions {
  double fastest_s = 0.3;  ///< at the optimum
  double slowest_s = 1.2;  ///< at the worst setting
  std::uint64_t seed = 1;  ///< of the optimum
};

class SleepingJob {
 public:
  using Setting = std::array<std::int64_t, 3>;  ///< batch, threads, depth

  explicit SleepingJob(const SleepingJobOptions& options);

  /// Returns the values of --param and --default for `hocket tune`.
  static std::vector<std::string> params();
  static std::vector<std::string> defaults();

  /// Returns the seconds that a run with `setting` takes.
  double seconds(const Setting& setting) const;

 private:
  double rise(const Setting& setting) const;

  SleepingJobOptions options_;
  Setting optimum_ = {};
  double highest_rise_ = 1;
};

}  // namespace hocket
