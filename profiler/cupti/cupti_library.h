#pragma once

// Finds and loads CUPTI's library at run time, so that a program starts without it. Once loaded it
// stays, since its threads do. Any thread may call load_cupti().
//
// Load it before the first CUDA call where possible: modules loaded onto the device before CUPTI is
// first enabled may not be recorded.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "profiler/cupti/cupti_api.h"

namespace hocket {

/// Returns the candidates for the library (core/cuda/libraries/library_search.h).
std::vector<std::string> default_cupti_libraries();

/// Loads the first of `candidates` (names or paths) that loads and has every function; returns
/// unavailable with the reason why the last one failed.
Result<std::shared_ptr<CuptiApi>> load_cupti(std::span<const std::string> candidates);

/// Connects NVTX to CUPTI. NVTX passes a job's ranges to the library that the environment variable
/// NVTX_INJECTION64_PATH names when the first range begins. Sets the variable to the first of
/// `candidates` that loads, unless it is set already, and returns its value; "" if none loads, in
/// which case no ranges are recorded. Changes the environment: call it at the start of main(),
/// before other threads exist.
std::string give_nvtx_to_cupti(std::span<const std::string> candidates);

}  // namespace hocket
