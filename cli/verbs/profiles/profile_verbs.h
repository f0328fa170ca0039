#pragma once

// Parts of `hocket profiles`. One thread.

#include "cli/verbs/verb.h"

namespace hocket {

/// Adds the verbs that read, write or remove files: export, import, rm, prune.
void add_profile_files(CLI::App& profiles, VerbAction& action);
void add_profile_import(CLI::App& profiles, VerbAction& action);

}  // namespace hocket
