#pragma once

// How much CUPTI records. Each level has the one below in it, and costs more. Plain values.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "profiler/cupti/cupti_api.h"

namespace hocket {

enum class CuptiLevel : std::uint8_t {
  l0,  ///< kernels, copies and fills of memory, overhead
  l1,  ///< and calls of runtime and driver, which tie kernels to tasks, and NVTX ranges
  l2,  ///< and synchronisation and events
};

/// "L0", …
std::string_view to_string(CuptiLevel level);
/// As to_string() writes it, in either case; invalid_argument otherwise.
Result<CuptiLevel> cupti_level(std::string_view text);

/// The kinds of records, as CUpti_ActivityKind, in the order in which to enable them. Kernels are
/// recorded as concurrent ones: the other kind makes them run one after the other.
std::vector<std::uint32_t> activity_kinds(CuptiLevel level);

/// A call of the runtime or the driver, as CUpti_CallbackId.
struct CudaCall {
  ApiDomain domain;
  std::uint32_t id;
};

/// The calls by which an executor asks a device whether it is done, up to a million times a second:
/// records of them would fill every buffer, and cost more than all others.
std::span<const CudaCall> polling_calls();

/// "concurrent kernels" and so on, for messages.
std::string_view activity_kind_name(std::uint32_t kind);

}  // namespace hocket
