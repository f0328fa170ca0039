#pragma once

// Environment variables by which programs find other programs, libraries and devices, or by which a
// launcher numbers its processes. A study that searches one, or a stored setting with one, may run
// other code than the user means. The one table of them. Pure functions; thread-safe.

#include <string_view>

namespace hocket {

/// Returns what programs take from the variable, as in "PATH says where programs are"; empty for
/// any other name.
std::string_view system_variable_use(std::string_view name);

}  // namespace hocket
