#pragma once

// What people call the work on a device: kernels as in the source, copies and waits in words. Pure.

#include <cstdint>
#include <string>
#include <string_view>

namespace hocket {

/// A kernel's name as it was written; `symbol` itself where that cannot be told.
std::string kernel_name(const char* symbol);

/// The following take CUPTI's numbers.
std::string_view copy_name(std::uint32_t copy_kind);
std::string_view overhead_name(std::uint32_t overhead_kind);
std::string_view synchronization_name(std::uint32_t synchronization_type);

}  // namespace hocket
