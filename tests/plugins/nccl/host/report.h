#pragma once

// The result of a run as one line of JSON. One thread.

#include <string>

#include "tests/plugins/nccl/host/options.h"
#include "tests/plugins/nccl/host/rank.h"
#include "tests/plugins/nccl/host/supervisor.h"

namespace hocket::nccl_host {

/// Exit statuses. Usage errors are 2.
enum Status { kFine = 0, kMismatch = 3, kRankDied = 4, kLimitExceeded = 5, kViolation = 6 };

int status_of(const SharedRun& shared, const Options& options, const RunEnd& end);

std::string describe(const SharedRun& shared, const Options& options, const RunEnd& end);

/// Prints mismatches and violations in words to stderr.
void print_findings(const SharedRun& shared, const Options& options);

}  // namespace hocket::nccl_host
