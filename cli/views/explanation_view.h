#pragma once

// Formats an explanation of a search as JSON and as text. Thread-safe.

#include <iosfwd>
#include <nlohmann/json.hpp>

#include "cli/inputs/explanation_source.h"

namespace hocket {

/// Returns the document described in docs/formats/explanation.md.
nlohmann::json to_json(const Explained& explained);

void print_explanation(std::ostream& out, const Explained& explained);

}  // namespace hocket
