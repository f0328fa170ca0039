#pragma once

// CUPTI's library, found when the program runs: it need not be there for the program to start. Once
// loaded it stays, since its threads do.
//
// Load it before the first CUDA call where possible: what was loaded onto the device before CUPTI
// is first enabled may not be recorded.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "profiler/cupti/cupti_api.h"

namespace hocket {

/// By name, and where the toolkit was when hocket was built.
std::vector<std::string> default_cupti_libraries();

/// The first of `candidates` (names or paths) that loads and has every function; unavailable with
/// the reason why the last one did not.
Result<std::shared_ptr<CuptiApi>> load_cupti(std::span<const std::string> candidates);

/// NVTX hands a job's ranges to the library that the environment variable NVTX_INJECTION64_PATH
/// names when the first range begins. Sets it to the first of `candidates` that loads, unless it is
/// set already. Returns what it is then; "" when none loads, and no ranges are recorded. Changes
/// the environment: for the start of main(), before there are other threads.
std::string give_nvtx_to_cupti(std::span<const std::string> candidates);

}  // namespace hocket
