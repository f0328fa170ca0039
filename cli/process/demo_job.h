#pragma once

// The job that `hocket demo` tunes: a GPT-2-style model (examples/gpt2), trained by two ranks.
// Thread-safe.

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Its workload, by which what was learned is fetched.
inline constexpr const char* kDemoWorkload = "gpt2-6x256-s64-b4";

/// The job's arguments in the demo: an emulated link, since one within a host needs no tuning, and
/// so few steps that a trial takes seconds.
inline constexpr std::array kDemoArguments = {"--link", "500mbit", "--steps", "14"};

/// Returns the words that start a rank, to which arguments may be added, for the program
/// PREFIX/bin/hocket, which may be that of a build folder. Returns not_found, with what to install,
/// where PREFIX has no job.
Result<std::vector<std::string>> demo_job(const std::filesystem::path& program);

}  // namespace hocket
