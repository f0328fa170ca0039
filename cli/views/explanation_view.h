#pragma once

// What a search knows, as JSON and as people read it. Thread-safe.

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

#include "cli/inputs/explanation_source.h"

namespace hocket {

/// docs/formats/explanation.md has its shape.
nlohmann::json to_json(const Explained& explained);

void print_explanation(std::ostream& out, const Explained& explained);

}  // namespace hocket
