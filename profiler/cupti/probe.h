#pragma once

// The steps by which CUPTI comes to record on this machine, and the reasons why it cannot: a
// missing driver, one that is too old, another tool that records, kinds of records that are
// refused. Messages end with what that means for the caller, who then profiles on the host alone.
// Not thread-safe.

#include <string>

#include "core/base/result.h"
#include "profiler/cupti/cupti_api.h"
#include "profiler/cupti/level.h"

namespace hocket {

/// Ends every such message.
inline constexpr const char* kHostLevel = "profiling goes on at the host level";

/// Says what a status means and what to do about it.
std::string describe_status(const CuptiApi& api, int status);

/// Checks the versions of the driver and of the library. Calls nothing that needs a device.
Result<void> check_versions(const CuptiApi& api);

/// Takes the subscription; unavailable with the name of the tool that holds it.
Result<void> subscribe_cupti(CuptiApi& api);

/// Enables the kinds of `level`. What fails is undone; the message names the kind.
Result<void> enable_kinds(CuptiApi& api, CuptiLevel level);
/// Disables them all, and goes on where one fails.
void disable_kinds(CuptiApi& api, CuptiLevel level);

}  // namespace hocket
