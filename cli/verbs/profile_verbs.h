#pragma once

// What `hocket profiles` is made of, and what the verbs on profiles share. One thread.

#include <memory>
#include <string>
#include <utility>

#include "cli/verbs/verb.h"
#include "core/base/result.h"
#include "store/store.h"

namespace hocket {

/// The store that has the profiles. One that is not there means that nothing was profiled yet.
Result<std::unique_ptr<Store>> open_profiles(const std::string& store_option, bool to_change);

/// A profile by name or number; the error for one that is not there says how to list them.
Result<ProfileRow> find_profile(Store& store, const std::string& name);

/// Those that read or write files: export, import, prune.
void add_profile_files(CLI::App& profiles, Action& action);

}  // namespace hocket
