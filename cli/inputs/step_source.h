#pragma once

// Reads the step for `hocket simulate` and `hocket explain`: a description, with changes from the
// command line. One thread.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/step_description.h"
#include "profiler/archive/calibrate_profile.h"

namespace CLI {
class App;
}

namespace hocket {

/// Reads the description from the file `path`, or from standard input if `path` is "-". Errors
/// begin with the file's name; a file that cannot be read is invalid_argument.
Result<StepDescription> read_step(const std::string& path);

/// Changes to a description from a command line; empty members change nothing.
struct StepChanges {
  std::optional<std::int64_t> ranks, ranks_per_host, seed;
  std::vector<std::string> links;  ///< "host=10gbit,20us" or "network=…"
  std::optional<CollectiveAlgorithm> algorithm;
  /// Factor on all times of computations: 0.5 for devices that compute twice as fast.
  std::optional<double> compute_scale;

  bool is_empty() const { return *this == StepChanges{}; }
  bool operator==(const StepChanges&) const = default;
};

/// Declares the options of the changes.
void add_step_changes(CLI::App& verb, StepChanges& changes);

inline constexpr double kLeastComputeScale = 0.001, kMostComputeScale = 1000;

/// Returns the step of a measured job with the changes applied. With other ranks or links, the
/// measured links replace those not given. invalid_argument names a tier without a link.
Result<StepDescription> change_measured_step(const Calibration& calibration,
                                             const StepChanges& changes);

/// Reads the description and applies the changes. Tells `err` where other ranks do not change the
/// cost of collectives.
Result<StepDescription> read_changed_step(const std::string& path, const StepChanges& changes,
                                          std::ostream& err);

/// Applies the changes; the result is valid. Returns invalid_argument also if ranks use a tier
/// without a link.
Result<void> change_step(StepDescription& step, const StepChanges& changes);

}  // namespace hocket
