#pragma once

// Prints what traces show, on one page. Thread-safe.

#include <iosfwd>

#include "profiler/archive/report/trace_report.h"

namespace hocket {

/// Prints a report without its notes.
void print_trace_report(std::ostream& out, const TraceReport& report);

}  // namespace hocket
