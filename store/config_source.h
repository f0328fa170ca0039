#pragma once

// What a job asks when it starts (core/protocol/config_source.h), answered from a store's file.
// Thread-safe.

#include <memory>
#include <string>

#include "core/protocol/config_source.h"

namespace hocket {

/// Looks into the file `path` at each call, read-only. A file that does not exist holds nothing,
/// which is no error. The call returns in time even if the file system does not; after timed_out a
/// thread may still be reading, so a child that is forked then without exec must not use SQLite.
std::unique_ptr<ConfigSource> open_config_source(std::string path);

}  // namespace hocket
