#pragma once

// The file of this program, beside which an installation has its other parts. Thread-safe.

#include <filesystem>

#include "core/base/result.h"

namespace hocket {

/// Returns the path of the file; unavailable where the kernel does not say it.
Result<std::filesystem::path> own_program();

}  // namespace hocket
