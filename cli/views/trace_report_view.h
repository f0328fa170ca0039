#pragma once

// Prints what traces show, on one page. Thread-safe.

#include <iosfwd>

#include "archive/profiles/report/trace_report.h"

namespace hocket {

/// Prints a report without its notes.
void print_trace_report(std::ostream& out, const TraceReport& report);

}  // namespace hocket
