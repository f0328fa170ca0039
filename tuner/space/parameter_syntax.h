#pragma once

// Parses the command-line form of parameters. Pure functions; thread-safe.

#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tuner/space/parameter.h"

namespace hocket {

/// Parses "NAME=int:LO..HI[:log]", "NAME=float:LO..HI[:log]", "NAME=levels:1,2,4",
/// "NAME=choice:A,B,C", "NAME=bool", which are the levels 0 and 1, or "NAME=A,B,C", which are
/// levels if all are numbers, otherwise choices. Integers take units of sizes
/// (tuner/space/size_text.h). Levels are integers if all of them are, otherwise reals. The default
/// is middle_value(domain).
Result<Parameter> parse_parameter(std::string_view text);

/// Parses "NAME=VALUE" and sets that default; NAME must be one of `parameters`.
Result<void> set_default(std::vector<Parameter>& parameters, std::string_view assignment);

}  // namespace hocket
