#pragma once

// Formats a Pareto front as text. Thread-safe.

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/views/result_view.h"
#include "tuner/study/study.h"

namespace hocket {

/// Prints the default and the front, with a column for each objective and its change relative to
/// the default, and the call of `command` with a setting of the front. Requires a front.
void print_front(std::ostream& out, const StudyResult& result, const StudyView& view,
                 const std::vector<std::string>& command, const std::string& store_argument = {});

}  // namespace hocket
