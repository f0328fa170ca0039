#pragma once

// Tells `hocket doctor` that NCCL has opened the plugin, and that it asks it for collectives. The
// doctor names a file in HOCKET_DOCTOR_FILE; cli/checks/load_report.h says what a line of it is.
// Without the variable nothing is done. Any thread.

#include "plugins/nccl/abi/chain.h"

namespace hocket::nccl::abi {

/// A thing that NCCL has done with the plugin.
struct LoadEvent {
  const char* what = "";  ///< "tuner" or "profiler" was opened, "call": a collective was asked for
  int interface = 0;      ///< version; 0: as was reported before
  int rank = -1, ranks = 0;  ///< of the communicator; -1: not known
};

/// Says whether the environment names a file.
bool has_load_report(Environment environment);

/// Appends a line to the file, which must be there, be regular and the user's own. Whatever fails,
/// the job goes on; a process writes a bounded number of lines.
void report_load(Environment environment, const LoadEvent& event, Logger logger);

}  // namespace hocket::nccl::abi
