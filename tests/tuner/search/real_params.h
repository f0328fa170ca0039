#pragma once

// Settings of real parameters, as tests of searches read them. Pure.

#include <variant>

#include "tuner/space/params.h"

namespace hocket {

/// Returns the value of the real parameter `name`. Requires that `params` has it.
inline double number(const Params& params, const char* name) {
  return std::get<double>(params.at(name));
}

}  // namespace hocket
