#pragma once

// Why a file cannot be read, for libraries that do not say it. Thread-safe.

#include <string>

namespace hocket {

/// Returns "" if `path` can be read and is no folder, otherwise why not, such as "No such file or
/// directory". Does not wait for another program, also where the path is a pipe.
std::string file_problem(const std::string& path);

}  // namespace hocket
