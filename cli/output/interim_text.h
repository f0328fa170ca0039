#pragma once

// The setting that an unfinished study recommends, for people. Pure; thread-safe.

#include <string>

#include "archive/studies/interim_study.h"

namespace hocket {

/// Returns "recommended by study S so far, not confirmed: X=4 (100 ms ± 1 ms in 1 run, the default
/// X=8: 120 ms ± 2 ms); to confirm and promote it: hocket tune …", or that nothing better than the
/// default was measured and how to go on. `store_argument` is " --store STORE" or empty.
std::string interim_text(const InterimStudy& study, const std::string& store_argument);

}  // namespace hocket
