#pragma once

// Whether CUPTI can record on this machine now, and if not, why: a missing driver, one that is too
// old, another tool that records, kinds of records that are refused. Messages end with what that
// means for the caller, who then profiles on the host alone.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "profiler/cupti/cupti_api.h"
#include "profiler/cupti/level.h"

namespace hocket {

/// Ends every such message.
inline constexpr const char* kHostLevel = "profiling goes on at the host level";

struct CuptiCapability {
  std::uint32_t version = 0;  ///< as CuptiApi's
  int driver_version = 0;     ///< as CuptiApi's
};

/// What a status means and what to do about it.
std::string describe_status(const CuptiApi& api, int status);

/// That the driver, and the version of the library, will do. Calls nothing that needs a device.
Result<CuptiCapability> check_versions(const CuptiApi& api);

/// Takes the subscription; unavailable with the name of the tool that holds it.
Result<void> subscribe_cupti(CuptiApi& api);

/// Enables the kinds of `level`. What fails is undone; the message names the kind.
Result<void> enable_kinds(CuptiApi& api, CuptiLevel level);
/// Disables them all, and goes on where one fails.
void disable_kinds(CuptiApi& api, CuptiLevel level);

/// All of the above, and leaves CUPTI as it was.
Result<CuptiCapability> probe_cupti(CuptiApi& api, CuptiLevel level);

}  // namespace hocket
