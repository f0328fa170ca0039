#pragma once

// Where the trace files of a store's profiles lie: beside the store, in a folder a profile,
// "STORE.profiles/NAME/rank-R.sqlite". Any thread.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

struct ProfileFolder {
  std::string name;  ///< the profile's
  std::string path;  ///< absolute
};

/// Makes the folder of a new profile, and the name that goes with it, from the workload's name: one
/// that no profile of `store` has and that nobody else gets. unavailable when it cannot be made.
Result<ProfileFolder> create_profile_folder(Store& store, const std::string& store_path,
                                            std::string_view workload_name);

/// The trace file of `rank` in a profile's folder.
std::string trace_file_path(const std::string& folder, std::int64_t rank);

/// Removes the trace files of the profile `name`, and its folder unless something else is in it.
/// Harmless when there is none. unavailable when a file cannot be removed, invalid_argument when
/// this is no profile's name.
Result<void> remove_profile_folder(const std::string& store_path, const std::string& name);

}  // namespace hocket
