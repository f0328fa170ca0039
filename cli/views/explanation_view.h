#pragma once

// Prints an explanation of a search as text. Thread-safe.

#include <iosfwd>

#include "archive/studies/explanation/explained_study.h"

namespace hocket {

void print_explanation(std::ostream& out, const StudyExplanation& explained);

}  // namespace hocket
