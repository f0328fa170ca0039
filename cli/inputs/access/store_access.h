#pragma once

// Access to the store for verbs. All ends within ten seconds where the store hangs. Thread-safe.

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "store/store.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hocket {

/// Declares --store, which store_path() reads.
CLI::Option* add_store_option(CLI::App& verb, std::string& store);

/// Returns `option` (of --store), or the default path if it is empty.
Result<std::string> store_path(const std::string& option);

/// Returns store_argument() (cli/inputs/access/shown_commands.h) for a shown command that would ask
/// a daemon: also where the option was not given and HOCKET_DAEMON names one.
std::string store_argument_for_start(const std::string& option);

/// Opens a store to look at it. Errors are those of open_store(); timed_out after kOpeningLimitNs,
/// also where the file system or the server hangs. After that a thread may still be reading.
inline constexpr std::int64_t kOpeningLimitNs = 9'000'000'000;
Result<std::unique_ptr<Store>> open_in_time(const std::string& path);

/// Opens a store for verbs that only read. The error for a missing store says that nothing was
/// tuned yet.
Result<std::unique_ptr<Store>> open_for_reading(const std::string& option);

/// Opens a store to change what is in it. Errors as of open_for_reading(), so that a missing store
/// is not created.
Result<std::unique_ptr<Store>> open_existing(const std::string& option);

/// Opens the store for `tune`.
Result<std::unique_ptr<Store>> open_for_writing(const std::string& option);

}  // namespace hocket
