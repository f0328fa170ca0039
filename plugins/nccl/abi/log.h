#pragma once

// Lines in NCCL's log, which NCCL_DEBUG switches on. Thread-safe as far as NCCL's logger is.

#include "plugins/nccl/interface/nccl_interface.h"

namespace hocket::nccl::abi {

/// Does nothing if NCCL has given no logger. The format is one of printf's.
template <class... Values>
void log_line(Logger logger, int level, const char* format, Values... values) {
  if (logger != nullptr) logger(level, kAllSubsystems, "hocket", 0, format, values...);
}

}  // namespace hocket::nccl::abi
