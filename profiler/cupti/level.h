#pragma once

// The level of detail that CUPTI records. Each level includes the one below and costs more. Plain
// values.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "profiler/cupti/cupti_api.h"

namespace hocket {

enum class CuptiLevel : std::uint8_t {
  l0,  ///< kernels, copies and fills of memory, overhead
  l1,  ///< also runtime and driver calls, which tie kernels to tasks, and NVTX ranges
  l2,  ///< also synchronisation and events
};

/// Returns "L0", …
std::string_view to_string(CuptiLevel level);
/// Parses to_string()'s output, in either case; returns invalid_argument otherwise.
Result<CuptiLevel> cupti_level(std::string_view text);

/// Returns the kinds of records, as CUpti_ActivityKind, in the order in which to enable them.
/// Kernels are recorded as concurrent ones: the other kind serialises them.
std::vector<std::uint32_t> activity_kinds(CuptiLevel level);

/// A runtime or driver call, identified by its CUpti_CallbackId.
struct CudaCall {
  ApiDomain domain;
  std::uint32_t id;
};

/// Returns the calls with which an executor polls a device, up to a million times a second: their
/// records would fill every buffer and cost more than all others.
std::span<const CudaCall> polling_calls();

/// Returns "concurrent kernels" and so on, for messages.
std::string_view activity_kind_name(std::uint32_t kind);

}  // namespace hocket
