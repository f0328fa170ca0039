#pragma once

// Opens the store of profiles and finds the one that a command line names. One thread.

#include <memory>
#include <string>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// Opens the store of the profiles. The error for a missing store says that nothing was profiled
/// yet.
Result<std::unique_ptr<Store>> open_profiles(const std::string& store_option, bool to_change);

/// Returns a profile by name or number, or by a beginning that only its name has. The error for an
/// unknown one says how to list them and which name is the nearest.
Result<ProfileRow> find_profile(Store& store, const std::string& name);

/// As find_profile(), but only by a whole name or a number: for what cannot be undone.
Result<ProfileRow> find_named_profile(Store& store, const std::string& name);

}  // namespace hocket
