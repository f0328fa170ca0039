#pragma once

// Checks whether CUPTI can record on this machine now and explains why not: a missing or old
// driver, another tool that records, kinds of records that are refused. Messages end with the
// consequence for the caller, who then profiles on the host alone. One thread at a time may call
// these functions.

#include <string>

#include "core/base/result.h"
#include "profiler/cupti/cupti_api.h"
#include "profiler/cupti/level.h"

namespace hocket {

/// Ends every such message.
inline constexpr const char* kHostLevel = "profiling goes on at the host level";

/// Explains a status and what to do about it.
std::string describe_status(const CuptiApi& api, int status);

/// Checks that the driver and the version of the library are supported. Makes no call that needs a
/// device.
Result<void> check_versions(const CuptiApi& api);

/// Takes the subscription; returns unavailable with the name of the tool that holds it.
Result<void> subscribe_cupti(CuptiApi& api);

/// Enables the kinds of `level`. On failure disables what it enabled; the message names the kind.
Result<void> enable_kinds(CuptiApi& api, CuptiLevel level);
/// Disables all kinds of `level`, and continues if one fails.
void disable_kinds(CuptiApi& api, CuptiLevel level);

}  // namespace hocket
