#pragma once

// The layout of a store's trace files: a folder for each profile, with "NAME/rank-R.sqlite". The
// folders are beside a store's file, in "STORE.profiles". Those of a store on a server are in
// $HOCKET_TRACES, which names a folder that all hosts see, otherwise in "profiles" in this user's
// state folder, where only this host finds them. Any thread.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

struct ProfileFolder {
  std::string name;  ///< the profile's name
  std::string path;  ///< absolute path
};

/// Returns the folder that has a folder for each profile, as an absolute path. Returns
/// invalid_argument if the store is on a server and no environment variable says where it is.
Result<std::string> profiles_folder(const std::string& store_path);

/// Creates the folder of a new profile and its name, derived from the workload's name: a name that
/// no profile of `store` has and no other caller gets. Returns unavailable if it cannot be created.
Result<ProfileFolder> create_profile_folder(Store& store, const std::string& store_path,
                                            std::string_view workload_name);

/// Creates the folder of a new profile that is called `name`, or NAME-2, NAME-3, … if that is
/// taken. What a name cannot have becomes "-". Returns invalid_argument if nothing is left of the
/// name, unavailable if the folder cannot be created.
Result<ProfileFolder> create_named_profile_folder(Store& store, const std::string& store_path,
                                                  std::string_view name);

/// Returns the folder of the traces that a daemon with this state folder serves
/// (daemon/traces/served_traces.h).
std::string served_traces_folder(const std::string& state_folder);

/// Returns the path of `rank`'s trace file in a profile's folder.
std::string trace_file_path(const std::string& folder, std::int64_t rank);

/// Returns whether `trace` is a trace file in the folder of the profile `name`, by the layout
/// above: of this store, or of one that was moved. A row may name any file.
bool is_own_trace(const std::string& store_path, const std::string& trace, std::string_view name);

/// Removes the trace files of a profile's folder, and the folder unless it has others. Follows no
/// link (core/files/folder_removal.h), and returns what that does.
Result<std::int64_t> remove_trace_files(const std::string& folder);

/// Does the same for the folder of the profile `name`. Returns invalid_argument if `name` is not a
/// profile name.
Result<std::int64_t> remove_profile_folder(const std::string& store_path, const std::string& name);

}  // namespace hocket
