#pragma once

// Loads the profile from which `hocket simulate --profile` predicts. One thread.

#include <string>

#include "archive/profiles/measured_job.h"
#include "core/base/result.h"

namespace hocket {

/// Loads the profile from the store of --store, and calibrates it.
Result<MeasuredJob> read_measured_job(const std::string& store_option, const std::string& profile);

/// Returns for example "profile gpt2-3: 25.3 ms predicted for what took 24.9 ms (1.6 % too long)".
std::string check_text(const MeasuredJob& job);

}  // namespace hocket
