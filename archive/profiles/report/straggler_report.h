#pragma once

// Says of a stored profile which ranks the others wait for. Not thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "archive/profiles/load_profile.h"
#include "core/base/result.h"
#include "profiler/metrics/straggler_input.h"
#include "profiler/metrics/stragglers.h"

namespace hocket {

struct StragglerOptions {
  std::optional<std::int64_t> first_step = {}, last_step = {};  ///< both inclusive
};

struct StragglerReport {
  std::string profile;
  ArrivalClock clock = ArrivalClock::common;
  double residual_ns = 0;  ///< with ArrivalClock::common: bound on the clocks' error
  std::optional<std::int64_t> first_step = {}, last_step = {};  ///< range of the compared steps
  Stragglers found;
  std::vector<std::string> notes = {};
};

/// Compares the ranks of a profile: on one clock where the clocks are known to half of the least
/// lateness that matters, otherwise each on its own. Returns not_found, with the reason, if fewer
/// than two ranks have a trace, or none of the steps is in all traces.
Result<StragglerReport> find_stragglers(const LoadedProfile& profile,
                                        const StragglerOptions& options = {});

/// Returns to_json(Stragglers) with `"profile":…,"clock":"common"|"own","residual_ns":…,
/// "first_step":…,"last_step":…,"notes":[…]`.
nlohmann::json to_json(const StragglerReport& report);

}  // namespace hocket
