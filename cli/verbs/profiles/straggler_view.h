#pragma once

// Formats as text which ranks of a profile the others wait for. Thread-safe.

#include <cstddef>
#include <iosfwd>

#include "archive/profiles/report/straggler_report.h"

namespace hocket {

/// Prints a table of the ranks, a sentence on each rank that is to blame or on why none is, and at
/// most `most_collectives` collectives.
void print_stragglers(std::ostream& out, const StragglerReport& report,
                      std::size_t most_collectives);

}  // namespace hocket
