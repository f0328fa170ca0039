#pragma once

// All files and folders that hocket writes on its own account (docs/FILES.md): where they are, what
// is wrong with them, and how to remove what is left over. Thread-safe.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/files/own_file.h"
#include "client/link/environment.h"
#include "core/base/result.h"

namespace hocket {

/// Paths of the store and of the folders with the other files. A folder is empty if no environment
/// variable says where it is.
struct OwnPlaces {
  std::string store;             ///< the store's file, or a URI
  bool is_store_shared = false;  ///< the store is outside the user's own folder
  std::string state_folder, cache_folder, temporary_folder;
};

/// Returns the places by the environment and the store's path or URI.
OwnPlaces own_places(const std::string& store, const Environment& environment);

/// The user to whom the files should belong, and the time by which their age counts.
struct FilesUser {
  uid_t user = 0;
  std::int64_t now_unix_ns = 0;
};

/// Returns what is at these places by kind and then by path; of a kind of which there is nothing,
/// where it would be. Changes nothing.
std::vector<OwnFile> find_own_files(const OwnPlaces& places, const FilesUser& files_user);

/// Removes a file that find_own_files() found left over. Returns false if it stays: it is in use
/// now, or there is something in it that hocket has not written. Returns unavailable if it cannot
/// be removed.
Result<bool> remove_left_over(const OwnFile& file, const OwnPlaces& places);

}  // namespace hocket
