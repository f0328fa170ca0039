#pragma once

// Names the work on a device for people: kernels as in the source, copies and waits in words. Pure.

#include <cstdint>
#include <string>
#include <string_view>

namespace hocket {

/// Returns a kernel's name as in the source; `symbol` itself if it cannot be demangled.
std::string kernel_name(const char* symbol);

/// The following take CUPTI's numbers.
std::string_view copy_name(std::uint32_t copy_kind);
std::string_view overhead_name(std::uint32_t overhead_kind);
std::string_view synchronization_name(std::uint32_t synchronization_type);

}  // namespace hocket
