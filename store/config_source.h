#pragma once

// Answers a starting job's request for a configuration (core/protocol/config_source.h) from a
// store. Thread-safe.

#include <memory>
#include <string>

#include "core/protocol/config_source.h"
#include "core/protocol/runnable_values.h"

namespace hocket {

/// Finds the newest released version with which a job that says `can_run` can start
/// (store/starting_version.h). Opens the store (open_store()) at each call, read-only. A missing
/// one counts as empty, not as an error. The call returns in time even if the file system hangs.
/// After timed_out a thread may still be reading, so a child forked then without exec must not use
/// SQLite.
std::unique_ptr<ConfigSource> open_config_source(std::string path, RunnableValues can_run = {});

}  // namespace hocket
