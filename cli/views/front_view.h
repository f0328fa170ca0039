#pragma once

// A Pareto front as people read it. Thread-safe.

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/views/result_view.h"
#include "tuner/study/study.h"

namespace hocket {

/// The default and the front, a column an objective and how it compares with the default, and how
/// `command` is called with a setting of the front. Requires a front.
void print_front(std::ostream& out, const StudyResult& result, const StudyView& view,
                 const std::vector<std::string>& command);

}  // namespace hocket
